"""Sessions from their start to their end, each moment a process of its own, with a real store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.clients.moments.conftest import Shop


def test_the_first_session_is_a_start_and_no_error(shop: Shop) -> None:
    said = shop.start()
    assert (said.status, said.errors) == (0, "")
    assert said.out_of_date == []
    assert "4 statements are known here and not repeated" in said.text
    assert "Prices are made" not in said.text, "the client loads it itself"
    assert (shop.status["kind"], shop.status["withdrawn"]) == ("admitted", 0)
    assert shop.faults == ""


def test_a_new_session_is_told_which_lines_of_its_memory_do_not_hold(shop: Shop) -> None:
    git_mv(shop, "src/prices.py", "src/costs.py")
    [line] = shop.start().out_of_date
    assert "Prices are made in `src/prices.py`." in line
    assert "CLAUDE.md:3" in line
    assert "renamed to src/costs.py" in line


def test_a_resumed_session_is_told_what_fell_and_a_new_one_only_of_its_files(shop: Shop) -> None:
    shop.start()
    shop.end()
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    shop.edit("CLAUDE.md", "- Release with `make ship`.\n", "")
    out = shop.start("resume").out_of_date
    assert len(out) == 2
    assert any("We ship on Monday." in one and "instead: `We ship on Tuesday.`" in one for one in out)
    assert any("make ship" in one and "deleted" in one for one in out)
    assert shop.start(session="s2").out_of_date == [], "it never read the lines that were there before"


def git_mv(shop: Shop, old: str, new: str) -> None:
    shop.write(new, (shop.top / old).read_text())
    (shop.top / old).unlink()
    shop.commit()

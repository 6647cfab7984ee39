"""``readmit page`` writes one file."""

from __future__ import annotations

from pathlib import Path

from tests.cli.run import WHO, run, said


def test_the_newest_return_is_written(team: str) -> None:
    first = said("return", *WHO, "--db", team)["return"]
    second = said("return", *WHO, "--db", team)["return"]
    assert said("page", "--to", "page.html", "--db", team) == {"return": second, "output": "page.html"}
    assert "Sunrise is booked" in Path("page.html").read_text(encoding="utf-8")
    assert said("page", first[:8], "--to", "page.html", "--db", team)["return"] == first


def test_a_slot_is_written(team: str) -> None:
    assert said("page", "--slot", "hotel", "--to", "slot.html", "--db", team) == {
        "slot": "hotel",
        "output": "slot.html",
    }
    assert "Stands now" in Path("slot.html").read_text(encoding="utf-8")


def test_an_item_is_written(team: str) -> None:
    assert said("page", "--item", "h0", "--to", "item.html", "--db", team) == {"item": "h0", "output": "item.html"}
    page = Path("item.html").read_text(encoding="utf-8")
    assert "stands now" in page
    assert "What rests on it" in page


def test_a_person_reads_where_it_is_and_for_whom(team: str) -> None:
    run("return", *WHO, "--db", team)
    printed = run("page", "--to", "page.html", "--db", team).stdout
    assert printed == "Written to page.html. For the people who run the workspace: it shows what was left out.\n"


def test_what_makes_no_sense_together_is_refused(team: str) -> None:
    assert (
        "give one of RETURN, --item, --slot and --project"
        in run("page", "r", "--slot", "x", "--to", "p", "--db", team, status=2).stderr
    )
    assert "--task has no use without --slot" in run("page", "--task", "t", "--to", "p", "--db", team, status=2).stderr
    assert not Path("p").exists()


def test_without_a_return_nothing_is_written(team: str) -> None:
    assert "has no return yet" in run("page", "--to", "page.html", "--db", team, status=1).stderr
    assert not Path("page.html").exists()

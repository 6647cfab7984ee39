"""``readmit subscribe``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.run import WHO, run, said

if TYPE_CHECKING:
    from pathlib import Path


def test_what_fell_is_printed_without_what_took_it_out(tmp_path: Path) -> None:
    here = ("--db", tmp_path / "team.db")
    run("init", *here)
    run("oblige", "Prepare the hotel", "--requires", "hotel", "--by", "A2", *here)
    source = ("--slot", "hotel", "--by", "A2", "--source")
    run("record", "Sunrise is booked", "--id", "h0", *source, "Sunrise confirms.", *here)
    run("depart", *WHO, *here)
    returned = said("return", *WHO, *here)
    run("expose", returned["return"], "--secret", returned["secret"], *WHO, *here)
    assert run("subscribe", *WHO, "--once", *here).output == ""
    run("record", "Riverside is booked", "--id", "hidden", *source, "Sunrise cancels.", *here)
    line = run("subscribe", *WHO, "--once", *here).output
    assert line == f"h0 is superseded (view {returned['return']})\n"
    found = said("subscribe", *WHO, "--once", *here)
    assert found == {"return_id": returned["return"], "item": "h0", "state": "superseded"}

"""``readmit backends adopt`` and ``mend``: what the operator of a memory store accepts and mends."""

from __future__ import annotations

import pytest

from readmit import Workspace
from readmit.memory import Memory
from tests.cli.run import run, said


@pytest.fixture(autouse=True)
def _on_team(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_DB", team)


def kept(*texts: str) -> list[str]:
    """Records of our own store, each bound to h0."""
    with Workspace.open("team.db") as team:
        memory = Memory.open(team, "scopedmem")
        return [memory.form(text, sources=["h0"], by="A2", verbatim=True)[0] for text in texts]


def test_adopt_lists_what_has_no_source_was_altered_or_is_gone() -> None:
    same, altered, gone = kept("It stays.", "It changes.", "It goes.")
    with Workspace.open("team.db") as team:
        memory = Memory.open(team, "scopedmem")
        memory.backend.update(altered, "It changed natively.")
        memory.backend.delete(gone)
    found = said("backends", "adopt", "scopedmem", "--by", "A2")
    assert (found["bound"], found["altered"], found["gone"], found["accepted"]) == ([], [altered], [gone], False)
    shown = run("backends", "adopt", "scopedmem", "--by", "A2", "--claim", f"{altered}=h0", "--gone").stdout
    assert "1 bound by these claims" in shown
    assert "1 gone, and forgotten" in shown
    again = said("backends", "adopt", "scopedmem", "--by", "A2")
    assert (again["altered"], again["gone"], again["unproven"]) == ([], [], [])
    assert same not in again["bound"]


@pytest.mark.parametrize("claim", ["h0", "=h0", "record="])
def test_a_claim_that_is_none_is_refused(claim: str) -> None:
    told = run("backends", "adopt", "scopedmem", "--by", "A2", "--claim", claim, status=2).stderr
    assert "is not RECORD=ITEM,ITEM" in told


def test_a_store_that_leaves_nothing_behind_has_nothing_to_mend() -> None:
    assert run("backends", "mend", "scopedmem").stdout == "Nothing to mend.\n"
    assert said("backends", "mend", "scopedmem") == {"mended": []}

"""A team's database, one return away from being asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.run import WHO, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test in its own folder, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("DB", "WORKSPACE", "PRINCIPAL", "ROLE", "TASK"):
        monkeypatch.delenv(f"READMIT_{name}", raising=False)


@pytest.fixture
def team() -> str:
    """A workspace with one obligation, the evidence for it, and A1 away."""
    run("init", "--db", "team.db")
    owed = ("oblige", "Write the plan", "--id", "o", "--requires", "d_h", "--critical", "d_h")
    run(*owed, "--source", "The family asks for a plan.", "--by", "A2", "--task", "trip", "--db", "team.db")
    known = ("record", "Sunrise is booked", "--id", "h0", "--supports", "d_h", "--slot", "hotel")
    run(*known, "--source", "Sunrise confirms.", "--by", "A2", "--task", "trip", "--db", "team.db")
    run("depart", *WHO, "--db", "team.db")
    return "team.db"

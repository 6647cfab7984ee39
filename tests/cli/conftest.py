"""A team's database, one return away from being asked."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import WHO, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test in its own folder, without settings from outside."""
    _settle(tmp_path, monkeypatch)


def _settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in ("DB", "WORKSPACE", "PRINCIPAL", "ROLE", "TASK"):
        monkeypatch.delenv(f"READMIT_{name}", raising=False)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one obligation, the evidence for it, and A1 away."""
    folder = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        _settle(folder, patch)
        _prepare()
    return folder


def _prepare() -> None:
    run("init", "--db", "team.db")
    owed = ("oblige", "Write the plan", "--id", "o", "--requires", "d_h", "--critical", "d_h")
    run(*owed, "--source", "The family asks for a plan.", "--by", "A2", "--task", "trip", "--db", "team.db")
    known = ("record", "Sunrise is booked", "--id", "h0", "--supports", "d_h", "--slot", "hotel")
    run(*known, "--source", "Sunrise confirms.", "--by", "A2", "--task", "trip", "--db", "team.db")
    run("depart", *WHO, "--db", "team.db")


@pytest.fixture
def team(prepared: Path, tmp_path: Path) -> str:
    """A copy of that workspace."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return "team.db"

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
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A workspace with one obligation, the evidence for it, and A1 away; and the folder with its keys."""
    folder, keys = tmp_path_factory.mktemp("prepared"), tmp_path_factory.mktemp("config")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(keys))
        _settle(folder, patch)
        _prepare()
    return folder, keys


def _prepare() -> None:
    run("init", "--db", "team.db")
    owed = ("oblige", "Write the plan", "--id", "o", "--requires", "d_h", "--critical", "d_h")
    run(*owed, "--source", "The family asks for a plan.", "--by", "A2", "--task", "trip", "--db", "team.db")
    known = ("record", "Sunrise is booked", "--id", "h0", "--supports", "d_h", "--slot", "hotel")
    run(*known, "--source", "Sunrise confirms.", "--by", "A2", "--task", "trip", "--db", "team.db")
    run("depart", *WHO, "--db", "team.db")


@pytest.fixture
def team(
    prepared: tuple[Path, Path],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A copy of that workspace, with keys of its own: a pin knows one copy of a store."""
    folder, keys = prepared
    own = tmp_path_factory.mktemp("config")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    shutil.copytree(keys, own, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own))
    return "team.db"

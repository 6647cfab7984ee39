"""Files that were written with a byte order mark are read as if they had none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from readmit.records.canonical import without_mark
from readmit.scenario import document
from tests.cli.run import run

if TYPE_CHECKING:
    from pathlib import Path

MARK = "\ufeff"
STEPS = [
    {"do": "observe", "id": "e", "text": "Sunrise confirms.", "by": "A2", "task": "t"},
    {"do": "record", "by": "A2", "id": "h0", "text": "Sunrise is booked", "sources": ["e"], "task": "t"},
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("READMIT_DB", "team.db")


def written(path: Path, value: object) -> str:
    path.write_text(MARK + (value if isinstance(value, str) else json.dumps(value)), encoding="utf-8")
    return str(path)


def test_a_policy_a_list_of_steps_and_a_text(tmp_path: Path) -> None:
    run("init", "--policy", written(tmp_path / "policy.json", {"evidence": {"overseers": ["boss"]}}))
    run("record", "--file", written(tmp_path / "steps.json", STEPS))
    run("observe", f"@{written(tmp_path / 'mail.txt', 'Riverside confirms.')}", "--by", "A2", "--id", "mail")
    shown = run("log", "--json").output
    assert "Riverside confirms." in shown
    assert "ufeff" not in shown
    assert MARK not in shown


def test_a_scenario(tmp_path: Path) -> None:
    scenario = {"readmit": 1, "name": "small", "workspace": "w", "steps": STEPS}
    assert document.read_scenario((tmp_path / written(tmp_path / "s.json", scenario)).read_bytes()).name == "small"


def test_keys_and_a_signed_view(tmp_path: Path) -> None:
    run("init")
    key = written(tmp_path / "team.pem", run("keys", "export").output)
    head = written(tmp_path / "kept.head", run("audit", "head").output)
    assert "intact" in run("audit", "verify", "--key", key, "--head", head).output


def test_only_the_mark_at_the_start_is_removed() -> None:
    assert without_mark(f"{MARK}a{MARK}b") == f"a{MARK}b".encode()
    assert without_mark(b"plain") == b"plain"

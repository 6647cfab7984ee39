"""``readmit audit verify``: its options, what it prints, and its exit status."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.cli.run import run, said

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def team(tmp_path: Path) -> str:
    file = tmp_path / "team.db"
    with Workspace.open(file) as workspace:
        workspace.record("Fact", id="h", slot="hotel", by="bob", task="trip")
    return str(file)


def test_it_says_what_it_did_not_look_at_again(team: str) -> None:
    assert "The log and its audit are intact." in run("audit", "verify", "--db", team).stdout
    again = run("audit", "verify", "--db", team).stdout
    assert "everything up to commit 2 was found intact before, and was not looked at again" in again
    assert said("audit", "verify", "--full", "--db", team)["since"] == 0


def test_keys_are_named_by_option_or_in_the_environment(
    team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (key,) = [one["verifier"] for one in said("keys", "list", "--db", team)["keys"]]
    (tmp_path / "trusted.txt").write_text(f"# the team's log\n{key}\n", encoding="utf-8")
    other = tmp_path / "other.db"
    with Workspace.open(other) as workspace:
        workspace.observe("Another team.", by="eve")
    for named in (key, str(tmp_path / "trusted.txt")):
        assert said("audit", "verify", "--db", team, "--key", named)["intact"]
        refused = said("audit", "verify", "--db", other, "--key", named, status=5)
        monkeypatch.setenv("READMIT_TRUST", named)
        assert said("audit", "verify", "--db", team)["intact"]
        assert said("audit", "verify", "--db", other, status=5)["problems"] == refused["problems"]
        monkeypatch.delenv("READMIT_TRUST")
        assert "is not signed by a key that is trusted here" in refused["problems"][0]
    wrong = run("audit", "verify", "--db", team, "--key", key.replace("default", "trip"), status=1)
    assert "is of another key or name" in wrong.stderr
    run("init", "--db", other, "--workspace", "trip")
    unrelated = run("audit", "verify", "--db", other, "--workspace", "trip", "--key", key, status=1)
    assert "--key: none of them is of the log 'readmit/" in unrelated.stderr


def test_a_kept_head_is_extended_or_the_check_fails(team: str, tmp_path: Path) -> None:
    head = tmp_path / "kept.head"
    run("audit", "head", "--db", team, "--output", head)
    run("revoke", "h", "--by", "bob", "--db", team)
    report = run("audit", "verify", "--db", team, "--head", head).stdout
    assert "The log extends the head that was kept, of 2 commits." in report
    head.write_bytes(head.read_bytes().replace(b"/default\n2\n", b"/default\n1\n"))
    broken = run("audit", "verify", "--db", team, "--head", head, status=5).stdout
    assert "broken: the head kept elsewhere does not verify" in broken


def test_what_is_broken_is_named_and_the_status_says_so(team: str) -> None:
    with closing(sqlite3.connect(team)) as sql:
        sql.execute("DELETE FROM slot_item")
        sql.commit()
    report = run("audit", "verify", "--db", team, status=5).stdout
    assert "broken: the index 'slot_item' lacks rows for 'trip', 'hotel'" in report

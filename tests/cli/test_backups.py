from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.run import WHO, run, said

if TYPE_CHECKING:
    import pytest


def test_a_backup_is_put_back_and_what_it_lacks_is_said(team: str) -> None:
    made = said("admin", "backup", "saved.db", "--db", team)
    run("observe", "Later news.", "--by", "A2", "--db", team)
    run("observe", "Even later news.", "--by", "A2", "--db", team)
    assert "--replace" in run("admin", "restore", "saved.db", "--db", team, status=1).stderr
    done = run("admin", "restore", "saved.db", "--db", team, "--replace").stdout
    assert f"default: the backup ends at epoch {made['epoch']}; at least 2 later events are missing." in done
    assert f"What was there is now {team}.replaced-1." in done
    assert said("status", "--db", team)["epoch"] == made["epoch"]


def test_a_backup_overwrites_nothing(team: str) -> None:
    run("admin", "backup", "saved.db", "--db", team)
    assert "saved.db exists already" in run("admin", "backup", "saved.db", "--db", team, status=1).stderr


def test_a_loss_of_what_was_handed_over_is_said_and_accepted_by_name(team: str) -> None:
    run("admin", "backup", "saved.db", "--db", team)
    issued = said("return", *WHO, "--db", team)
    run("expose", issued["return"], "--secret", issued["secret"], *WHO, "--db", team)
    told = run("admin", "restore", "saved.db", "--db", team, "--replace").stdout
    assert "so none is until the log is past it" in told
    assert "restore with --accept-loss" in told
    told = run("admin", "restore", "saved.db", "--db", team, "--replace", "--accept-loss").stdout
    assert "some may be handed over again" in told
    assert "none is" not in run("admin", "restore", "saved.db", "--db", team, "--replace").stdout


def test_a_restore_says_whether_the_keys_are_here(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("admin", "backup", "saved.db", "--db", team)
    assert said("admin", "restore", "saved.db", "--db", "moved.db")["keys"], "they are found by the id of the store"
    monkeypatch.setenv("READMIT_KEYS", "another machine")
    assert "Its keys are not in " in run("admin", "restore", "saved.db", "--db", "elsewhere.db").stdout
    found = said("admin", "restore", "saved.db", "--db", "third.db")
    assert (found["replaced"], found["keys"], found["workspaces"][0]["events"]) == (None, False, 0)
    assert Path("third.db").exists()

"""Limits on the command line: what waits, and how an overseer answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from readmit import Policy, Workspace
from tests.cli.run import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def db(tmp_path: Path) -> str:
    """A team whose writers may end nothing of others."""
    path = tmp_path / "team.db"
    with Workspace.open(path, policy=Policy(evidence={"overseers": ("boss",)}, limits={"invalidations": 0})) as team:
        source = team.observe("Sunrise confirms.", by="bob")
        team.record("Sunrise is booked", id="h0", slot="hotel", sources=[source], by="bob")
    return str(path)


def waiting(message: str) -> str:
    return message.partition("It waits as ")[2].partition(":")[0]


def test_a_command_beyond_the_limit_waits_and_is_approved(db: str) -> None:
    refused = run("revoke", "h0", "--by", "eve", "--db", db, status=1).stderr
    name = waiting(refused)
    shown = run("doctor", "--db", db, status=8).output
    assert f"readmit admin approve {name} --by boss" in shown
    assert "would end 1 thing" in run("log", "--db", db).output
    said = run("admin", "approve", name[:6], "--by", "boss", "--db", db).output
    assert said.startswith(f"Approved and appended what waited as {name} at epoch")
    assert json.loads(run("items", "--state", "revoked", "--json", "--db", db).output)


def test_an_item_waits_with_the_observation_that_it_rests_on(db: str) -> None:
    command = ("record", "Riverside is booked", "--source", "Riverside confirms.", "--slot", "hotel", "--by", "eve")
    refused = run(*command, "--id", "h1", "--db", db, status=1).stderr
    with Workspace.open(db) as team:
        assert [event.kind for event in team._desk.log.tail()][-1] == "wait"
    run("admin", "approve", waiting(refused), "--by", "boss", "--db", db)
    with Workspace.open(db) as team:
        assert [event.kind for event in team._desk.log.tail()][-3:] == ["approve", "observe", "record"]
        assert team._desk.log.item("h1").receipts


def test_a_file_of_steps_waits_as_a_whole(db: str, tmp_path: Path) -> None:
    steps = [
        {"do": "revoke", "target": "h0", "by": "eve"},
        {"do": "record", "text": "Riverside is booked", "id": "h1", "by": "eve"},
    ]
    file = tmp_path / "steps.json"
    file.write_text(json.dumps(steps))
    refused = run("record", "--file", str(file), "--db", db, status=1).stderr
    with Workspace.open(db) as team:
        before = team.epoch
    run("admin", "approve", waiting(refused), "--by", "boss", "--db", db)
    with Workspace.open(db) as team:
        assert [event.kind for event in team._desk.log.tail(since=before)] == ["approve", "revoke", "record"]


def test_what_is_declined_is_gone(db: str) -> None:
    name = waiting(run("revoke", "h0", "--by", "eve", "--db", db, status=1).stderr)
    run("admin", "decline", name, "--by", "boss", "--reason", "a mistake", "--db", db)
    assert "waits for an overseer" not in run("doctor", "--db", db, status=8).output


def test_steps_that_would_mean_something_else_later_do_not_wait(db: str, tmp_path: Path) -> None:
    left = {"do": "depart", "principal": "ann", "role": "planner", "task": "trip"}
    file = tmp_path / "steps.json"
    file.write_text(json.dumps([{"do": "revoke", "target": "h0", "by": "eve"}, left]))
    assert "It does not wait for that together" in run("record", "--file", str(file), "--db", db, status=1).stderr
    with Workspace.open(db) as team:
        assert team.admin.waiting() == ()

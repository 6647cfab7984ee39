"""``readmit present`` and ``readmit admin sweep``."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.cli.run import WHO, run, said

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def db(tmp_path: Path) -> str:
    db = str(tmp_path / "team.db")
    run("init", "--db", db)
    return db


def test_an_agent_that_is_not_renewed_is_departed_for(db: str) -> None:
    first = said("present", *WHO, "--lease", "1h", "--db", db)
    assert said("admin", "sweep", "--db", db) == {"departed": [], "unjudged": []}
    again = said("present", *WHO, "--lease", "1s", "--token", first["token"], "--db", db)
    assert again["token"] == first["token"]
    while not (swept := said("admin", "sweep", "--trust-clock", "--db", db)["departed"]):
        time.sleep(0.1)
    (departed,) = swept
    assert departed["reason"] == "lease_expired"
    assert run("admin", "sweep", "--db", db).output == "No lease ran out.\n"
    assert "come back" in run("observe", "too late", "--by", "A1", "--db", db, status=1).output
    assert "lease_expired" in run("log", "--db", db).output
    assert said("return", *WHO, "--db", db)["kind"] == "admitted"


def test_a_lease_that_cannot_be_judged_has_its_own_status(db: str) -> None:
    with Workspace.open(db) as team:
        behind = team._desk.writer.clock() - timedelta(days=1)
    with Workspace.open(db, name="past", clock=lambda: behind) as team:
        team.agent("A1", role="planner", task="trip").present(lease=60)
    here = ("--db", db, "--workspace", "past")
    assert "--trust-clock" in run("admin", "sweep", *here, status=8).output
    assert len(said("admin", "sweep", "--trust-clock", *here)["departed"]) == 1


def test_a_lease_is_a_duration(db: str) -> None:
    assert "--lease" in run("present", *WHO, "--lease", "soon", "--db", db, status=2).output

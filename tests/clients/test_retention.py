"""What sessions did is erased when its time is over, what rests on it keeps it, and every proof stands."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from readmit.clients.intake import retention
from readmit.clients.intake.retention import EVERY, LIFETIME, SPOOL_DAYS, retain
from readmit.clients.project import spool_folder
from readmit.errors import StoreError
from tests.clients.test_take_in import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOON = datetime.now(UTC) + timedelta(hours=1)
LATER = datetime.now(UTC) + LIFETIME + timedelta(hours=1)


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "shop")
    made.hook("prompt")
    made.shell("make ports", "the port is eighty-eighty")
    made.read("app.py")
    made.read("README.md")
    made.take()
    yield made
    made.workspace.close()


def test_what_is_over_goes_and_what_the_user_said_stays(desk: Desk) -> None:
    done = retain(desk.workspace, desk.project, now=LATER)
    assert done is not None
    assert (done.expired.observations, done.expired.kept, done.rewritten) == (3, 0, False)
    assert sorted(desk.texts()) == ["We moved the server to port 9000.", *["[forgotten]"] * 3]
    desk.verify()


def test_nothing_is_over_before_its_time(desk: Desk) -> None:
    done = retain(desk.workspace, desk.project, now=SOON)
    assert done is not None
    assert done.expired.observations == 0
    assert "[forgotten]" not in desk.texts()


def test_what_something_rests_on_stays(desk: Desk) -> None:
    desk.rest_on_the_file()
    done = retain(desk.workspace, desk.project, now=LATER)
    assert done is not None
    assert (done.expired.observations, done.expired.kept) == (2, 1)
    assert "PORT = 8080\n" in desk.texts()
    agent = desk.workspace.agent("codex:2", role="coding-agent", task=desk.project.task)
    agent.depart()
    assert "port" in agent.come_back().items
    desk.verify()


def test_it_looks_once_a_week(desk: Desk) -> None:
    assert retain(desk.workspace, desk.project, now=LATER) is not None
    epoch = desk.workspace.epoch
    assert retain(desk.workspace, desk.project, now=LATER + timedelta(days=1)) is None
    assert retain(desk.workspace, desk.project, now=LATER + EVERY) is not None
    assert desk.workspace.epoch == epoch, "nothing was over, so nothing is written"


@pytest.mark.parametrize("kept", ["", "{", '{"last": 1e300}', '{"last": "x"}', "[]"])
def test_a_malformed_file_of_its_own_does_not_end_it(kept: str, desk: Desk) -> None:
    (desk.project.folder / "retention.json").write_text(kept)
    assert retain(desk.workspace, desk.project, now=LATER) is not None


def test_the_file_is_rewritten_when_it_is_worth_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "WORTH_REWRITING", 10)
    done = retain(desk.workspace, desk.project, now=LATER)
    assert done is not None
    assert done.rewritten
    desk.workspace.close()
    files = [*desk.project.folder.glob("store.db*")]
    assert not any(b"eighty-eighty" in path.read_bytes() for path in files)


def test_a_file_that_is_read_again_after_its_time_is_a_source_again(desk: Desk) -> None:
    retain(desk.workspace, desk.project, now=LATER)
    desk.read("app.py")
    assert desk.take().files == 1
    assert "PORT = 8080\n" in desk.texts()


def test_only_the_spool_of_folders_that_nobody_came_back_to_is_deleted(desk: Desk, tmp_path: Path) -> None:
    desk.shell("make a", cwd=str(tmp_path), session_id="stranger")
    (old,) = spool_folder().glob("*.jsonl")
    before = time.time() - SPOOL_DAYS * 86_400 - 60
    os.utime(old, (before, before))
    desk.shell("make b", cwd=str(tmp_path), session_id="another")
    retain(desk.workspace, desk.project, now=datetime.now(UTC))
    assert [path.name for path in spool_folder().glob("*")] == ["claude-code-another.jsonl"]


def test_it_is_refused_within_a_batch(desk: Desk) -> None:
    with desk.workspace.batch(), pytest.raises(StoreError, match="batch"):
        retain(desk.workspace, desk.project, now=LATER)

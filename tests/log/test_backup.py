"""A right copy of a store in use, and the way back: nothing is overwritten silently, and what is missing is named."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit import AsyncWorkspace, Reason, Workspace
from readmit.diagnosis.verification.restore import restore
from readmit.errors import ExposureError, StoreError, TamperedError
from tests.crash.team import prepare, usable, verify
from tests.keys import id_of, keys_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "team.db"


def pinned_elsewhere(copy: Path) -> Path:
    """Keys of a copy that goes on by itself: with another pin."""
    folder = copy.with_suffix(".keys")
    shutil.copytree(keys_of(copy), keys_of(copy, folder), ignore=shutil.ignore_patterns("*.head"))
    return folder


def test_a_backup_holds_what_is_committed_while_others_write(file: Path, tmp_path: Path) -> None:
    prepare(file)
    done = threading.Event()

    def write() -> None:
        with Workspace.open(file) as other:
            number = 0
            while not done.is_set():
                other.record(f"text {number}", id=f"n{number}", by="bob")
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    with Workspace.open(file) as team:
        copies = []
        for number in range(5):
            before = team.epoch
            epoch = team.admin.backup(tmp_path / f"copy{number}.db")
            assert before <= epoch <= team.epoch
            copies.append((tmp_path / f"copy{number}.db", epoch))
        done.set()
        writer.join()
        for copy, epoch in copies:
            assert not Path(f"{copy}-wal").exists(), "complete in one file"
            with verify(copy, keys=pinned_elsewhere(copy)) as same:
                assert same.epoch == epoch
                assert list(same._desk.log.tail()) == list(team._desk.log.tail(until=epoch))
                usable(same, "copy")


def test_a_backup_is_for_its_owner_alone_whatever_the_umask(file: Path, tmp_path: Path) -> None:
    prepare(file)
    before = os.umask(0)
    try:
        with Workspace.open(file) as team:
            team.admin.backup(tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


def test_a_backup_overwrites_nothing(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with Workspace.open(file) as team:
        for target in (kept, tmp_path / "link", file):
            with pytest.raises(StoreError, match="exists already; name a new file"):
                team.admin.backup(target)
        with pytest.raises(StoreError, match="cannot write"):
            team.admin.backup(tmp_path / "nowhere" / "copy.db")
        with team.batch(), pytest.raises(StoreError, match="make it after the batch"):
            team.admin.backup(tmp_path / "copy.db")
    assert kept.read_text() == "mine"
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "copy.db").exists()


def test_a_lost_file_is_rescued_from_the_open_workspace(file: Path, tmp_path: Path) -> None:
    prepare(file)
    with Workspace.open(file) as team:
        team.record("before", by="bob", id="before")
        file.unlink()
        with pytest.raises(StoreError, match=r"workspace\.backup"):
            team.record("after", by="bob", id="after")
        team.admin.backup(tmp_path / "rescued.db")
    assert restore(tmp_path / "rescued.db", str(file)).lacking[0].events == 0
    with verify(file, ["item:before", "item:after"]) as team:
        usable(team, "rescued")


def test_a_backup_can_be_awaited(file: Path, tmp_path: Path) -> None:
    async def work() -> bool:
        async with await AsyncWorkspace.open(file) as team:
            await team.observe("text", by="bob")
            return await team.admin.backup(tmp_path / "copy.db") == await team.epoch()

    assert asyncio.run(work())


def test_a_server_is_backed_up_with_its_own_tools(fresh_url: Callable[[], str], tmp_path: Path) -> None:
    place = fresh_url()
    with Workspace.open(place) as team, pytest.raises(StoreError, match=r"pg_dump .*--schema=.*:\*\*\*@"):
        team.admin.backup(tmp_path / "copy.db")
    with pytest.raises(StoreError, match=r"pg_restore .*:\*\*\*@"):
        restore(tmp_path / "copy.db", place)


# The way back.


def backed_up(file: Path) -> Path:
    """A backup from before the last two events."""
    prepare(file)
    saved = file.with_name("saved.db")
    with Workspace.open(file) as team:
        team.admin.backup(saved)
        team.record("later", by="bob", id="later")
        team.record("later still", by="bob", id="still")
    return saved


def test_a_restore_replaces_nothing_without_consent_and_says_what_would_be_missing(file: Path) -> None:
    saved = backed_up(file)
    with pytest.raises(StoreError, match=r"exists.*lacks at least 2 events.*give --replace"):
        restore(saved, str(file))
    verify(file, ["item:still"]).close()


def test_a_restore_keeps_what_it_replaces_and_says_what_is_missing(file: Path) -> None:
    saved = backed_up(file)
    done = restore(saved, str(file), replace=True)
    (lacking,) = done.lacking
    assert (lacking.events, lacking.is_same_log, lacking.workspace) == (2, True, "default")
    assert done.aside == file.with_name("team.db.replaced-1")
    with verify(file) as team:
        assert team.epoch == lacking.epoch
        usable(team, "restored")
    verify(done.aside, ["item:later", "item:still"], keys=pinned_elsewhere(done.aside)).close()
    assert restore(saved, str(file), replace=True).aside == file.with_name("team.db.replaced-2")
    assert sorted(file.parent.glob(".*")) == [], "no half-made file is left"


def test_a_plain_copy_of_a_store_in_use_is_told_by_what_it_lacks(file: Path, tmp_path: Path) -> None:
    with Workspace.open(file) as team:
        team.observe("one", by="bob")
        with sqlite3.connect(file) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        other.close()
        team.observe_many([f"text {number}" for number in range(20)], by="bob")
        shutil.copy(file, tmp_path / "copy.db")
    with pytest.raises(StoreError, match="lacks at least 20 events"):
        restore(tmp_path / "copy.db", str(file))


def test_a_plain_copy_of_a_store_in_use_is_recognised_when_it_is_used(file: Path) -> None:
    copy = file.with_name("copy.db")
    with Workspace.open(file) as team:
        team.observe("one", by="bob")
        with closing(sqlite3.connect(file)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        team.observe_many([f"text {number}" for number in range(20)], by="bob")
        shutil.copy(file, copy)
    copy.rename(file)
    with Workspace.open(file) as team, pytest.raises(TamperedError, match=r"was rolled back: it has .* commits"):
        team.observe("two", by="bob")


def test_a_store_that_is_open_elsewhere_is_not_replaced(file: Path) -> None:
    saved = backed_up(file)
    with Workspace.open(file) as team:
        with pytest.raises(StoreError, match="is in use"):
            restore(saved, str(file), replace=True)
        team.record("goes on", by="bob", id="on")
    verify(file, ["item:still", "item:on"]).close()


def test_a_damaged_store_is_replaced_and_kept(file: Path) -> None:
    saved = backed_up(file)
    file.write_bytes(b"no database at all" * 1_000)
    done = restore(saved, str(file), replace=True)
    assert done.aside is not None
    assert done.aside.read_bytes().startswith(b"no database")
    verify(file).close()


def test_a_log_that_is_left_of_a_deleted_store_is_not_taken_for_that_of_the_restored_one(file: Path) -> None:
    saved = backed_up(file)
    with Workspace.open(file) as team:
        team.record("lost", by="bob", id="lost")
        shutil.copy(f"{file}-wal", f"{file}.kept")
    file.unlink()
    Path(f"{file}.kept").rename(f"{file}-wal")
    done = restore(saved, str(file), accept_loss=True)
    assert done.aside is not None
    assert Path(f"{done.aside}-wal").exists()
    verify(file).close()


def test_a_backup_that_lacks_what_was_seen_here_needs_consent_although_the_store_is_gone(file: Path) -> None:
    saved = backed_up(file)
    file.unlink()
    with pytest.raises(StoreError, match=r"not the newest state.*'default' lacks 2 commits.*--accept-loss"):
        restore(saved, str(file))
    assert not file.exists()
    (lacking,) = restore(saved, str(file), accept_loss=True).lacking
    assert lacking.commits == 2
    with verify(file) as team:
        usable(team, "restored")


def test_another_history_is_named(file: Path, tmp_path: Path) -> None:
    backed_up(file)
    other = tmp_path / "other.db"
    prepare(other)
    with Workspace.open(other) as team:
        team.admin.backup(tmp_path / "of-other.db")
    for replace in (False, True):
        with pytest.raises(StoreError, match=rf"backup of store {id_of(other)}, and {id_of(file)} was seen at"):
            restore(tmp_path / "of-other.db", str(file), replace=replace)
    with pytest.raises(StoreError, match="'default' has another history in the backup"):
        restore(tmp_path / "of-other.db", str(file), accept_loss=True)
    done = restore(tmp_path / "of-other.db", str(file), replace=True, accept_loss=True)
    assert (done.lacking[0].is_same_log, done.has_keys) == (False, True)
    verify(file).close()


@pytest.mark.parametrize("what", ["nothing", "a text", "a folder", "another program's", "cut", "the store itself"])
def test_what_is_no_backup_is_refused_and_the_store_stays(file: Path, what: str, tmp_path: Path) -> None:
    saved = backed_up(file)
    given = tmp_path / "given"
    if what == "a text":
        given.write_text("text" * 500)
    elif what == "a folder":
        given.mkdir()
    elif what == "another program's":
        with sqlite3.connect(given) as sql:
            sql.execute("CREATE TABLE t (x)")
        sql.close()
    elif what == "cut":
        given.write_bytes(saved.read_bytes()[: 4_096 * 5])
    elif what == "the store itself":
        given.symlink_to(file)
    with pytest.raises(StoreError):
        restore(given, str(file), replace=True)
    verify(file, ["item:still"]).close()
    assert not list(tmp_path.glob("*replaced*"))


def test_what_was_handed_over_after_the_backup_stays_refused_until_the_loss_is_accepted(file: Path) -> None:
    prepare(file)
    saved = file.with_name("saved.db")
    with Workspace.open(file) as team:
        ann = team.agent("ann", role="planner", task="trip")
        first = ann.come_back(checkpoint="left")
        team.admin.backup(saved)
        first.expose()
        first.acknowledge()
    done = restore(saved, str(file), replace=True)
    assert done.lacking[0].handed_over == done.lacking[0].epoch + 1
    with Workspace.open(file) as team:
        secret, identity = first.secret, first.request.identity
        with pytest.raises(ExposureError, match=r"an older copy was put back.*readmit admin restore") as refused:
            team._desk.expose(first.id, identity, secret)
        assert refused.value.reasons == (Reason.EPOCH_AHEAD,)
    restore(saved, str(file), replace=True, accept_loss=True)
    with Workspace.open(file) as team:
        assert team._desk.expose(first.id, identity, secret).items

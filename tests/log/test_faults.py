"""What goes wrong with the files of a store: every loss and every failing disk is an error that says what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import StoreError
from readmit.log.engines.sqlite_files import OpenFiles
from readmit.log.location import names
from tests.crash.team import prepare, verify

if TYPE_CHECKING:
    from collections.abc import Callable


def replace(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    file.with_name("copy").rename(file)


def rename_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


def replace_folder(file: Path) -> None:
    rename_folder(file)
    file.parent.mkdir()
    Workspace.open(file, keys=file.parent / "keys").close()


LOSSES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda file: file.unlink(),
    "moved": lambda file: file.rename(file.with_name("moved")),
    "replaced by its copy": replace,
    "its log deleted": lambda file: Path(f"{file}-wal").unlink(),
    "its log moved": lambda file: Path(f"{file}-wal").rename(file.with_name("moved")),
    "its log replaced": lambda file: replace(Path(f"{file}-wal")),
    "its log cut": lambda file: os.truncate(f"{file}-wal", 0),
    "its folder moved": rename_folder,
    "its folder replaced": replace_folder,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "team").mkdir()
    return tmp_path / "team" / "team.db"


@pytest.mark.parametrize("named", [True, False], ids=["with proc", "without proc"])
@pytest.mark.parametrize("settled", [True, False], ids=["settled", "at once"])
@pytest.mark.parametrize("case", LOSSES)
def test_a_write_to_a_lost_file_is_not_acknowledged(
    file: Path, case: str, monkeypatch: pytest.MonkeyPatch, *, settled: bool, named: bool
) -> None:
    if settled:  # then the check looks at the folder alone
        monkeypatch.setattr("readmit.log.engines.sqlite_files._COARSE_NS", -(10**12))
    if not named:
        monkeypatch.setattr("readmit.log.engines.sqlite_files._NAMES", "/nowhere")
    team = Workspace.open(file)
    # More than the folder's time can tell apart, and enough that the log holds pages that the file lacks.
    team.observe_many([f"text {number}" for number in range(300)], by="bob")
    team.observe("before", by="bob")
    LOSSES[case](file)
    for turn in range(2):
        with pytest.raises(StoreError, match=r"team\.db.* was .* while the store was open.*workspace\.backup"):
            team.observe(f"after {turn}", by="bob")
    team.close()


@pytest.mark.parametrize("settled", [True, False], ids=["settled", "at once"])
def test_other_changes_of_the_folder_are_none_of_the_store(
    file: Path, monkeypatch: pytest.MonkeyPatch, *, settled: bool
) -> None:
    if settled:
        monkeypatch.setattr("readmit.log.engines.sqlite_files._COARSE_NS", -(10**12))
    with Workspace.open(file) as team:
        for number in range(5):
            file.with_name(f"beside{number}").write_text("x")
            team.observe(f"text {number}", by="bob")
            with Workspace.open(file) as other:
                other.observe(f"by another {number}", by="bob")
    verify(file).close()


def test_a_link_that_points_elsewhere_is_a_lost_file(file: Path) -> None:
    link = file.with_name("link.db")
    link.symlink_to(file)
    with Workspace.open(link) as team:
        team.observe("one", by="bob")
        link.unlink()
        link.symlink_to(file.with_name("other.db"))
        with pytest.raises(StoreError, match=r"link\.db was deleted, moved or replaced"):
            team.observe("two", by="bob")


def test_a_folder_that_is_left_is_no_lost_file(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(file.parent)
    with Workspace.open(file.name) as team:
        monkeypatch.chdir(tmp_path)
        team.observe("one", by="bob")
    verify(file).close()


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_a_log_that_another_process_writes_back_is_not_lost(file: Path, mode: str) -> None:
    with Workspace.open(file) as team:
        for number in range(4):
            team.observe_many([f"text {number} {part}" for part in range(50)], by="bob")
            other = sqlite3.connect(file)
            other.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
            other.close()
            team.observe(f"text {number}", by="bob")
    assert verify(file).epoch == 1 + 4 * 51


def test_a_file_that_changes_while_it_is_opened_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace.open(file).close()
    opened = OpenFiles.__init__

    def too_late(self: OpenFiles, path: str) -> None:
        replace(file)
        opened(self, path)

    monkeypatch.setattr(OpenFiles, "__init__", too_late)
    with pytest.raises(StoreError, match="it was replaced while it was being opened; open it again"):
        Workspace.open(file)


def test_a_store_leaves_no_descriptor_behind(file: Path) -> None:
    Workspace.open(file).close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    Workspace.open(file).close()
    Workspace.open(file)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_process_that_closes_every_descriptor_is_told(file: Path) -> None:
    team = Workspace.open(file)
    log = next(one for one in Path("/proc/self/fd").iterdir() if str(one.readlink()) == f"{file}-wal")
    ours = [one for one in Path("/proc/self/fd").iterdir() if one.is_symlink() and one.readlink() == log.readlink()]
    os.close(max(int(one.name) for one in ours))
    with pytest.raises(StoreError, match="descriptors of this process were closed"):
        team.observe("one", by="bob")


# Reads outside a transaction.


def test_a_failing_read_is_reported_in_our_words(file: Path) -> None:
    with Workspace.open(file) as team:
        team.observe("one", by="bob")
        with sqlite3.connect(file) as other:
            other.execute("DROP TABLE milestone")
        other.close()
        with pytest.raises(StoreError, match="storage failed: no such table"):
            _ = team.admin.policy


def test_a_damaged_file_is_reported_in_our_words(file: Path) -> None:
    with Workspace.open(file) as team:
        team.observe_many([f"text {number}" for number in range(2_000)], by="bob")
    with file.open("r+b") as raw:
        raw.seek(8_192)
        raw.write(os.urandom(file.stat().st_size - 8_192))
    with pytest.raises(StoreError, match=r"is damaged .*readmit admin restore|malformed|not a database"):
        verify(file)


def test_a_closed_store_says_so_to_every_thread(file: Path) -> None:
    team = Workspace.open(file)
    began, closed = threading.Event(), threading.Event()

    def read() -> None:
        began.set()
        closed.wait(120)
        _ = team.epoch

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        began.wait(120)
        team.close()
        closed.set()
        with pytest.raises(StoreError, match="this store is closed; open it again"):
            reading.result(120)


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"it is a folder; name a file in it, for example .*team\.db"):
        Workspace.open(tmp_path)
    with pytest.raises(StoreError, match=r"it is a folder; name a file in it"):
        names(tmp_path)


def test_what_is_lost_is_still_in_the_open_workspace(file: Path) -> None:
    prepare(file)
    with Workspace.open(file) as team:
        team.observe("before", by="bob")
        file.unlink()
        with pytest.raises(StoreError, match=r"workspace\.backup"):
            team.observe("after", by="bob")
        assert [event.by for event in team._desk.log.tail()][-2:] == ["bob", "bob"]

"""Who may read a store's files: a new one is for its owner alone, an existing one keeps its mode."""

from __future__ import annotations

import multiprocessing
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import StoreError
from readmit.log.engines.sqlite import SqliteConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

UMASKS = {"none": 0o000, "usual": 0o022, "strict": 0o077, "without the owner's own": 0o277}


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("mask", UMASKS)
def test_a_new_store_is_for_its_owner_alone(tmp_path: Path, mask: str) -> None:
    with umask(UMASKS[mask]):
        connection = SqliteConnection(tmp_path / "team.db")
    assert modes(tmp_path) == {"team.db": 0o600, "team.db-wal": 0o600, "team.db-shm": 0o600}
    connection.close()


def test_what_a_dangling_link_names_is_created_for_its_owner_alone(tmp_path: Path) -> None:
    real = tmp_path / "disk"
    real.mkdir()
    (tmp_path / "team.db").symlink_to(real / "moved.db")
    with umask(0o000):
        connection = SqliteConnection(tmp_path / "team.db")
    assert set(modes(real).values()) == {0o600}
    connection.close()


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    SqliteConnection(file).close()
    file.chmod(0o660)
    connection = SqliteConnection(file)
    assert set(modes(tmp_path).values()) == {0o660}
    connection.close()


def test_a_store_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (":memory:", ""):
        SqliteConnection(place).close()
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_created_is_refused_by_name() -> None:
    # Not a read-only folder: root may write to those.
    with pytest.raises(StoreError, match=r"cannot open /proc/team\.db: "):
        SqliteConnection("/proc/team.db")


def _create(file: Path, ready: Barrier, name: str) -> None:
    os.umask(0o000)
    ready.wait()
    Workspace.open(file, name=name).close()


def test_processes_that_create_one_store_at_once_all_succeed(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(3)
    processes = [context.Process(target=_create, args=(file, ready, f"team{n}")) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=240)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert set(modes(tmp_path).values()) == {0o600}

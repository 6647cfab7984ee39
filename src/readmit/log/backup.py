"""Backups of a SQLite store: made while it is in use, checked, and put back without destroying the present one."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from readmit.log.engines.sql import MASK, SHIFT
from readmit.log.engines.sqlite_files import create_private
from readmit.log.engines.sqlite_schema import is_made, store_id
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BESIDE = ("-wal", "-shm")
_MAGIC = b"SQLite format 3\0"
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


class LogEnds(NamedTuple):
    """The ends of a workspace's log in a copy and in the store that the copy would replace."""

    workspace: str
    copied: int
    commits: int
    """How many commits the copy has."""
    present: int | None
    """None if there is no such store, or it cannot be read."""
    is_same_log: bool
    """Whether the shorter of the two is the beginning of the other."""


def copy(source: sqlite3.Connection, target: Path) -> dict[str, int]:
    """Copy a store that may be in use to a new file, for its owner alone, and check it.

    Returns where the log of each workspace ends in it.
    """
    try:
        create_private(target, new=True)
    except FileExistsError:
        raise StoreError(f"{target} exists already; name a new file") from None
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from error
    try:
        with closing(sqlite3.connect(target, isolation_level=None)) as made:
            source.backup(made)
            # One file that is complete without others beside it.
            made.execute("PRAGMA journal_mode = DELETE").fetchall()
            ends = _check(made, target)
        _flush(target)
        _flush(target.parent)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error | OSError):
            raise StoreError(f"cannot write {target}: {error}") from error
        raise
    return ends


def compare(backup: Path, place: Path) -> list[LogEnds]:
    """How far each workspace of a backup reaches, beside the store at the place it would go to."""
    with _reading(backup) as copied:
        ends = _check(copied, backup)
        try:
            with _reading(place) as present:
                there = dict(present.execute("SELECT name, head FROM workspace").fetchall())
                return [
                    LogEnds(
                        name,
                        ends.get(name, 0),
                        _commits(copied, name),
                        there.get(name),
                        _is_same_log(name, copied, present),
                    )
                    for name in {**ends, **there}
                ]
        except StoreError:
            return [LogEnds(name, head, _commits(copied, name), None, is_same_log=True) for name, head in ends.items()]


def copies_beside(place: Path, store: str) -> tuple[str, ...]:
    """The files in a store's folder that are copies of it."""
    found = []
    for file in sorted(place.absolute().parent.iterdir()):
        with suppress(StoreError, OSError):
            if file.is_file() and not file.samefile(place) and _is_database(file) and store_of(file) == store:
                found.append(str(file))
    return tuple(found)


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def store_of(backup: Path) -> str:
    """The id of the store that a backup is of."""
    with _reading(backup) as sql:
        return store_id(sql)


def put_back(backup: Path, place: Path) -> Path | None:
    """Put a copy of a backup in a store's place. The present store is renamed; returns its new name."""
    fresh = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    with _reading(backup) as source:
        copy(source, fresh)
    try:
        aside = _set_aside(place)
        # Unlike a renaming, this does not replace a store that another process makes right now.
        os.link(fresh, place)
        _flush(place.parent)
    except OSError as error:
        raise StoreError(f"cannot put {backup} in the place of {place}: {error.strerror}") from error
    finally:
        fresh.unlink(missing_ok=True)
    return aside


def _is_same_log(name: str, one: sqlite3.Connection, other: sqlite3.Connection) -> bool:
    found = []
    ends = [sql.execute("SELECT ws, head FROM workspace WHERE name = ?", (name,)).fetchone() for sql in (one, other)]
    if None in ends:
        return True
    last = min(head for _, head in ends)
    for sql, (ws, _) in zip((one, other), ends, strict=True):
        query = "SELECT id, by, learnt, digest FROM event WHERE pos = ?"
        found.append(sql.execute(query, ((ws << SHIFT) + last,)).fetchone())
    return bool(found[0] == found[1])


def _commits(sql: sqlite3.Connection, workspace: str) -> int:
    query = "SELECT max(pos) FROM commit_record JOIN workspace ON pos >= ws << ? AND pos < (ws + 1) << ? WHERE name = ?"
    return int(sql.execute(query, (SHIFT, SHIFT, workspace)).fetchone()[0] or 0) & MASK


def _set_aside(place: Path) -> Path | None:
    files = [place, *(place.with_name(place.name + suffix) for suffix in BESIDE)]
    if not any(file.exists() for file in files):
        return None
    number = 1
    while (aside := place.with_name(f"{place.name}.replaced-{number}")).exists():
        number += 1
    with _alone(place):
        for file, suffix in zip(files, ("", *BESIDE), strict=True):
            with suppress(FileNotFoundError):
                file.rename(aside.with_name(aside.name + suffix))
    return aside


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the store while no other process has it open. A damaged store cannot be locked."""
    if not place.exists():
        yield
        return
    with closing(sqlite3.connect(f"{place.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)) as sql:
        try:
            sql.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            sql.execute("BEGIN EXCLUSIVE")
            sql.execute("ROLLBACK")
            sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                raise StoreError(
                    f"{place} is in use or cannot be locked ({error}); end the programs that have it open, then restore"
                ) from error
        yield


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise StoreError(f"{path} is not a file; name a backup that `readmit admin backup` made")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)) as sql:
            is_made(sql)
            sql.execute("BEGIN")
            sql.execute("SELECT count(*) FROM workspace").fetchone()
            yield sql
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def _check(sql: sqlite3.Connection, path: Path) -> dict[str, int]:
    """A store's pages must fit together, and its logs be as long as they say. Returns where they end."""
    is_made(sql)
    (found,) = sql.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise StoreError(f"{path} is damaged: {found}")
    logs = sql.execute("SELECT ws, name, head FROM workspace ORDER BY ws").fetchall()
    for ws, name, head in logs:
        query = "SELECT count(*) FROM event WHERE pos > ? AND pos < ?"
        (events,) = sql.execute(query, (ws << SHIFT, (ws + 1) << SHIFT)).fetchone()
        if events != head:
            raise StoreError(f"{path} is damaged: workspace {name!r} has {events} events, but its log ends at {head}")
    return {name: head for _, name, head in logs}


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)

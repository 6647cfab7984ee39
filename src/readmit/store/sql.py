"""What the store needs of a database: statements, and transactions that nest.

``sqlite3.Connection`` runs statements as it is; PostgreSQL does behind ``readmit.store.postgres``. Statements are
constants with ``?`` for each value, in the SQL that both understand.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from readmit.store.gathered import Gathered

CHUNK = 500
"""How many values go into one ``IN``: old versions of SQLite allow 999 per statement."""
PAGE = 1_000
"""How many rows of a long read are fetched at a time."""


class Rows(Protocol):
    """What a statement found."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """The next row, or none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Sql(Protocol):
    """Runs statements."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row."""


class Statements(Sql, Protocol):
    """Runs statements of a database with transactions."""

    waiting: Gathered | None
    """Buffered observations, written before the next statement or when the level ends. A rollback drops them."""

    def ahead(self, query: str, values: Sequence[Any], /) -> Rows:
        """Run one read without writing the buffered observations first."""


def flush(sql: Statements) -> None:
    """Write the buffered observations. If that fails they stay buffered: nothing is committed without them."""
    work, sql.waiting = sql.waiting, None
    if work is not None:
        try:
            work.write()
        except BaseException:
            sql.waiting = work
            raise


class End(msgspec.Struct, frozen=True, gc=False):
    """Where a log ends: its epoch, its link, and the last moment that it has learnt."""

    epoch: int
    link: bytes
    learnt: str | None


class Level(NamedTuple):
    """A level of a transaction: its depth, and where the log ended before it."""

    depth: int
    end: End | None


class Connection(Protocol):
    """A database, seen by one workspace."""

    end_of_log: End | None
    """Where the log ends within the open transaction, if it moved. A rolled-back level moves it back.

    It is written once, when the outermost level commits: updating the row for each event would create as many row
    versions, and every later event of the transaction would scan them all.
    """

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held by the thread whose transaction is open."""

    @property
    def sql(self) -> Statements:
        """Where statements go."""

    @property
    def pending(self) -> bool:
        """Whether a transaction is open, with nothing durable yet."""

    def enroll(self, workspace: str) -> int:
        """The number of a workspace, assigned when it is first opened."""

    def atomic(self) -> AbstractContextManager[None]:
        """All or nothing. A nested call rolls back alone; nothing is durable before the outermost level commits."""

    def reading(self) -> AbstractContextManager[None]:
        """Several reads of one consistent state."""

    def backup(self, target: Path) -> Mapping[str, int]:
        """Copy what is committed to a new file. Returns where the log of each workspace ends in it."""

    def close(self) -> None:
        """Close the connection."""


MOVE = "UPDATE workspace SET head = ?, link = ?, learnt = ? WHERE ws = ?"
"""Takes the values of ``moves``."""
FIND = "SELECT ws FROM workspace WHERE name = ?"
ENROLL = "INSERT INTO workspace (name, link, audit_hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


def moves(end: End, ws: int | None) -> tuple[Any, ...]:
    """The values that move the end of a workspace's log."""
    return end.epoch, end.link, end.learnt, ws


def genesis(workspace: str) -> bytes:
    """The first link of both chains. It includes the name, so that no two workspaces share a chain."""
    return hashlib.sha256(workspace.encode()).digest()


def chunks(values: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Values in chunks, each with its placeholders for an ``IN``."""
    listed = list(values)
    for start in range(0, len(listed), CHUNK):
        part = listed[start : start + CHUNK]
        yield ", ".join("?" * len(part)), part

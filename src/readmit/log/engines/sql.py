"""The port of database engines: statements, and transactions that nest.

``sqlite3.Connection`` runs statements as it is; PostgreSQL does behind ``readmit.log.engines.postgres``. Statements are
constants with ``?`` for each value, in the SQL that both understand.

The changes of an open transaction to the log's tree, collected until it commits and undone with its levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from readmit.log.engines.listener import Bell
    from readmit.log.engines.locks import Locks
    from readmit.log.log_end import Gathered
    from readmit.records.acts.event import KeyChange


class Mark(NamedTuple):
    """How far a transaction had come."""

    values: int
    leaves: int
    rows: int
    keys: int


NOTHING = Mark(0, 0, 0, 0)
"""The mark at which a transaction begins."""


class Changes:
    """Leaves of new events and audit rows, new values of index keys, and changes of the signing keys."""

    __slots__ = ("_journal", "keys", "leaves", "rows", "values")

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.leaves: list[bytes] = []
        self.rows: list[bytes] = []
        self.keys: list[KeyChange] = []
        self._journal: list[tuple[str, bytes | None]] = []

    def __bool__(self) -> bool:
        return bool(self.values or self.leaves or self.rows)

    def set(self, key: str, value: bytes) -> None:
        """Give a key a new value."""
        self._journal.append((key, self.values.get(key)))
        self.values[key] = value

    def mark(self) -> Mark:
        """The mark at which a level of the transaction begins."""
        return Mark(len(self._journal), len(self.leaves), len(self.rows), len(self.keys))

    def undo(self, mark: Mark) -> None:
        """Drop the changes after a mark."""
        while len(self._journal) > mark.values:
            key, before = self._journal.pop()
            if before is None:
                del self.values[key]
            else:
                self.values[key] = before
        del self.leaves[mark.leaves :], self.rows[mark.rows :], self.keys[mark.keys :]


SHIFT = 40
"""Positions begin with the workspace's number, which is shifted by this many bits."""
MASK = (1 << SHIFT) - 1

CHUNK = 500
"""How many values go into one ``IN``: old versions of SQLite allow 999 per statement."""
PAGE = 1_000
"""How many rows of a long read are fetched at a time."""


class Rows(Protocol):
    """The rows of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """The next row, or none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class FoundRows(list[Any]):
    """Rows that were fetched already."""

    __slots__ = ()
    rowcount = -1

    def fetchone(self) -> Any:
        return self.pop(0) if self else None

    def fetchall(self) -> list[Any]:
        return self


class SqlSession(Protocol):
    """Runs statements."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row."""


class Statements(SqlSession, Protocol):
    """Runs statements of a database with transactions."""

    waiting: Gathered | None
    """Buffered observations, written before the next statement or when the level ends. A rollback drops them."""

    def ahead(self, query: str, values: Sequence[Any], /) -> Rows:
        """Run one read without writing the buffered observations first."""


def blob(value: object) -> bytes:
    """Bytes from a row. A SQLite column may hold a value of any type."""
    try:
        return bytes(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        raise TamperedError(f"a row holds {value!r} in place of bytes: it was altered") from None


def whole(value: object) -> int:
    """A number from a row, on the same grounds."""
    if not isinstance(value, int):
        raise TamperedError(f"a row holds {value!r} in place of a number: it was altered")
    return value


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
    """The end of a log: its epoch, and the last moment that it has learnt."""

    epoch: int
    learnt: str | None


class Level(NamedTuple):
    """A level of a transaction: its depth, where the log ended before it, and the leaves added to the tree."""

    depth: int
    end: End | None
    mark: Mark
    short: bool = False
    """Whether it may share a commit with other threads."""


class Watcher(Protocol):
    """Takes part in every transaction of a connection."""

    def opening(self) -> None:
        """A transaction is about to begin."""

    def seal(self) -> None:
        """The transaction is about to commit what it has changed."""

    def sealed(self) -> None:
        """The transaction is durable."""


class Connection(Protocol):
    """A database, seen by one workspace."""

    end_of_log: End | None
    """The end of the log within the open transaction, if it moved. A rolled-back level moves it back.

    It is written once, when the outermost level commits: updating the row for each event would create as many row
    versions, and every later event of the transaction would scan them all.
    """
    store_id: str
    """The random id of the database's store."""
    changes: Changes
    """Leaves and index changes of the open transaction."""
    locks: Locks
    """Named locks that other processes see too, held apart from transactions."""
    turn: int
    """The number of the open transaction, or of the last one: a new number means a new state of the database."""

    @property
    def places(self) -> tuple[str, ...]:
        """The addresses of the store on its servers, without user and password; none for a file."""

    def watch(self, watcher: Watcher) -> None:
        """Let something take part in every transaction."""

    @property
    def bell(self) -> Bell:
        """Rings with every commit."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held by the thread whose transaction is open."""

    @property
    def sql(self) -> Statements:
        """The session that statements go to."""

    @property
    def pending(self) -> bool:
        """Whether a transaction is open, with nothing durable yet."""

    @property
    def server_now(self) -> datetime | None:
        """The time of the server's clock in the open transaction; none for a file, and in simulated time."""

    def schema_flaws(self) -> list[str]:
        """Differences of the database from the schema that readmit made."""

    def enroll(self, workspace: str) -> int:
        """The number of a workspace, assigned when it is first opened."""

    def atomic(self, *, short: bool = False, ask: Question | None = None) -> AbstractContextManager[None]:
        """All or nothing. A nested call rolls back alone; nothing is durable before the outermost level commits.

        A ``short`` one runs no code of the caller, so other threads may wait for it to share its commit. ``ask`` is a
        read that it begins with: a server answers it together with its beginning.
        """

    def reading(self) -> AbstractContextManager[None]:
        """Several reads of one consistent state."""

    def rewriting(self, table: str) -> AbstractContextManager[None]:
        """Let the open transaction change rows of an append-only table. Afterwards it refuses changes again."""

    def compact(self) -> str:
        """Take erased content out of free pages too. Returns the obstacle in words; empty if there was none."""

    def copies(self) -> tuple[str, ...]:
        """Copies of the store that can be known from here."""

    def backup(self, target: Path) -> Mapping[str, int]:
        """Copy the committed state to a new file. Returns the end of each workspace's log in it."""

    def close(self) -> None:
        """Close the connection."""


Question: TypeAlias = "tuple[str, tuple[Any, ...]]"
"""A read, with its values."""
HEAD = "SELECT head, learnt, audit, size, edge, note FROM workspace WHERE ws = ?"
"""The end of a workspace's log: what every transaction reads first."""
FIND = "SELECT ws FROM workspace WHERE name = ?"
ENROLL = "INSERT INTO workspace (name) VALUES (?) ON CONFLICT DO NOTHING"


def chunks(values: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Values in chunks, each with its placeholders for an ``IN``."""
    listed = list(values)
    for start in range(0, len(listed), CHUNK):
        part = listed[start : start + CHUNK]
        yield ", ".join("?" * len(part)), part

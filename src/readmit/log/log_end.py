"""The end of a log while events are appended: whose clock moves it, and the rows it adds, written together."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from readmit.log.engines.sql import End, Rows, SqlSession
from readmit.records.acts.event import EventKind
from readmit.records.error_types import StoreError
from readmit.trust.commit_record import Bound, event_data
from readmit.trust.merkle import leaf_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.policy import Policy


class Timekeeper(Protocol):
    """Port: names the principals whose clocks may move a log's moment, and refuses an impossible clock."""

    def policy(self, log: Log) -> Policy:
        """The policy in force."""

    def moves(self, entry: Draft, policy: Policy) -> bool:
        """Whether the clock of an event's writer may move the log's moment."""

    def check(self, server: datetime, policy: Policy) -> None:
        """Raise if this host's clock differs from the server's by more than the policy allows."""


_GOVERNING = frozenset({EventKind.GOVERN, EventKind.WRITER})


class Timing:
    """A log's timekeeper, with the policy of the open transaction."""

    __slots__ = ("_keeper", "_known", "_turn", "_unsettled")

    def __init__(self, keeper: Timekeeper) -> None:
        self._keeper = keeper
        self._turn = self._unsettled = -1
        self._known: Policy | None = None

    def moves(self, entry: Draft, log: Log) -> bool:
        """Whether the writer's clock may move the log's moment."""
        turn = log.connection.turn
        if self._known is None or self._turn != turn:
            self._known, self._turn = self._keeper.policy(log), turn
            if (server := log.connection.server_now) is not None:
                self._keeper.check(server, self._known)
        moves = self._keeper.moves(entry, self._known)
        if entry.kind in _GOVERNING:
            # It may be rolled back alone, so it is read again for each event of this transaction.
            self._unsettled = turn
        if self._unsettled == turn:
            self._known = None
        return moves


# Ten columns, the widest table, times this many stays below the 999 values that every SQLite allows.
ROWS = 99


def insert(sql: SqlSession, table: str, rows: Sequence[tuple[Any, ...]]) -> list[Rows]:
    """Insert rows of a table, except those whose key is taken."""
    done = []
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        done.append(sql.execute(_query(table, len(part[0]), len(part)), tuple(chain.from_iterable(part))))
    return done


@lru_cache(100)
def _query(table: str, columns: int, rows: int) -> str:
    marks = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {table} VALUES {', '.join([marks] * rows)} ON CONFLICT DO NOTHING"


def inserted(done: Iterable[Rows]) -> int:
    """The number of inserted rows. Read after the last insert, so that a server needs one round trip."""
    return sum(one.rowcount for one in done)


# As in RFC 3339, within quotes and with a Z for UTC.
_encode = msgspec.json.Encoder().encode


class Appended(NamedTuple):
    """An event that is being appended: its row and its leaf."""

    row: tuple[Any, ...]
    leaf: bytes


def written(moment: datetime) -> str:
    """A moment in UTC as ``isoformat`` writes it, in a third of the time, which matters in a batch."""
    return f"{_encode(moment)[1:-2].decode()}+00:00"


class LogEnd:
    """The end of a log during an append: its epoch, and the last moment that it has learnt.

    That moment never decreases along the log, whatever a writer's clock says, so it orders events by position. Only a
    voided date sets it back.
    """

    __slots__ = ("_at", "_last", "_moment", "_now", "epoch")

    def __init__(self, before: End) -> None:
        self.epoch = before.epoch
        self._last = before.learnt
        self._now = ""
        self._moment: datetime | None = None
        self._at = ""

    def learn(self, now: datetime) -> None:
        """Set the clock at which the next events arrive."""
        self._now = self._at = written(now)
        self._moment = now

    def add(self, base: int, entry: Draft, bound: Sequence[Bound] = (), *, moves: bool) -> Appended:
        """Advance by one event. ``moves``: its writer's clock may move the log's moment."""
        # Most events are true from when they arrive, and formatting a moment costs as much as hashing the event.
        if entry.at is not self._moment:
            self._moment, self._at = entry.at, written(entry.at)
        # Moments are stored as UTC text, which sorts by time.
        if self._last is None or (moves and self._last < self._now) or entry.kind is EventKind.VOID:
            self._last = self._now
        self.epoch += 1
        at, given, learnt, kind = self._at, int(entry.given), self._last, str(entry.kind)
        leaf = leaf_hash(
            event_data(self.epoch, entry.id, kind, entry.by, at, given, learnt, entry.digest, entry.signature, bound)
        )
        # The sqlite3 module binds plain strings and byte arrays directly, and searches for an adapter for other types.
        row = (
            base + self.epoch, entry.id, kind, entry.by, at, learnt, bytearray(entry.salt + entry.body), entry.digest,
            bytearray(leaf), entry.signature, given,
        )  # fmt: skip
        return Appended(row, leaf)

    @property
    def last(self) -> str:
        """The last moment that the log has learnt."""
        return self._last or self._now

    def moved(self) -> End:
        """The present end of the log."""
        return End(self.epoch, self._last)


_MOST = 10_000


class Gathered:
    """Consecutive observations whose ids are new to the log."""

    __slots__ = ("_base", "_before", "_end", "_entries", "_rows", "_taken", "_write")

    def __init__(self, before: End, base: int, write: Callable[[Sequence[Draft], Sequence[Appended]], None]) -> None:
        self._before = before.epoch
        self._end = LogEnd(before)
        self._base = base
        self._write = write
        self._entries: list[Draft] = []
        self._rows: list[Appended] = []
        self._taken: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether to write them now: more would only use memory."""
        return len(self._rows) >= _MOST

    def has(self, entry: Draft) -> bool:
        """Whether an observation with this id is waiting."""
        return entry.id in self._taken

    def add(self, entry: Draft, now: datetime, *, moves: bool) -> End:
        """Add one and return where the log then ends."""
        self._end.learn(now)
        appended = self._end.add(self._base, entry, moves=moves)
        self._entries.append(entry)
        self._rows.append(appended)
        self._taken.add(entry.id)
        return self._end.moved()

    def write(self) -> None:
        """Write all of them."""
        if not len(self._rows) == len(self._entries) == self._end.epoch - self._before:
            raise StoreError("an observation of this batch was interrupted half-way: undo the batch and repeat it")
        if self._entries:
            self._write(self._entries, self._rows)

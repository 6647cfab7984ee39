"""Reads of a workspace's log.

The cost of a read follows its result: every query uses an index and never scans the workspace.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from readmit.records.base import utc
from readmit.records.canonical import digest_of
from readmit.records.decisions import Returned
from readmit.records.errors import StoreError, UnknownError
from readmit.records.events import Checkpoint, Event, EventKind
from readmit.records.items import Item, decode_item
from readmit.records.kinds import KINDS, kind_named
from readmit.records.snapshot import Sighting
from readmit.records.statements import kin_of
from readmit.store import overview
from readmit.store.audience import ANY, OBSERVATION, STATE, keys_of
from readmit.store.chain import link_of
from readmit.store.endings import ended
from readmit.store.indexes import DEPENDENCY, SLOT, stored_rows
from readmit.store.schema import MASK, SHIFT
from readmit.store.sql import PAGE, End, chunks, genesis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from readmit.records.identity import Identity
    from readmit.records.kinds import DeclaredKind
    from readmit.store.audience import Row
    from readmit.store.sql import Connection, Sql

EVIDENCE = "evidence"
_COLUMNS = "SELECT pos, id, kind, by, at, learnt, body, digest"
_EVENT = _COLUMNS + " FROM event "
_SIGHTING = "SELECT pos, by, at, learnt, body, digest FROM event "
_REACHED = """
    FROM audience
    WHERE ws = ? AND class = ? AND task IN (?, ?) AND principal IN (?, ?) AND role IN (?, ?)
      AND epoch > ? AND epoch <= ?
"""
_SEEN = _EVENT + "WHERE pos IN (SELECT ? + epoch" + _REACHED + ") ORDER BY pos"
_BEHIND = (
    _SIGHTING
    + "WHERE pos IN (SELECT ? + evidence FROM binding WHERE ws = ? AND item IN (SELECT epoch"
    + _REACHED
    + "))"
)
_TAIL = _COLUMNS + ", link FROM event WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"
_OF_TASK = " FROM slot_item WHERE ws = ? AND task = ? AND epoch <= ?"
_SLOT_ROWS = f"SELECT count(*) FROM (SELECT 1{_OF_TASK} LIMIT ?) AS few"
# An agent usually sees most of its task. Scanning this many rows costs as much as one index search.
_WALK = 3
_AT = _EVENT + "WHERE pos IN (SELECT ? + epoch FROM "
_WROTE = "SELECT 1 FROM event WHERE pos > ? AND pos <= ? AND by = ? AND kind NOT IN ({}) LIMIT 1"


class LogReads:
    """Reads of one workspace's log."""

    def __init__(self, connection: Connection, workspace: str) -> None:
        self.workspace = workspace
        self.connection = connection
        self._sql = connection.sql
        self._ws = connection.enroll(workspace)
        self._base = self._ws << SHIFT

    @property
    def head(self) -> int:
        """The current epoch."""
        return self._end().epoch

    @property
    def learnt(self) -> datetime | None:
        """The last moment that the log has learnt; none if it is empty."""
        learnt = self._end().learnt
        return None if learnt is None else datetime.fromisoformat(learnt)

    def _end(self) -> End:
        if self.connection.end_of_log is not None:
            return self.connection.end_of_log
        query = "SELECT head, link, learnt FROM workspace WHERE ws = ?"
        head, link, learnt = self._sql.execute(query, (self._ws,)).fetchone()
        return End(int(head), bytes(link), learnt)

    def seen(self, identity: Identity, *, since: int = 0, until: int) -> list[Event]:
        """Events on the state that an identity can see, in order."""
        return self._seen(identity, STATE, since, until)

    def observations(self, identity: Identity, *, since: int = 0, until: int) -> list[Event]:
        """Raw observations that an identity can see, in order."""
        return self._seen(identity, OBSERVATION, since, until)

    def _seen(self, identity: Identity, kind: str, since: int, until: int) -> list[Event]:
        return self._events(_SEEN, (self._base, self._ws, kind, *keys_of(identity), since, until))

    def evidence_behind(self, identity: Identity, *, since: int = 0, until: int) -> dict[str, Sighting]:
        """The evidence bound to items that an identity can see, rehashed."""
        values = (self._base, self._ws, self._ws, STATE, *keys_of(identity), since, until)
        return self._sightings(self._sql.execute(_BEHIND, values))

    def evidence_for(self, items: Iterable[int]) -> dict[str, Sighting]:
        """The evidence bound to items recorded at these epochs."""
        found: dict[str, Sighting] = {}
        for marks, part in chunks(items):
            query = _SIGHTING + f"WHERE pos IN (SELECT ? + evidence FROM binding WHERE ws = ? AND item IN ({marks}))"
            found |= self._sightings(self._sql.execute(query, (self._base, self._ws, *part)))
        return found

    def sighting(self, digest: str) -> dict[str, Sighting]:
        """One piece of evidence, rehashed; empty if none is filed under the digest."""
        query = _SIGHTING + "WHERE pos = ? + (SELECT epoch FROM filed WHERE ws = ? AND digest = ?)"
        return self._sightings(self._sql.execute(query, (self._base, self._ws, digest)))

    def _sightings(self, rows: Iterable[Any]) -> dict[str, Sighting]:
        base, sha = self._base, hashlib.sha256
        return {
            digest: Sighting(
                pos - base,
                by,
                sha(body).hexdigest() == digest,
                body,
                datetime.fromisoformat(min(at, learnt)),
            )
            for pos, by, at, learnt, body, digest in rows
        }

    def about(self, items: Iterable[str], *, until: int) -> list[Event]:
        """Everything that concerns these items, visible or not, in order."""
        found: dict[int, Event] = {}
        for marks, part in chunks(items):
            query = _AT + f"about WHERE ws = ? AND item IN ({marks}) AND epoch <= ?)"
            for event in self._events(query, (self._base, self._ws, *part, until)):
                found[event.epoch] = event
        return [found[epoch] for epoch in sorted(found)]

    def in_slot(self, task: str | None, slot: str, *, until: int) -> list[Event]:
        """Every item recorded about a slot, visible or not, in order."""
        query = _AT + "slot_item WHERE ws = ? AND task = ? AND slot = ? AND epoch <= ?) ORDER BY pos"
        return self._events(query, (self._base, self._ws, task or ANY, slot, until))

    def rivals(
        self, tasks: Iterable[str | None], slots: Iterable[str], *, until: int, known: AbstractSet[int]
    ) -> list[Event]:
        """Every item recorded about one of these slots under one of these tasks, except at the epochs that are known.

        A return already has nearly all of them, so only the rest are read, found through the index alone.
        """
        wanted, epochs = set(slots), set[int]()
        for task in {task or ANY for task in tasks}:
            epochs.update(self._in_slots(task, wanted, until, known))
        return self._at(epochs)

    def kin(self, items: Iterable[Item], *, until: int, known: AbstractSet[int]) -> list[Event]:
        """Repetitions of some items' statements, and other frontiers of the same obligations, as for ``rivals``."""
        keys = {key for item in items if (key := kin_of(item)) is not None}
        epochs: set[int] = set()
        for marks, part in chunks(keys):
            query = f"SELECT epoch FROM kin WHERE ws = ? AND key IN ({marks}) AND epoch <= ?"
            epochs.update(epoch for (epoch,) in self._sql.execute(query, (self._ws, *part, until)))
        return self._at(epochs - known)

    def _at(self, epochs: Iterable[int]) -> list[Event]:
        found: list[Event] = []
        for marks, part in chunks(self._base + epoch for epoch in sorted(epochs)):
            found += self._events(_EVENT + f"WHERE pos IN ({marks}) ORDER BY pos", tuple(part))
        return found

    def _in_slots(self, task: str, slots: AbstractSet[str], until: int, known: AbstractSet[int]) -> list[int]:
        """The epochs of a task's items about some slots, except those that are known."""
        here = (self._ws, task, until)
        (rows,) = self._sql.execute(_SLOT_ROWS, (*here, _WALK * len(slots) + 1)).fetchone()
        if rows <= _WALK * len(slots):
            walk = self._sql.execute("SELECT slot, epoch" + _OF_TASK, here)
            return [epoch for slot, epoch in walk if epoch not in known and slot in slots]
        epochs: list[int] = []
        for marks, part in chunks(slots):
            found = self._sql.execute(f"SELECT epoch{_OF_TASK} AND slot IN ({marks})", (*here, *part))
            epochs += [epoch for (epoch,) in found if epoch not in known]
        return epochs

    def item(self, item_id: str) -> Item:
        """An item by id."""
        return find_item(self._sql, self._ws, self.workspace, item_id)

    def has_evidence(self, digest: str) -> bool:
        """Whether an observation is filed under this digest."""
        query = "SELECT 1 FROM filed WHERE ws = ? AND digest = ?"
        return self._sql.execute(query, (self._ws, digest)).fetchone() is not None

    def evidence(self, digest: str) -> Event:
        """Stored evidence by digest."""
        row = self._sql.execute("SELECT epoch FROM filed WHERE ws = ? AND digest = ?", (self._ws, digest)).fetchone()
        if row is None:
            raise UnknownError(f"no evidence {digest!r} in workspace {self.workspace!r}; observe it first")
        return self.event(row[0])

    def event(self, epoch: int) -> Event:
        """The event at a position of the log."""
        found = self._events(_EVENT + "WHERE pos = ?", (self._base + epoch,))
        if not found:
            raise UnknownError(f"workspace {self.workspace!r} has no epoch {epoch}; its log ends at {self.head}")
        return found[0]

    def named(self, kind: DeclaredKind, name: str) -> Event | None:
        """The event of a kind with this id, if any. Items of all kinds share one name space."""
        query = "SELECT epoch FROM name WHERE ws = ? AND id = ?"
        row = self._sql.execute(query, (self._ws, kind.event_id(name))).fetchone()
        return None if row is None else self.event(row[0])

    def departure(self, name: str) -> Checkpoint:
        """A departure by id."""
        event = self.named(EventKind.DEPART, name)
        if event is None or not isinstance(event.payload, Checkpoint):
            raise UnknownError(f"no departure {name!r} in workspace {self.workspace!r}")
        return event.payload

    def returned(self, return_id: str) -> Returned:
        """A past return by id: its request and its outcome."""
        event = self.named(EventKind.RETURN, return_id)
        if event is None or not isinstance(event.payload, Returned):
            raise UnknownError(f"no return {return_id!r} in workspace {self.workspace!r}; see `readmit audit list`")
        return event.payload

    def beginning_with(self, space: str, beginning: str, *, limit: int) -> list[str]:
        """Ids in a name space, or digests of evidence, with this prefix, in order."""
        table, column, prefix = ("filed", "digest", "") if space == EVIDENCE else ("name", "id", f"{space}:")
        first = prefix + beginning
        # Ids are printable ASCII, so every id with this prefix sorts before the prefix followed by DEL.
        query = (
            f"SELECT {column} FROM {table} WHERE ws = ? AND {column} >= ? AND {column} < ? ORDER BY {column} LIMIT ?"
        )
        rows = self._sql.execute(query, (self._ws, first, f"{first}\x7f", limit))
        return [name.removeprefix(prefix) for (name,) in rows]

    def milestones(self, kind: DeclaredKind, key: str = ANY, *, until: int | None = None) -> list[Event]:
        """Events of a kind that belong to the workspace as a whole, a task or an agent, in order."""
        query = _AT + "milestone WHERE ws = ? AND kind = ? AND key = ? AND epoch <= ?) ORDER BY pos"
        return self._events(query, (self._base, self._ws, kind, key, MASK if until is None else until))

    def latest(self, kind: DeclaredKind, key: str = ANY, *, until: int | None = None) -> Event | None:
        """The last of ``milestones``."""
        (epoch,) = self._sql.execute(
            "SELECT max(epoch) FROM milestone WHERE ws = ? AND kind = ? AND key = ? AND epoch <= ?",
            (self._ws, kind, key, MASK if until is None else until),
        ).fetchone()
        return None if epoch is None else self.event(epoch)

    def ended(self, by: str, *, since: datetime) -> int:
        """How much the events of a principal ended since a moment."""
        return ended(self._sql, self._ws, by, utc(since).isoformat())

    def duties_opened(self, by: str, *, since: datetime) -> int:
        """How many obligations a principal opened since a moment that are not its own alone."""
        query = "SELECT count(*) FROM duty WHERE ws = ? AND by = ? AND learnt > ?"
        (count,) = self._sql.execute(query, (self._ws, by, utc(since).isoformat())).fetchone()
        return int(count)

    def wrote(self, by: str, *, since: int) -> bool:
        """Whether a principal wrote anything after an epoch, other than departures, returns and their events."""
        # Events that the cycle writes for an agent, its departures and its acknowledgements are not work of its own.
        idle = [str(kind) for kind in KINDS.values() if not kind.is_work]
        values = (self._base + since, self._base + MASK, by, *idle)
        return self._sql.execute(_WROTE.format(", ".join("?" * len(idle))), values).fetchone() is not None

    def audiences(self) -> Iterator[Row]:
        """Every distinct audience of a state event, as task, principal and role."""
        return overview.audiences(self._sql, self._ws)

    def newest_for(self, audience: Row, *, until: int, most: int) -> list[Event]:
        """The newest state events for exactly this audience, in order."""
        rows = self._sql.execute(overview.NEWEST, (self._ws, STATE, *audience, until, most))
        return self._at(epoch for (epoch,) in rows.fetchall())

    def agents(self) -> Iterator[Checkpoint]:
        """The last departure of every agent that ever departed."""
        for key in overview.departed(self._sql, self._ws):
            last = self.latest(EventKind.DEPART, key)
            if last is not None and isinstance(last.payload, Checkpoint) and last.payload.identity.agent == key:
                yield last.payload

    def is_slot(self, name: str) -> bool:
        """Whether some item that is not private is about this slot."""
        return self._is_term(name, SLOT)

    def is_dependency(self, name: str) -> bool:
        """Whether some item that is not private supports this dependency."""
        return self._is_term(name, DEPENDENCY)

    def _is_term(self, name: str, use: str) -> bool:
        query = "SELECT 1 FROM term WHERE ws = ? AND name = ? AND use = ?"
        return self._sql.execute(query, (self._ws, name, use)).fetchone() is not None

    def tail(self, *, since: int = 0, until: int | None = None) -> Iterable[Event]:
        """Every event in order, with the chain checked."""
        last = self.head if until is None else until
        link = self._link_at(since)
        expected = since
        while True:
            # Page by page: a long read keeps neither the whole log in memory nor an old snapshot of the database open.
            rows = self._sql.execute(_TAIL, (self._base + expected, self._base + last, PAGE)).fetchall()
            for *row, stored in rows:
                event = self._event(row)
                expected += 1
                link = link_of(link, expected, event, event.at.isoformat(), event.learnt.isoformat())
                if event.epoch != expected or link != stored:
                    raise StoreError(
                        f"the log is broken at epoch {expected}: an event was altered, removed or inserted"
                    )
                yield event
            if len(rows) < PAGE:
                break
        if expected != last:
            raise StoreError(f"the log ends at epoch {expected}, but its head is {last}: events were removed")

    def indexed(self, index: str) -> Iterator[tuple[Any, ...]]:
        """The stored rows of one index over the log, without the workspace's number."""
        return stored_rows(self._sql, self._ws, index)

    def _link_at(self, epoch: int) -> bytes:
        if epoch == 0:
            return genesis(self.workspace)
        row = self._sql.execute("SELECT link FROM event WHERE pos = ?", (self._base + epoch,)).fetchone()
        if row is None:
            raise UnknownError(f"workspace {self.workspace!r} has no epoch {epoch}")
        return bytes(row[0])

    def _events(self, query: str, values: tuple[Any, ...]) -> list[Event]:
        return [self._event(row) for row in self._sql.execute(query, values)]

    def _event(self, row: Sequence[Any]) -> Event:
        pos, name, kind, by, at, learnt, body, digest = row
        actual = digest_of(body)
        if actual != digest:
            raise StoreError(
                f"event {pos - self._base} of {self.workspace!r} does not match its digest: it was altered"
            )
        kind = KINDS.get(kind) or kind_named(kind)
        moment = datetime.fromisoformat(at)
        return Event(
            epoch=pos - self._base,
            id=name,
            kind=kind,
            by=by,
            at=moment,
            # Most events are learnt the moment they happen.
            learnt=moment if learnt == at else datetime.fromisoformat(learnt),
            payload=kind.read(body),
            digest=actual,
        )


def find_item(sql: Sql, ws: int, workspace: str, item_id: str) -> Item:
    """An item of one workspace by id."""
    row = sql.execute(
        "SELECT body FROM event WHERE pos = ? + (SELECT min(epoch) FROM about WHERE ws = ? AND item = ?)",
        (ws << SHIFT, ws, item_id),
    ).fetchone()
    if row is None:
        raise UnknownError(f"no item {item_id!r} in workspace {workspace!r}; record it first")
    found: Item = decode_item(row[0])
    return found

"""The workspace log: append, and read what an identity can see.

Reads cost what they return: every query starts at an index entry of the workspace and never scans it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from readmit.records.base import utc
from readmit.records.canonical import digest_of
from readmit.records.errors import ConflictError, StoreError, UnknownError
from readmit.records.events import DECODERS, Draft, Event, EventKind
from readmit.records.items import Item, decode_item
from readmit.records.snapshot import Sighting
from readmit.store.audit import AuditTrail
from readmit.store.bulk import insert
from readmit.store.chain import LogEnd, link_of
from readmit.store.derived import DerivedTexts
from readmit.store.indexes import Indexes, stored_rows
from readmit.store.ledger import Ledger
from readmit.store.memories import MemoryRecords
from readmit.store.reach import ANY, OBSERVATION, STATE, keys_of
from readmit.store.schema import SHIFT
from readmit.store.sql import PAGE, chunks, genesis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    from readmit.records.identity import Identity
    from readmit.store.sql import Connection, End

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
_NAME = "INSERT INTO name VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_FILE = "INSERT INTO filed VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_AT = _EVENT + "WHERE pos IN (SELECT ? + epoch FROM "
_MASK = (1 << SHIFT) - 1


class SqlLog:
    """One workspace in a database. The workspace's number is in every key."""

    def __init__(self, connection: Connection, workspace: str) -> None:
        self.workspace = workspace
        self.connection = connection
        self._sql = connection.sql
        self._ws = connection.enroll(workspace)
        self._base = self._ws << SHIFT
        self._indexes = Indexes(connection.sql, self._ws, self.item)
        self.audit = AuditTrail(connection, self._ws)
        self.derived = DerivedTexts(connection, self._ws)
        self.sources = Ledger(connection, self._ws)
        self.memories = MemoryRecords(connection, self._ws)

    def atomic(self) -> AbstractContextManager[None]:
        return self.connection.atomic()

    @property
    def pending(self) -> bool:
        return self.connection.pending

    def reading(self) -> AbstractContextManager[None]:
        return self.connection.reading()

    def close(self) -> None:
        self.connection.close()

    @property
    def head(self) -> int:
        """The current epoch."""
        return self._end()[0]

    def _end(self) -> End:
        if self.connection.end_of_log is not None:
            return self.connection.end_of_log
        head, link = self._sql.execute("SELECT head, link FROM workspace WHERE ws = ?", (self._ws,)).fetchone()
        return int(head), bytes(link)

    # Writing.

    def append(
        self, drafts: Sequence[Draft], *, now: datetime, check: Callable[[Draft], None] = lambda _: None
    ) -> list[int]:
        """Commit events in order and return their epochs. An id already used for the same content is a no-op.

        ``check`` sees each new event within the transaction and refuses it by raising. Observations that follow one
        another are all checked before the first of them can be read.
        """
        with self.atomic():
            head, link = self._end()
            end = LogEnd(head, link, utc(now))
            epochs: list[int] = []
            for observed, run in groupby(drafts, key=_is_observation) if len(drafts) > 1 else ((False, drafts),):
                entries = list(run)
                if observed and len(entries) > 1 and self._name_all(entries, end.epoch + 1):
                    epochs += self._add_all(entries, end, check)
                else:
                    epochs += [self._add(entry, end, check) for entry in entries]
            if end.epoch != head:
                self.connection.end_of_log = (end.epoch, end.link)
        return epochs

    def _add(self, entry: Draft, end: LogEnd, check: Callable[[Draft], None]) -> int:
        known = self._known(entry, end.epoch + 1)
        if known is not None:
            return known
        check(entry)
        self._sql.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", end.row(self._base, entry))
        self._indexes.add(end.epoch, entry, end.learnt)
        return end.epoch

    def _add_all(self, entries: Sequence[Draft], end: LogEnd, check: Callable[[Draft], None]) -> Iterable[int]:
        """Add observations that are all new: they rest on nothing, so that none has to be stored before the next."""
        first = end.epoch + 1
        for entry in entries:
            check(entry)
        rows = [end.row(self._base, entry) for entry in entries]
        if insert(self._sql, "event", rows) != len(rows):
            raise StoreError(f"the log has an event at epoch {first} or later, but ends before: it was tampered with")
        self._indexes.add_observations(first, entries)
        return range(first, end.epoch + 1)

    def _name_all(self, entries: Sequence[Draft], first: int) -> bool:
        """Take the names and digests of observations for epochs in a row, or none if one of them is taken."""
        ws, key = self._ws, itemgetter(1)
        # In the order of their indexes: a page is visited once, not once for each row that happens to belong to it.
        names = sorted([(ws, entry.id, epoch) for epoch, entry in enumerate(entries, first)], key=key)
        digests = sorted([(ws, entry.digest, epoch) for epoch, entry in enumerate(entries, first)], key=key)
        with suppress(_Taken), self.atomic():
            if insert(self._sql, "name", names) + insert(self._sql, "filed", digests) != 2 * len(entries):
                raise _Taken
            return True
        return False

    def _known(self, draft: Draft, epoch: int) -> int | None:
        """Take an event's name for an epoch, unless it, or the same observation under another, is already taken."""
        ws, sql = self._ws, self._sql
        if not sql.execute(_NAME, (ws, draft.id, epoch)).rowcount:
            query = "SELECT epoch FROM name WHERE ws = ? AND id = ?"
            (known,) = sql.execute(query, (ws, draft.id)).fetchone()
            query = "SELECT kind, digest, by FROM event WHERE pos = ?"
            stored = sql.execute(query, (self._base + known,)).fetchone()
            if stored != (draft.kind, draft.digest, draft.by):
                raise ConflictError(f"id {draft.id!r} is already used for a different {stored[0]}; choose another id")
            return int(known)
        if draft.kind is not EventKind.OBSERVE:
            return None
        if sql.execute(_FILE, (ws, draft.digest, epoch)).rowcount:
            return None
        sql.execute("DELETE FROM name WHERE ws = ? AND id = ?", (ws, draft.id))
        query = "SELECT epoch FROM filed WHERE ws = ? AND digest = ?"
        return int(sql.execute(query, (ws, draft.digest)).fetchone()[0])

    # Reading.

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
        """Items recorded in these slots under these tasks, visible or not, except those at known epochs."""
        wanted: list[int] = []
        for task in tasks:
            for marks, part in chunks(slots):
                query = f"SELECT epoch FROM slot_item WHERE ws = ? AND task = ? AND slot IN ({marks}) AND epoch <= ?"
                rows = self._sql.execute(query, (self._ws, task or ANY, *part, until)).fetchall()
                wanted += [epoch for (epoch,) in rows if epoch not in known]
        return [self.event(epoch) for epoch in sorted(wanted)]

    def item(self, item_id: str) -> Item:
        """An item by id."""
        row = self._sql.execute(
            "SELECT body FROM event WHERE pos = ? + (SELECT min(epoch) FROM about WHERE ws = ? AND item = ?)",
            (self._base, self._ws, item_id),
        ).fetchone()
        if row is None:
            raise UnknownError(f"no item {item_id!r} in workspace {self.workspace!r}; record it first")
        found: Item = decode_item(row[0])
        return found

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

    def named(self, event_id: str) -> Event | None:
        """The event with a caller-given id, if any."""
        row = self._sql.execute("SELECT epoch FROM name WHERE ws = ? AND id = ?", (self._ws, event_id)).fetchone()
        return None if row is None else self.event(row[0])

    def milestones(self, kind: EventKind, key: str = ANY, *, until: int | None = None) -> list[Event]:
        """Events of a kind that belong to the workspace as a whole, a task or an agent, in order."""
        query = _AT + "milestone WHERE ws = ? AND kind = ? AND key = ? AND epoch <= ?) ORDER BY pos"
        return self._events(query, (self._base, self._ws, kind, key, _MASK if until is None else until))

    def latest(self, kind: EventKind, key: str = ANY, *, until: int | None = None) -> Event | None:
        """The last of ``milestones``."""
        (epoch,) = self._sql.execute(
            "SELECT max(epoch) FROM milestone WHERE ws = ? AND kind = ? AND key = ? AND epoch <= ?",
            (self._ws, kind, key, _MASK if until is None else until),
        ).fetchone()
        return None if epoch is None else self.event(epoch)

    def invalidations(self, by: str, *, since: datetime) -> int:
        """How many lifecycle events a principal wrote since a moment."""
        (count,) = self._sql.execute(
            "SELECT count(*) FROM invalidation WHERE ws = ? AND by = ? AND learnt > ?",
            (self._ws, by, utc(since).isoformat()),
        ).fetchone()
        return int(count)

    def tail(self, *, since: int = 0, until: int | None = None) -> Iterable[Event]:
        """The log itself, one event at a time, with its chain checked."""
        last = self.head if until is None else until
        link = self._link_at(since)
        expected = since
        while True:
            # Page by page: a long read holds neither the whole log in memory nor the database's old state open.
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
        kind = _KINDS[kind]
        return Event(
            epoch=pos - self._base,
            id=name,
            kind=kind,
            by=by,
            at=datetime.fromisoformat(at),
            learnt=datetime.fromisoformat(learnt),
            payload=DECODERS[kind](body),
            digest=actual,
        )


_KINDS = {kind.value: kind for kind in EventKind}


def _is_observation(entry: Draft) -> bool:
    return entry.kind is EventKind.OBSERVE


class _Taken(Exception):  # noqa: N818 - not an error: it undoes what was inserted beside a name that is taken
    pass

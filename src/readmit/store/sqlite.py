"""The workspace log in SQLite: append, and read what an identity can see.

Reads cost what they return: every query starts at an index entry of the workspace and never scans it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from readmit.records.base import utc
from readmit.records.canonical import digest_of
from readmit.records.errors import ConflictError, StoreError, UnknownError
from readmit.records.events import DECODERS, Draft, Event, EventKind
from readmit.records.items import Item, decode_item
from readmit.records.snapshot import Sighting
from readmit.store.audit import AuditTrail
from readmit.store.connection import Connection
from readmit.store.derived import DerivedTexts
from readmit.store.indexes import Indexes
from readmit.store.ledger import SqliteLedger
from readmit.store.memories import SqliteMemories
from readmit.store.reach import ANY, OBSERVATION, STATE, keys_of
from readmit.store.schema import SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from readmit.records.identity import Identity

_COLUMNS = "SELECT pos, id, kind, by, at, learnt, body, digest"
_EVENT = _COLUMNS + " FROM event "
_SIGHTING = "SELECT pos, by, body, digest FROM event "
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
_MASK = (1 << SHIFT) - 1


class SqliteLog:
    """One workspace in one SQLite file. The workspace's number is in every key."""

    def __init__(self, path: str | Path, workspace: str) -> None:
        self.workspace = workspace
        self.connection = Connection(path)
        self._sql = self.connection.sql
        self._ws = self._enroll(workspace)
        self._base = self._ws << SHIFT
        self._indexes = Indexes(self.connection.sql, self._ws, self.item)
        self.audit = AuditTrail(self.connection, self._ws)
        self.derived = DerivedTexts(self.connection, self._ws)
        self.sources = SqliteLedger(self.connection, self._ws)
        self.memories = SqliteMemories(self.connection, self._ws)

    def _enroll(self, workspace: str) -> int:
        query = "SELECT ws FROM workspace WHERE name = ?"
        row = self._sql.execute(query, (workspace,)).fetchone()
        if row is None:
            with self.connection.atomic():
                # The name is part of the first link, so no two workspaces have a common chain.
                genesis = hashlib.sha256(workspace.encode()).digest()
                self._sql.execute(
                    "INSERT INTO workspace (name, link, audit_hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (workspace, genesis, genesis),
                )
            row = self._sql.execute(query, (workspace,)).fetchone()
        return int(row[0])

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
        return int(self._sql.execute("SELECT head FROM workspace WHERE ws = ?", (self._ws,)).fetchone()[0])

    # Writing.

    def append(
        self, drafts: Sequence[Draft], *, now: datetime, check: Callable[[Draft], None] = lambda _: None
    ) -> list[int]:
        """Commit events in order and return their epochs. An id already used for the same content is a no-op.

        ``check`` sees each new event within the transaction and refuses it by raising.
        """
        with self.atomic():
            head, link = self._sql.execute("SELECT head, link FROM workspace WHERE ws = ?", (self._ws,)).fetchone()
            learnt = utc(now).isoformat()
            epochs = []
            start = head
            for draft in drafts:
                known = self._known(draft, head + 1)
                if known is None:
                    check(draft)
                    head += 1
                    at = draft.at.isoformat()
                    link = _link(link, head, draft, at, learnt)
                    row = (
                        self._base + head,
                        draft.id,
                        draft.kind,
                        draft.by,
                        at,
                        learnt,
                        draft.body,
                        draft.digest,
                        link,
                    )
                    self._sql.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                    self._indexes.add(head, draft, learnt)
                    known = head
                epochs.append(known)
            if head != start:
                self._sql.execute("UPDATE workspace SET head = ?, link = ? WHERE ws = ?", (head, link, self._ws))
        return epochs

    def _known(self, draft: Draft, epoch: int) -> int | None:
        """Take an event's name for an epoch, unless it, or the same observation under another, is already taken."""
        ws, sql = self._ws, self._sql
        if not sql.execute("INSERT OR IGNORE INTO name VALUES (?, ?, ?)", (ws, draft.id, epoch)).rowcount:
            query = "SELECT epoch FROM name WHERE ws = ? AND id = ?"
            (known,) = sql.execute(query, (ws, draft.id)).fetchone()
            query = "SELECT kind, digest, by FROM event WHERE pos = ?"
            stored = sql.execute(query, (self._base + known,)).fetchone()
            if stored != (draft.kind, draft.digest, draft.by):
                raise ConflictError(f"id {draft.id!r} is already used for a different {stored[0]}; choose another id")
            return int(known)
        if draft.kind is not EventKind.OBSERVE:
            return None
        if sql.execute("INSERT OR IGNORE INTO filed VALUES (?, ?, ?)", (ws, draft.digest, epoch)).rowcount:
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
        for epoch in items:
            query = _SIGHTING + "WHERE pos IN (SELECT ? + evidence FROM binding WHERE ws = ? AND item = ?)"
            found |= self._sightings(self._sql.execute(query, (self._base, self._ws, epoch)))
        return found

    def sighting(self, digest: str) -> dict[str, Sighting]:
        """One piece of evidence, rehashed; empty if none is filed under the digest."""
        query = _SIGHTING + "WHERE pos = ? + (SELECT epoch FROM filed WHERE ws = ? AND digest = ?)"
        return self._sightings(self._sql.execute(query, (self._base, self._ws, digest)))

    def _sightings(self, rows: Iterable[Any]) -> dict[str, Sighting]:
        base, sha = self._base, hashlib.sha256
        return {
            digest: Sighting(pos - base, by, sha(body).hexdigest() == digest, body) for pos, by, body, digest in rows
        }

    def about(self, items: Iterable[str], *, until: int) -> list[Event]:
        """Everything that concerns these items, visible or not, in order."""
        epochs: set[int] = set()
        for item in items:
            rows = self._sql.execute(
                "SELECT epoch FROM about WHERE ws = ? AND item = ? AND epoch <= ?", (self._ws, item, until)
            )
            epochs.update(epoch for (epoch,) in rows)
        return [self.event(epoch) for epoch in sorted(epochs)]

    def in_slot(self, task: str | None, slot: str, *, until: int) -> list[Event]:
        """Every item recorded about a slot, visible or not, in order."""
        rows = self._sql.execute(
            "SELECT epoch FROM slot_item WHERE ws = ? AND task = ? AND slot = ? AND epoch <= ? ORDER BY epoch",
            (self._ws, task or ANY, slot, until),
        ).fetchall()
        return [self.event(epoch) for (epoch,) in rows]

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
        rows = self._sql.execute(
            "SELECT epoch FROM milestone WHERE ws = ? AND kind = ? AND key = ? AND epoch <= ? ORDER BY epoch",
            (self._ws, kind, key, _MASK if until is None else until),
        ).fetchall()
        return [self.event(epoch) for (epoch,) in rows]

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
        cursor = self._sql.execute(
            _COLUMNS + ", link FROM event WHERE pos > ? AND pos <= ? ORDER BY pos",
            (self._base + since, self._base + last),
        )
        expected = since
        for *row, stored in cursor:
            event = self._event(row)
            expected += 1
            link = _link(link, expected, event, event.at.isoformat(), event.learnt.isoformat())
            if event.epoch != expected or link != stored:
                raise StoreError(f"the log is broken at epoch {expected}: an event was altered, removed or inserted")
            yield event
        if expected != last:
            raise StoreError(f"the log ends at epoch {expected}, but its head is {last}: events were removed")

    def _link_at(self, epoch: int) -> bytes:
        if epoch == 0:
            return hashlib.sha256(self.workspace.encode()).digest()
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


def _link(previous: bytes, epoch: int, entry: Draft | Event, at: str, learnt: str) -> bytes:
    """The hash chain of the log: each link covers the whole event and the link before it."""
    head = "\n".join((str(epoch), entry.id, entry.kind, entry.by, at, learnt, entry.digest))
    return hashlib.sha256(previous + head.encode()).digest()

"""Rows of the event table, and the proof that they are exactly the rows that the signed log holds for a key.

The parts of a proof of one event, read from the store and checked against the newest head.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.log.engines.sql import SHIFT, Connection, chunks
from readmit.log.tree.state_map import ZERO, check_digest, is_remnant, key_of
from readmit.records.acts.event import Event
from readmit.records.acts.kinds import KINDS, kind_named
from readmit.records.canonical import SALT_BYTES
from readmit.records.error_types import TamperedError, UnknownError
from readmit.records.items import Item
from readmit.records.snapshot import Sighting
from readmit.trust.commit_record import Bound, EventParts, event_data, said_at
from readmit.trust.merkle import leaf_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from readmit.log.tree.commits import Commits


COLUMNS = "SELECT pos, id, kind, by, at, learnt, body, digest, signature, given"
EVENT = COLUMNS + " FROM event "
# What an event is joined by is computed apart from the join: a server with row-level security looks a row up only by
# a plain value, and reads all events for the sum of a base and an epoch.
BOUND = """
    WITH bound AS MATERIALIZED (SELECT ? + evidence AS place FROM binding WHERE ws = ? AND item IN ({}))
    SELECT pos, by, at, learnt, given, body, digest FROM event WHERE pos IN (SELECT place FROM bound)
"""
"""The evidence that items are bound to, with the base, the workspace and the epochs of the items."""


class EventRows:
    """Reads events of one workspace and checks them against the newest commit."""

    def __init__(self, connection: Connection, ws: int, workspace: str, commits: Commits) -> None:
        self.connection = connection
        self.sql = connection.sql
        self.ws = ws
        self.base = ws << SHIFT
        self.workspace = workspace
        self.commits = commits
        self._turn = -1
        self._leaves: dict[int, bytes] = {}
        self._bound: dict[int, dict[str, Sighting]] = {}
        """The evidence with which these leaves were computed, if this reader loaded the items."""

    @property
    def known(self) -> dict[int, bytes]:
        """The leaves of events that were read in the open transaction."""
        if self._turn != self.connection.turn:
            self._turn, self._leaves, self._bound = self.connection.turn, {}, {}
        return self._leaves

    def event(self, row: Sequence[Any]) -> Event:
        """An event from its row. Its digest must match its bytes."""
        pos, name, kind, by, at, learnt, body, digest, signature, given = row
        try:
            if hashlib.sha256(body).hexdigest() != digest and not is_remnant(self.commits, pos - self.base, body):
                raise TamperedError(
                    f"event {pos - self.base} of {self.workspace!r} does not match its digest: it was altered"
                )
            kind = KINDS.get(kind) or kind_named(kind)
            moment = datetime.fromisoformat(at)
            return Event(
                epoch=pos - self.base,
                id=name,
                kind=kind,
                by=by,
                at=moment,
                # Most events are learnt the moment they happen.
                learnt=moment if learnt == at else datetime.fromisoformat(learnt),
                payload=kind.decode(body[SALT_BYTES:]),
                digest=digest,
                salt=bytes(body[:SALT_BYTES]),
                signature=signature,
                given=bool(given),
            )
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            # Whatever is written was checked first.
            raise TamperedError(
                f"event {pos - self.base} of {self.workspace!r} cannot be read: it was altered ({error})"
            ) from None

    def events(self, query: str, values: tuple[Any, ...]) -> list[Event]:
        """Events as they are stored."""
        return [self.event(row) for row in self.sql.execute(query, values)]

    def at(self, epochs: Iterable[int]) -> list[Sequence[Any]]:
        """The rows at some epochs, in order."""
        found: list[Sequence[Any]] = []
        try:
            places = [self.base + epoch for epoch in sorted(epochs)]
        except TypeError:
            raise TamperedError("an index leads to an epoch that is no number: a row was altered") from None
        for marks, part in chunks(places):
            found += self.sql.execute(EVENT + f"WHERE pos IN ({marks}) ORDER BY pos", tuple(part)).fetchall()
        return found

    def sightings(self, rows: Iterable[Any]) -> dict[str, Sighting]:
        """Evidence by digest, rehashed."""
        base, sha = self.base, hashlib.sha256
        try:
            return {
                digest: Sighting(
                    pos - base,
                    by,
                    sha(body).hexdigest() == digest or is_remnant(self.commits, pos - base, body),
                    body[SALT_BYTES:],
                    said_at(at, learnt, given),
                )
                for pos, by, at, learnt, given, body, digest in rows
            }
        except (ValueError, TypeError) as error:
            raise TamperedError(f"evidence of {self.workspace!r} cannot be read: it was altered ({error})") from None

    def behind(self, items: Iterable[int]) -> dict[str, Sighting]:
        """The evidence that an index binds to items recorded at these epochs. Only their leaves prove it."""
        found: dict[str, Sighting] = {}
        for marks, part in chunks(items):
            found |= self.sightings(self.sql.execute(BOUND.format(marks), (self.base, self.ws, *part)))
        return found

    def leaf(
        self,
        row: Sequence[Any],
        event: Event,
        evidence: Mapping[str, Sighting],
        covered: dict[str, Sighting] | None = None,
    ) -> bytes:
        """The leaf of an event. ``evidence`` is what its item may be bound to; ``covered`` gets what it is bound to."""
        return leaf_hash(self.data(row, event, evidence, covered))

    def data(
        self,
        row: Sequence[Any],
        event: Event,
        evidence: Mapping[str, Sighting],
        covered: dict[str, Sighting] | None = None,
    ) -> bytes:
        """Content of an event's leaf."""
        pos, name, kind, by, at, learnt, _, digest, signature, given = row
        bound: Sequence[Bound] = ()
        if isinstance(event.payload, Item) and (receipts := event.payload.receipts):
            bound = []
            for named in {one.evidence for one in receipts} if len(receipts) > 1 else (receipts[0].evidence,):
                one = evidence.get(named)
                if one is None:
                    continue
                if not one.intact:
                    # Left out as unproven, the item could no longer replace what it replaced.
                    raise TamperedError(f"the evidence of {name!r} does not match its digest: it was altered")
                # Evidence that was observed after the item was recorded is not bound to it.
                if one.epoch < event.epoch:
                    bound.append((one.epoch, one.by, one.moment))
                    if covered is not None:
                        covered[named] = one
            if len(bound) > 1:
                bound.sort()
        return event_data(pos - self.base, name, kind, by, at, given, learnt, digest, signature, bound)

    def load(self, epochs: Iterable[int]) -> list[Event]:
        """Events in order, with their leaves kept for the open transaction."""
        known, committed = self.known, self.commits.head().commit.epoch
        rows = self.at(epochs)
        events = [self.event(row) for row in rows]
        # A level of the transaction may have been undone, and its epochs taken by other events.
        new = {event.epoch for event in events if event.epoch > committed or event.epoch not in known}
        known |= self._leaves_of((row, event) for row, event in zip(rows, events, strict=True) if event.epoch in new)
        return events

    def _leaves_of(self, read: Iterable[tuple[Sequence[Any], Event]]) -> dict[int, bytes]:
        """The leaves of events that were read, whose evidence is read with them and kept."""
        pairs = list(read)
        items = [event.epoch for _, event in pairs if isinstance(event.payload, Item)]
        evidence = self.behind(items) if items else {}
        self._bound |= {epoch: {} for epoch in items}
        return {event.epoch: self.leaf(row, event, evidence, self._bound.get(event.epoch)) for row, event in pairs}

    def evidence_for(self, items: Iterable[int]) -> dict[str, Sighting]:
        """The evidence bound to items recorded at these epochs: what their proven leaves cover, and nothing else."""
        wanted, known, committed = set(items), self.known, self.commits.head().commit.epoch
        rows = self.at(epoch for epoch in wanted if epoch > committed or epoch not in self._bound)
        for epoch, leaf in self._leaves_of((row, self.event(row)) for row in rows).items():
            if epoch > committed or epoch not in known:
                self.commits.check_event(epoch, leaf)
            elif leaf != known[epoch]:
                raise TamperedError(f"the evidence of event {epoch} is not what it was bound to: it was altered")
        try:
            return {name: one for epoch in sorted(wanted) for name, one in self._bound[epoch].items()}
        except KeyError as missing:
            raise TamperedError(f"event {missing} is no item, or is not there: it was altered") from None

    def check(self, lists: Mapping[str, Sequence[int]], what: str) -> None:
        """Refuse lists of epochs that are not all and only what the signed log holds for their keys."""
        self.check_values(lists, self.commits.values(lists), what)

    def check_values(self, lists: Mapping[str, Sequence[int]], values: Mapping[str, bytes], what: str) -> None:
        """``check`` with digests that were read before."""
        known, sha = self.known, hashlib.sha256
        try:
            for key, epochs in lists.items():
                value = values.get(key, b"")
                if not epochs and not value:
                    continue
                # Most slots hold one item: its digest is the whole of the running one.
                if len(epochs) == 1 and value == ZERO + sha(ZERO + known[epochs[0]]).digest():
                    continue
                check_digest(value, [known[epoch] for epoch in epochs], what=what)
        except KeyError as missing:
            raise TamperedError(f"{what}: event {missing} is not there: it was removed") from None

    def checked(self, epoch: int) -> Event:
        """One event, checked to be in the tree."""
        return self.checked_row(epoch)[1]

    def checked_row(self, epoch: int) -> tuple[Sequence[Any], Event]:
        """One event, checked to be in the tree, with the row that it was read from."""
        rows = self.at((epoch,))
        if not rows:
            raise TamperedError(f"event {epoch} of {self.workspace!r} is not there: it was removed")
        event = self.event(rows[0])
        self.known.update(self._leaves_of([(rows[0], event)]))
        self.commits.check_event(epoch, self.known[epoch])
        return rows[0], event


def find_item(rows: EventRows, workspace: str, item_id: str) -> Item:
    """An item of one workspace by id."""
    query = "SELECT min(epoch) FROM about WHERE ws = ? AND item = ?"
    (epoch,) = rows.sql.execute(query, (rows.ws, item_id)).fetchone()
    if epoch is None:
        if rows.commits.value(key_of("about", item_id)):
            raise TamperedError(f"item {item_id!r} is in the log, but an index does not show it: a row was hidden")
        raise UnknownError(f"no item {item_id!r} in workspace {workspace!r}; record it first")
    found = rows.checked(epoch).payload
    if not isinstance(found, Item) or found.id != item_id:
        raise TamperedError(f"item {item_id!r} leads to another event: an index row was altered")
    return found


def parts_of(rows: EventRows, epoch: int, size: int) -> EventParts:
    """The parts for a head of ``size`` commits, which may be older than the newest one."""
    commits = rows.commits
    with rows.connection.reading():
        newest = commits.head()
        last = newest.commit.epoch
        if not 1 <= epoch <= last:
            raise UnknownError(f"workspace {rows.workspace!r} has no epoch {epoch}; its log ends at {last}")
        if size > newest.edge.size:
            raise UnknownError(
                f"the signed head covers {size} commits, and workspace {rows.workspace!r} has {newest.edge.size}; "
                "the head is of another log, or this one was rolled back"
            )
        row, event = rows.checked_row(epoch)
        commit, record = commits.containing(epoch)
        if commit.number > size:
            raise UnknownError(
                f"event {epoch} is in commit {commit.number}, and the signed head covers only {size}; use a newer head"
            )
        _, first, leaves = commits.leaves_of(epoch)
        evidence = rows.evidence_for((epoch,)) if isinstance(event.payload, Item) else {}
        return EventParts(
            number=commit.number,
            commit=record,
            commit_path=commits.inclusion(commit.number, size),
            event=rows.data(row, event, evidence),
            leaves=leaves,
            place=epoch - first,
            salt=event.salt,
            body=None if is_remnant(commits, epoch, row[6]) else bytes(row[6])[SALT_BYTES:],
        )

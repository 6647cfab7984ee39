"""Reads of a workspace's log.

The cost of a read follows its result: every query uses an index and never scans the workspace.
"""

from __future__ import annotations

from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.log import kept_events
from readmit.log.engines.sql import SHIFT, Connection, End, chunks, flush
from readmit.log.event_rows import EventRows, find_item
from readmit.log.indexes import proven_lists
from readmit.log.indexes import seen_observations as observed
from readmit.log.indexes.index_rows import worked_key
from readmit.log.indexes.proven_lists import KeptSlots, latest_of, newest_for
from readmit.log.indexes.seen_observations import EPOCH, is_of, sought
from readmit.log.indexes.stated import ANY, DEPENDENCY, ENDED, OPENED, SLOT, LastStatements, Row, WriterTotals, keys_of
from readmit.log.kept_events import KeptLists, bound_to, in_slots
from readmit.log.tree.commits import Commits
from readmit.log.tree.state_map import check_last, key_of
from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.voids import Voids
from readmit.records.base import utc
from readmit.records.decisions import Returned
from readmit.records.error_types import TamperedError, UnknownError
from readmit.records.same_statement import kin_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from readmit.records.acts.kinds import DeclaredKind
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.records.snapshot import SeenObservation, Sighting


class Visible(NamedTuple):
    """The visible part of the log for an identity: state events, and the evidence of its items by digest."""

    events: list[Event]
    evidence: dict[str, Sighting]


EVIDENCE = "evidence"
_VOIDS = key_of("milestone", str(EventKind.VOID), ANY)
# An item is found through what is about it, which begins with itself; an observation through its digest.
_FOUND_OTHERWISE = frozenset({EventKind.RECORD.prefix, EventKind.OBSERVE.prefix})
_FILED = f"SELECT {EPOCH}"


class LogReads:
    """Reads of one workspace's log."""

    def __init__(self, connection: Connection, workspace: str) -> None:
        self.workspace = workspace
        self.connection = connection
        self._sql = connection.sql
        self.ws = self._ws = connection.enroll(workspace)
        self._base = self._ws << SHIFT
        self.commits = Commits(connection, self._ws)
        self._rows = EventRows(connection, self._ws, workspace, self.commits)
        self._kept = KeptLists(self._rows)
        self._slots = KeptSlots(self._rows)

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
        with self.connection.reading():
            last = self.commits.head().commit
        return End(last.epoch, last.learnt)

    def sight(self, identity: Identity, *, until: int) -> Visible:
        """Events on the state that an identity can see, in order, and the evidence of its items, rehashed.

        They are proven to be all and only what the signed log holds for the identity. Its digests cover everything, so
        what came later is read too.
        """
        task, _, principal, _, role, _ = keys_of(identity)
        with self.connection.reading():
            audiences = dict.fromkeys(product((task, ANY), (principal, ANY), (role, ANY)))
            lists = self._kept.read(audiences, f"what {identity.principal!r} can see")
        by_epoch = {epoch: event for one in lists for epoch, event in one.events.items()}
        events = [by_epoch[epoch] for epoch in sorted(by_epoch)]
        evidence = {name: sighting for one in lists for name, sighting in one.evidence.items()}
        if not events or events[-1].epoch <= until:
            return Visible(events, evidence)
        then = [event for event in events if event.epoch <= until]
        return Visible(then, bound_to(then, evidence))

    def seen(self, identity: Identity, *, since: int = 0, until: int) -> list[Event]:
        """Events on the state that an identity can see, in order."""
        return [event for event in self.sight(identity, until=until).events if event.epoch > since]

    def observations(self, identity: Identity, *, since: int = 0, until: int) -> list[Event]:
        """Raw observations that an identity can see, in order."""
        return observed.events(self._rows, identity, since, until)

    def observed(self, identity: Identity, *, since: int, until: int) -> list[SeenObservation]:
        """Raw observations that an identity can see, without their texts."""
        return observed.named_observations(self._rows, identity, since, until)

    def evidence_for(self, items: Iterable[int]) -> dict[str, Sighting]:
        """The evidence bound to items recorded at these epochs, proven with them."""
        with self.connection.reading():
            return self._rows.evidence_for(items)

    def sighting(self, digest: str) -> dict[str, Sighting]:
        """One piece of evidence, rehashed; empty if none is filed under the digest."""
        with self.connection.reading():
            found = self._filed(digest)
            if found is None:
                return {}
            pos, _, _, by, at, learnt, body, stored, _, given = found[0]
            return self._rows.sightings([(pos, by, at, learnt, given, body, stored)])

    def about(self, items: Iterable[str], *, until: int) -> list[Event]:
        """All events that concern these items, visible or not, in order."""
        keys = {item: key_of("about", item) for item in items}
        query = "SELECT item, epoch FROM about WHERE ws = ? AND item IN ({}) ORDER BY item, epoch"
        return self._listed(keys, query, until, "what happened to an item")

    def in_slot(self, task: str | None, slot: str, *, until: int) -> list[Event]:
        """Every item recorded about a slot, visible or not, in order."""
        keys = {slot: key_of("slot", task or ANY, slot)}
        query = "SELECT slot, epoch FROM slot_item WHERE ws = ? AND task = ? AND slot IN ({}) ORDER BY slot, epoch"
        return self._listed(keys, query, until, "what is known of a slot", task or ANY)

    def _listed(self, keys: Mapping[str, str], query: str, until: int, what: str, *within: str) -> list[Event]:
        """The events that an index lists under some names, in order, proven to be all and only those."""
        with self.connection.reading():
            lists: dict[str, list[int]] = {key: [] for key in keys.values()}
            for marks, part in chunks(keys):
                for name, epoch in self._sql.execute(query.format(marks), (self._ws, *within, *part)).fetchall():
                    lists[keys[name]].append(epoch)
            events = self._rows.load({epoch for epochs in lists.values() for epoch in epochs})
            self._rows.check(lists, what)
        return [event for event in events if event.epoch <= until]

    def rivals(
        self, tasks: Iterable[str | None], slots: Iterable[str], *, until: int, known: AbstractSet[int]
    ) -> list[Event]:
        """Every item recorded about one of these slots under one of these tasks, except at the epochs that are known.

        A return already has nearly all of them, so only the rest are read, found through the index alone.
        """
        fresh: dict[int, Event] = {}
        wanted = set(slots)
        with self.connection.reading():
            for task in {task or ANY for task in tasks}:
                lists = self._kept.of_task(task)
                found = self._slots.read(task, wanted, known) if lists is None else in_slots(lists, wanted, known)
                fresh |= {event.epoch: event for event in found if event.epoch <= until}
        return [fresh[epoch] for epoch in sorted(fresh)]

    def kin(self, items: Iterable[Item], *, until: int, known: AbstractSet[int]) -> list[Event]:
        """Repetitions of some items' statements, and other frontiers of the same obligations, as for ``rivals``."""
        keys = {key: key_of("kin", key) for item in items if (key := kin_of(item)) is not None}
        query = "SELECT key, epoch FROM kin WHERE ws = ? AND key IN ({}) ORDER BY key, epoch"
        found = self._listed(keys, query, until, "repetitions of a statement")
        return [event for event in found if event.epoch not in known]

    def item(self, item_id: str) -> Item:
        """An item by id."""
        with self.connection.reading():
            return find_item(self._rows, self.workspace, item_id)

    def evidence_id(self, digest: str) -> str | None:
        """The id on the log of the observation that is filed under this digest, if any."""
        return observed.id_of(self._rows, digest)

    def _filed(self, digest: str) -> tuple[Sequence[Any], Event] | None:
        """The observation that is filed under a digest, proven to be on the log, with its row."""
        (epoch,) = self._sql.execute(_FILED, sought(self._ws, digest)).fetchone()
        if epoch is None:
            return None
        row, event = self._rows.checked_row(epoch)
        return (row, event) if is_of(digest, event.digest, event.id) else None

    def evidence(self, digest: str) -> Event:
        """Stored evidence by digest."""
        with self.connection.reading():
            if (found := self._filed(digest)) is None:
                raise UnknownError(f"no evidence {digest!r} in workspace {self.workspace!r}; observe it first")
            return found[1]

    def event(self, epoch: int) -> Event:
        """The event at a position of the log."""
        with self.connection.reading():
            if not 1 <= epoch <= self.head:
                raise UnknownError(f"workspace {self.workspace!r} has no epoch {epoch}; its log ends at {self.head}")
            return self._rows.checked(epoch)

    def named(self, kind: DeclaredKind, name: str) -> Event | None:
        """The event of a kind with this id, if any. Items of all kinds share one name space."""
        with self.connection.reading():
            id_ = kind.event_id(name)
            row = self._sql.execute("SELECT epoch FROM name WHERE ws = ? AND id = ?", (self._ws, id_)).fetchone()
            key = key_of("about", name) if kind.prefix == EventKind.RECORD.prefix else key_of("name", id_)
            if row is None:
                if self.commits.value(key):
                    raise TamperedError(f"{id_!r} is in the log, but its name is not: an index row was hidden")
                return None
            event: Event | None
            if kind.prefix in _FOUND_OTHERWISE:
                event = self._rows.checked(row[0])
            else:
                # The digest of a name covers one event.
                event = next(iter(self._rows.load(row)), None)
                self._rows.check({key: list(row)}, f"the event named {id_!r}")
            if event is None or event.id != id_:
                raise TamperedError(f"{id_!r} leads to another event: an index row was altered")
            return event

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
        """Ids in a name space, or digests of evidence, with this prefix, in order. Ids are proven if they are all."""
        with self.connection.reading():
            return proven_lists.beginning_with(self._rows, space, beginning, limit)

    def milestones(self, kind: DeclaredKind, key: str = ANY, *, until: int | None = None) -> list[Event]:
        """Events of a kind that belong to the workspace as a whole, a task or an agent, in order."""
        with self.connection.reading():
            query = "SELECT epoch FROM milestone WHERE ws = ? AND kind = ? AND key = ? ORDER BY epoch"
            epochs = [epoch for (epoch,) in self._sql.execute(query, (self._ws, str(kind), key))]
            events = self._rows.load(epochs)
            self._rows.check({key_of("milestone", str(kind), key): epochs}, f"{kind} events")
        return [event for event in events if until is None or event.epoch <= until]

    def latest(self, kind: DeclaredKind, key: str = ANY, *, until: int | None = None) -> Event | None:
        """The last of ``milestones``."""
        with self.connection.reading():
            query = "SELECT max(epoch) FROM milestone WHERE ws = ? AND kind = ? AND key = ?"
            (epoch,) = self._sql.execute(query, (self._ws, str(kind), key)).fetchone()
            if epoch is not None and until is not None and epoch > until:
                return next(reversed(self.milestones(kind, key, until=until)), None)
            event = None if epoch is None else next(iter(self._rows.load((epoch,))), None)
            leaf = None if event is None else self._rows.known[event.epoch]
            check_last(self.commits.value(key_of("milestone", str(kind), key)), leaf, what=f"{kind} events")
        return event

    def latest_of(self, kind: DeclaredKind, keys: Iterable[str], *, until: int | None = None) -> dict[str, Event]:
        """The last of ``milestones`` for each of many keys that have one."""
        with self.connection.reading():
            return latest_of(self._rows, kind, keys, self.head if until is None else until)

    def ended(self, by: str, *, since: datetime) -> int:
        """How much the events of a principal ended since a moment."""
        return self._total(ENDED, by, since)

    def duties_opened(self, by: str, *, since: datetime) -> int:
        """How many obligations a principal opened since a moment that are not its own alone."""
        return self._total(OPENED, by, since)

    def _total(self, use: str, by: str, since: datetime) -> int:
        with self.connection.reading():
            # Few logs have voids, and a search for none costs more than the question.
            voids = self.milestones(EventKind.VOID) if self.commits.value(_VOIDS) else []
            return WriterTotals(self.commits).since(use, by, utc(since), Voids(voids))

    def wrote(self, by: str, *, since: int) -> bool:
        """Whether a principal wrote after an epoch, other than departures, returns and their events."""
        with self.connection.reading():
            flush(self._sql)
            return int.from_bytes(self.commits.value(worked_key(by)), "big") > since

    def audiences(self) -> Iterator[Row]:
        """Every distinct audience of a state event, as task, principal and role."""
        with self.connection.reading():
            return iter(proven_lists.audiences(self._rows))

    def slots(self) -> list[tuple[str, str]]:
        """Every slot that some item is about, with its task."""
        with self.connection.reading():
            return proven_lists.slots(self._rows)

    def newest_for(self, audience: Row, *, until: int, most: int) -> list[Event]:
        """The newest state events for exactly this audience, in order, proven to be the newest."""
        with self.connection.reading():
            return newest_for(self._rows, audience, until=until, most=most)

    def agents(self) -> Iterator[Checkpoint]:
        """The last departure of every agent that ever departed."""
        for key in proven_lists.keys(self._rows, EventKind.DEPART):
            last = self.latest(EventKind.DEPART, key)
            if last is not None and isinstance(last.payload, Checkpoint) and last.payload.identity.agent == key:
                yield last.payload

    def leases(self) -> Iterator[Event]:
        """The last lease of every agent that ever had one."""
        for key in proven_lists.keys(self._rows, EventKind.LEASE):
            if (last := self.latest(EventKind.LEASE, key)) is not None:
                yield last

    def is_slot(self, name: str) -> bool:
        """Whether some item that is not private is about this slot."""
        return self._means(name, SLOT)

    def is_dependency(self, name: str) -> bool:
        """Whether some item that is not private supports this dependency."""
        return self._means(name, DEPENDENCY)

    def _means(self, name: str, meaning: int) -> bool:
        with self.connection.reading():
            return LastStatements(self.commits).means(name, meaning)

    def tail(self, *, since: int = 0, until: int | None = None) -> Iterable[Event]:
        """Every event in order, proven to be the one on the log."""
        return kept_events.events(self._rows, since, self.head if until is None else until)

"""Lists of events and slots, read from the indexes and proven by the signed map."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import msgspec

from readmit.log.engines.sql import blob, chunks
from readmit.log.indexes.index_rows import audience_key
from readmit.log.indexes.seen_observations import plain_id
from readmit.log.indexes.stated import STATE, Row
from readmit.log.tree.state_map import check_digest, check_last, is_short_form, key_of, keys_of
from readmit.records.acts.event import Event, EventKind
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from readmit.log.event_rows import EventRows
    from readmit.records.acts.kinds import DeclaredKind


_MAX = "SELECT key, max(epoch) FROM milestone WHERE ws = ? AND kind = ? AND key IN ({}) GROUP BY key"
_ALL = "SELECT key, epoch FROM milestone WHERE ws = ? AND kind = ? AND key IN ({}) ORDER BY key, epoch"
# The signed digest covers all leaves of an audience. They are read as they are stored, without their events.
_LEAVES = """
    WITH reached AS MATERIALIZED (
        SELECT epoch, ? + epoch AS place FROM audience
        WHERE ws = ? AND class = ? AND task = ? AND principal = ? AND role = ?
    )
    SELECT reached.epoch, event.leaf FROM reached LEFT JOIN event ON event.pos = place ORDER BY reached.epoch
"""


def newest_for(rows: EventRows, audience: Row, *, until: int, most: int) -> list[Event]:
    """The newest state events for exactly one audience up to an epoch, in order."""
    what, found = "what an audience can see", rows.sql.execute(_LEAVES, (rows.base, rows.ws, STATE, *audience))
    leaves = {epoch: b"" if leaf is None else blob(leaf) for epoch, leaf in found.fetchall()}
    check_digest(rows.commits.value(audience_key(STATE, audience)), leaves.values(), what=what)
    wanted = [epoch for epoch in leaves if epoch <= until][-most:]
    events = rows.load(wanted)
    if [rows.known[event.epoch] for event in events] != [leaves[epoch] for epoch in wanted]:
        raise TamperedError(f"{what}: an event was altered or removed")
    return events


def latest_of(rows: EventRows, kind: DeclaredKind, keys: Iterable[str], until: int) -> dict[str, Event]:
    """The last event of a kind up to an epoch, for each key that has one."""
    wanted, what = sorted(set(keys)), f"{kind} events"
    newest = dict(_found(rows, _MAX, kind, wanted))
    later = {key for key, epoch in newest.items() if epoch > until}
    lists: dict[str, list[int]] = {}
    for key, epoch in _found(rows, _ALL, kind, later):
        lists.setdefault(key, []).append(epoch)
    epochs = {epoch for key, epoch in newest.items() if key not in later}
    events = {event.epoch: event for event in rows.load(epochs.union(*lists.values()))}
    within = str(kind)
    named = dict(zip(wanted, keys_of("milestone", [(within, key) for key in wanted]), strict=True))
    values = rows.commits.values(named.values())
    chosen: dict[str, int] = {}
    # Keys that always had the same events, as sources that are looked at together, have the same digest.
    proven: set[tuple[bytes, int]] = set()
    for key in wanted:
        value = values.get(named[key], b"")
        if key in later:
            check_digest(value, [rows.known[epoch] for epoch in lists[key]], what=what)
            before = [epoch for epoch in lists[key] if epoch <= until]
            if before:
                chosen[key] = before[-1]
        else:
            last = newest.get(key, -1)
            if (value, last) not in proven:
                check_last(value, rows.known.get(last), what=what)
                proven.add((value, last))
            if key in newest:
                chosen[key] = last
    return {key: events[epoch] for key, epoch in chosen.items()}


def _found(rows: EventRows, query: str, kind: DeclaredKind, keys: Iterable[str]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for marks, part in chunks(keys):
        found += rows.sql.execute(query.format(marks), (rows.ws, str(kind), *part)).fetchall()
    return found


EVIDENCE = "evidence"
_NEXT_READERS = """
    SELECT task, principal, role FROM audience
    WHERE ws = ? AND class = ? AND (task, principal, role) > (?, ?, ?)
    ORDER BY task, principal, role LIMIT 1
"""
_FIRST_READERS = """
    SELECT task, principal, role FROM audience WHERE ws = ? AND class = ? ORDER BY task, principal, role LIMIT 1
"""
_NEXT_KEY = "SELECT min(key) FROM milestone WHERE ws = ? AND kind = ? AND key > ?"
# Ids are printable ASCII, so every id with a prefix sorts before the prefix followed by DEL.
_DEL = "\x7f"
_IDS = "SELECT id FROM name WHERE ws = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?"
_FILED = "SELECT digest FROM filed WHERE ws = ? AND digest >= ? AND digest < ? ORDER BY digest LIMIT ?"
_NAMED = """
    WITH named AS MATERIALIZED (SELECT id, ? + epoch AS place FROM name WHERE ws = ? AND id >= ? AND id < ?)
    SELECT event.digest FROM named JOIN event ON event.pos = place
    WHERE event.digest >= ? AND event.digest < ? AND named.id = ? || substr(event.digest, 1, 32)
    ORDER BY named.id LIMIT ?
"""
_SLOTS = "SELECT DISTINCT task, slot FROM slot_item WHERE ws = ? ORDER BY task, slot"


def audiences(rows: EventRows) -> list[Row]:
    """Every distinct audience of a state event, in order."""
    found: list[Row] = []
    row = rows.sql.execute(_FIRST_READERS, (rows.ws, STATE)).fetchone()
    while row is not None:
        found.append((row[0], row[1], row[2]))
        row = rows.sql.execute(_NEXT_READERS, (rows.ws, STATE, *row)).fetchone()
    _check(rows, _within("audience", STATE), (audience_key(STATE, one) for one in found), "who can see something")
    return found


def slots(rows: EventRows) -> list[tuple[str, str]]:
    """Every slot that some item is about, with its task, in order."""
    found = [(task, slot) for task, slot in rows.sql.execute(_SLOTS, (rows.ws,)).fetchall()]
    _check(rows, _within("slot"), (key_of("slot", *one) for one in found), "the slots")
    return found


def keys(rows: EventRows, kind: DeclaredKind) -> list[str]:
    """Every key that events of a kind belong to: of departures, agents, and principals for their banks."""
    found, what = list[str](), f"who has {kind} events"
    with rows.connection.reading():
        (key,) = rows.sql.execute(_NEXT_KEY, (rows.ws, str(kind), "")).fetchone()
        while key is not None:
            found.append(key)
            (key,) = rows.sql.execute(_NEXT_KEY, (rows.ws, str(kind), key)).fetchone()
        _check(rows, _within("milestone", str(kind)), (key_of("milestone", str(kind), one) for one in found), what)
    return found


def beginning_with(rows: EventRows, space: str, beginning: str, limit: int) -> list[str]:
    """Ids in a name space, or digests of evidence, with this prefix, in order."""
    if space == EVIDENCE:
        return _digests(rows, beginning, limit)
    prefix = f"{space}:"
    first = prefix + beginning
    found = [name for (name,) in rows.sql.execute(_IDS, (rows.ws, first, f"{first}{_DEL}", limit)).fetchall()]
    names = [name.removeprefix(prefix) for name in found]
    # The map has no keys for the names of observations. An item is found through what is about it.
    if len(found) < limit and space != EventKind.OBSERVE.prefix:
        use, listed, start = ("about", names, beginning) if space == EventKind.RECORD.prefix else ("name", found, first)
        _check(rows, key_of(use, start)[:-2], (key_of(use, one) for one in listed), f"ids of {space} events")
    return names


def _digests(rows: EventRows, beginning: str, limit: int) -> list[str]:
    """Digests of evidence with this prefix, in order, found through ``filed`` and through the names after digests."""
    end, first = f"{beginning}{_DEL}", plain_id(beginning)
    found = rows.sql.execute(_FILED, (rows.ws, beginning, end, limit)).fetchall()
    named = (rows.base, rows.ws, first, f"{first}{_DEL}", beginning, end, plain_id(""), limit)
    return sorted({digest for (digest,) in found + rows.sql.execute(_NAMED, named).fetchall()})[:limit]


def _within(*parts: str) -> str:
    """Prefix of the state-map keys whose first parts are these."""
    return f"{key_of(*parts)[:-1]},"


def _check(rows: EventRows, beginning: str, found: Iterable[str], what: str) -> None:
    """Refuse a list whose keys are not all and only those of the signed map."""
    if rows.commits.beginning_with(beginning).keys() != set(found):
        raise TamperedError(f"{what}: an index row was altered, hidden or added")


_OF_TASK = " FROM slot_item WHERE ws = ? AND task = ?"
_COUNT = f"SELECT count(*) FROM (SELECT 1{_OF_TASK} LIMIT ?) AS few"
# An agent usually sees most of its task. Scanning this many rows costs as much as one index search.
_WALK = 3
_MOST_TASKS = 8
_MOST_SLOTS = 100_000


class _Proven(msgspec.Struct):
    """Slots of a task that hold no other items than those that a reader knew."""

    values: dict[str, bytes] = {}
    """The running digest of every slot of the task, by its key in the map."""
    slots: AbstractSet[str] = frozenset()
    epochs: AbstractSet[int] = frozenset()
    """Epochs of the slots' items."""

    def changed(self, values: dict[str, bytes]) -> AbstractSet[str]:
        """The slots whose digests have changed."""
        if not self.slots or values == self.values:
            return frozenset()
        found = values.keys() ^ self.values.keys()
        found |= {key for key, value in values.items() if self.values.get(key) != value}
        return {msgspec.json.decode(key)[-1] for key in found}


class KeptSlots:
    """The slots of a workspace, by task."""

    def __init__(self, rows: EventRows) -> None:
        self._rows = rows
        self._tasks: dict[str, _Proven] = {}

    def read(self, task: str, slots: AbstractSet[str], known: AbstractSet[int]) -> list[Event]:
        """The items recorded about some slots of a task, except at the epochs that are known."""
        rows = self._rows
        (count,) = rows.sql.execute(_COUNT, (rows.ws, task, _WALK * len(slots) + 1)).fetchone()
        is_most = count <= _WALK * len(slots)
        proven, kept = known & rows.known.keys(), self._tasks.pop(task, _Proven()) if is_most else _Proven()
        values = rows.commits.beginning_with(f"{key_of('slot', task)[:-1]},") if is_most else {}
        same = kept.slots - kept.changed(values) if kept.epochs <= proven else frozenset()
        keys = {slot: key_of("slot", task, slot) for slot in slots - same}
        apart = keys.values() if not is_most else [key for key in keys.values() if is_short_form(key)]
        # If the task has no slots, only those that do not lie with the others can be missing.
        asked = keys if count or values else {slot: key for slot, key in keys.items() if is_short_form(key)}
        lists = self._listed(task, asked.keys(), walk=count <= _WALK * len(asked))
        every = {epoch for epochs in lists.values() for epoch in epochs}
        found = rows.load(every - proven)
        signed = values | rows.commits.values(apart)
        rows.check_values({keys[slot]: epochs for slot, epochs in lists.items()}, signed, "what is known of a slot")
        if is_most and len(values) <= _MOST_SLOTS:
            # Read again: lists with an item that is not known, and those that do not lie with the others.
            again = {slot for slot, epochs in lists.items() if not proven.issuperset(epochs)} if found else set()
            again |= {slot for slot, key in keys.items() if is_short_form(key)} if apart else set()
            epochs = (every & proven) | (kept.epochs if same else frozenset())
            self._tasks[task] = _Proven(values, same | keys.keys() - again, epochs)
            if len(self._tasks) > _MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
        return [event for event in found if event.epoch not in known]

    def _listed(self, task: str, slots: AbstractSet[str], *, walk: bool) -> dict[str, list[int]]:
        """The epochs that the index holds for some slots, also for those without any."""
        sql, here = self._rows.sql, (self._rows.ws, task)
        lists: dict[str, list[int]] = {slot: [] for slot in slots}
        for marks, part in ((None, ()),) if walk else chunks(slots):
            within = "" if marks is None else f" AND slot IN ({marks})"
            query = f"SELECT slot, epoch{_OF_TASK}{within} ORDER BY slot, epoch"
            for slot, epoch in sql.execute(query, (*here, *part)).fetchall():
                if slot in lists:
                    lists[slot].append(epoch)
        return lists

"""The newest events of a kind for each of many keys, or of an audience, proven to be the newest, in a few queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.log.engines.sql import blob, chunks
from readmit.log.indexes.audience import STATE, Row
from readmit.log.indexes.index_rows import audience_key
from readmit.log.tree.running_digest import check_digest, check_last
from readmit.log.tree.state_map import keys_of
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.event_rows import EventRows
    from readmit.records.acts.event import Event
    from readmit.records.acts.kinds import DeclaredKind

_MAX = "SELECT key, max(epoch) FROM milestone WHERE ws = ? AND kind = ? AND key IN ({}) GROUP BY key"
_ALL = "SELECT key, epoch FROM milestone WHERE ws = ? AND kind = ? AND key IN ({}) ORDER BY key, epoch"
# The signed digest covers all leaves of an audience. They are read as they are stored, without their events.
_LEAVES = """
    SELECT audience.epoch, event.leaf FROM audience LEFT JOIN event ON event.pos = ? + audience.epoch
    WHERE ws = ? AND class = ? AND task = ? AND principal = ? AND role = ? ORDER BY audience.epoch
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

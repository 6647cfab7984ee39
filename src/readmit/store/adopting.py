"""Takes the log of an earlier release into the tree of commits: one commit over everything that is there.

Earlier releases had no tree. What they wrote is trusted as it is found when this release first opens the store, like a
key on first use; from then on nothing of it can change unnoticed.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from readmit.records.canonical import decode
from readmit.records.commits import event_data, row_leaf
from readmit.records.events import EventKind, KeyChange
from readmit.records.kinds import KINDS
from readmit.records.tree import leaf_hash
from readmit.store.changes import running
from readmit.store.derived import derived_digest, derived_key
from readmit.store.indexes import (
    carried_key,
    carried_leaf,
    reach_digest,
    reach_key,
    stored_rows,
    worked_key,
    worked_value,
)
from readmit.store.ledger import source_digest, source_key
from readmit.store.schema import MASK, SHIFT
from readmit.store.sql import PAGE
from readmit.store.statemap import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.records.commits import Bound
    from readmit.store.changes import Changes
    from readmit.store.sql import Sql
    from readmit.store.statemap import Entry

_EVENTS = """
    SELECT pos, id, kind, by, at, learnt, body, digest, signature FROM event WHERE pos > ? AND pos <= ?
    ORDER BY pos LIMIT ?
"""
_BOUND = """
    SELECT binding.item, binding.evidence, event.by, event.at, event.learnt
    FROM binding JOIN event ON event.pos = ? + binding.evidence WHERE binding.ws = ? ORDER BY 1, 2
"""
_CARRIED = """
    SELECT evidence.digest, binding.item, item.id FROM binding
    JOIN event AS evidence ON evidence.pos = ? + binding.evidence JOIN event AS item ON item.pos = ? + binding.item
    WHERE binding.ws = ? ORDER BY 1, 2
"""
_WORKED = "SELECT by, max(pos) FROM event WHERE pos > ? AND pos <= ?"
_DERIVED = "SELECT kind, maker, source, body FROM derived WHERE ws = ?"
_SOURCES = "SELECT backend, record, body FROM source WHERE ws = ?"
_ROWS = "SELECT pos, return_id, kind, item, body FROM audit WHERE pos > ? AND pos <= ? ORDER BY pos"
_KEYS = "SELECT body FROM event WHERE pos > ? AND pos <= ? AND kind = ? ORDER BY pos"


def fill_leaves(sql: Sql, ws: int) -> None:
    """Write the leaves of events that have none."""
    base = ws << SHIFT
    for epoch, leaf in leaves(sql, ws):
        sql.execute("UPDATE event SET leaf = ? WHERE pos = ? AND leaf IS NULL", (leaf, base + epoch))


def leaves(sql: Sql, ws: int) -> Iterator[tuple[int, bytes]]:
    """The leaf of every event, computed from its row and its bindings."""
    base = ws << SHIFT
    bound: dict[int, list[Bound]] = {}
    for item, evidence, by, at, learnt in sql.execute(_BOUND, (base, ws)).fetchall():
        bound.setdefault(item, []).append((evidence, by, min(at, learnt)))
    done = base
    while page := sql.execute(_EVENTS, (done, base + MASK, PAGE)).fetchall():
        for pos, name, kind, by, at, learnt, _, digest, signature in page:
            epoch = pos - base
            data = event_data(epoch, name, kind, by, at, learnt, digest, signature, bound.get(epoch, ()))
            yield epoch, leaf_hash(data)
        done = page[-1][0]


def adopt(sql: Sql, ws: int, changes: Changes) -> None:
    """Add everything that a log without commits holds to the open transaction's changes."""
    found = dict(leaves(sql, ws))
    changes.leaves += [found[epoch] for epoch in sorted(found)]
    base = ws << SHIFT
    rows = sql.execute(_ROWS, (base, base + MASK)).fetchall()
    changes.rows += [row_leaf(pos - base, *rest) for pos, *rest in rows]
    keys = sql.execute(_KEYS, (base, base + MASK, str(EventKind.KEY))).fetchall()
    changes.keys += [decode(bytes(body), KeyChange, what="key change") for (body,) in keys]
    for key, value in index_values(sql, ws, found):
        changes.set(key, value)


def index_values(sql: Sql, ws: int, leaves_: Mapping[int, bytes]) -> Iterator[Entry]:
    """What every index answers, from its stored rows: the key, and the running digest over its events."""
    for index, first, columns in (
        ("audience", "audience", 4), ("about", "about", 1), ("slot_item", "slot", 2), ("kin", "kin", 1),
        ("milestone", "milestone", 2),
    ):  # fmt: skip
        for row, entries in groupby(stored_rows(sql, ws, index), key=itemgetter(slice(columns))):
            yield key_of(first, *row), running(leaves_.get(entry[columns], b"") for entry in entries)
    for (task, slot), entries in groupby(stored_rows(sql, ws, "slot_reach"), key=itemgetter(0, 1)):
        yield reach_key(task, slot), reach_digest((task, principal, role) for _, _, principal, role in entries)
    # Items are found by what is about them, observations by their digest.
    others = (f"{EventKind.RECORD.prefix}:", f"{EventKind.OBSERVE.prefix}:")
    for name, epoch in stored_rows(sql, ws, "name"):
        if not name.startswith(others):
            yield key_of("name", name), running((leaves_.get(epoch, b""),))
    yield from carried(sql, ws)
    yield from worked(sql, ws)
    yield from derived(sql, ws)
    for backend, record, body in sql.execute(_SOURCES, (ws,)).fetchall():
        yield source_key(backend, record), source_digest(body)


def carried(sql: Sql, ws: int) -> Iterator[Entry]:
    """The items that each piece of evidence is bound to."""
    rows = sql.execute(_CARRIED, (ws << SHIFT, ws << SHIFT, ws))
    for evidence, entries in groupby(rows, key=itemgetter(0)):
        yield carried_key(evidence), running(carried_leaf(name) for _, _, name in entries)


def worked(sql: Sql, ws: int) -> Iterator[Entry]:
    """When each principal was last at work."""
    # Events that the cycle writes for an agent, its departures and its acknowledgements are not work of its own.
    idle = [str(kind) for kind in KINDS.values() if not kind.is_work]
    query = f"{_WORKED} AND kind NOT IN ({', '.join('?' * len(idle))}) GROUP BY by"
    for by, pos in sql.execute(query, (ws << SHIFT, (ws << SHIFT) + MASK, *idle)):
        yield worked_key(by), worked_value(pos - (ws << SHIFT))


def derived(sql: Sql, ws: int) -> Iterator[Entry]:
    """The texts that models derived."""
    for kind, maker, source, body in sql.execute(_DERIVED, (ws,)):
        yield derived_key(kind, maker, source), derived_digest(body)

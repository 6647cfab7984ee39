"""Audiences, slots, names and the keys of milestones, proven to be all by the keys of the signed map.

Audiences and milestones are read by skip scan: each result costs one index search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.log.indexes.audience import STATE, Row
from readmit.log.indexes.index_rows import audience_key
from readmit.log.indexes.seen_observations import plain_id
from readmit.log.tree.state_map import key_of
from readmit.records.acts.event import EventKind
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.event_rows import EventRows
    from readmit.records.acts.kinds import DeclaredKind

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
    SELECT event.digest FROM name JOIN event ON event.pos = ? + name.epoch
    WHERE name.ws = ? AND name.id >= ? AND name.id < ? AND event.digest >= ? AND event.digest < ?
    AND name.id = ? || substr(event.digest, 1, 32) ORDER BY name.id LIMIT ?
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
    """How the state-map keys begin whose first parts are these."""
    return f"{key_of(*parts)[:-1]},"


def _check(rows: EventRows, beginning: str, found: Iterable[str], what: str) -> None:
    """Refuse a list whose keys are not all and only those of the signed map."""
    if rows.commits.beginning_with(beginning).keys() != set(found):
        raise TamperedError(f"{what}: an index row was altered, hidden or added")

"""Fills in the indexes that an older release did not write, when this release first opens its store.

Stored indexes must equal what this release would have written (ADR 0009). The functions that index a new event fill in
each one; existing rows stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.items import decode_item
from readmit.records.statements import kin_of
from readmit.store.indexes import binds_others, terms_of
from readmit.store.schema import MASK, SHIFT
from readmit.store.sql import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.records.items import Item
    from readmit.store.sql import Sql

_LEARNT = """
    UPDATE workspace SET learnt = (SELECT max(learnt) FROM event WHERE pos > ? AND pos <= ?) WHERE ws = ?
"""
_INVALIDATIONS = """
    INSERT INTO invalidation SELECT ?, by, learnt, pos - ? FROM event
    WHERE pos > ? AND pos <= ? AND kind IN ('suspect', 'judge') ON CONFLICT DO NOTHING
"""
_ITEMS = """
    SELECT pos, learnt, body FROM event
    WHERE pos > ? AND pos <= ? AND kind IN ('record', 'open', 'move') ORDER BY pos LIMIT ?
"""
_TERM = "INSERT INTO term VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_DUTY = "INSERT INTO duty VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_KIN = "INSERT INTO kin VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


def fill(sql: Sql, ws: int) -> None:
    """Add the index rows that one workspace's log implies and its store lacks."""
    base = ws << SHIFT
    sql.execute(_LEARNT, (base, base + MASK, ws))
    # A server's policies hid these events from the migration that was to index them.
    sql.execute(_INVALIDATIONS, (ws, base, base, base + MASK))
    for page in _pages(sql, base):
        items = [(pos - base, learnt, item) for pos, learnt, body in page if (item := _item(body)) is not None]
        terms = {(ws, *term): None for _, _, item in items for term in terms_of(item)}
        sql.executemany(_TERM, terms)
        kin = [(ws, key, epoch) for epoch, _, item in items if (key := kin_of(item)) is not None]
        sql.executemany(_KIN, kin)
        sql.executemany(_DUTY, [(ws, item.by, learnt, epoch) for epoch, learnt, item in items if binds_others(item)])


def _pages(sql: Sql, base: int) -> Iterator[list[Any]]:
    done = base
    while page := sql.execute(_ITEMS, (done, base + MASK, PAGE)).fetchall():
        yield page
        done = page[-1][0]


def _item(body: bytes) -> Item | None:
    try:
        found: Item = decode_item(body)
    except msgspec.DecodeError:
        # The event was altered. The store still opens, so that the audit can report it.
        return None
    return found

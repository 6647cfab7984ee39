"""Fills in the indexes that an older release did not write, when this release first opens its store.

Stored indexes must equal what this release would have written (ADR 0009). The functions that index a new event fill in
each one. Other rows stay as they are, except what the limits count: it is counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.errors import ReadmitError
from readmit.records.events import EventKind, Resolve
from readmit.records.items import Item
from readmit.records.kinds import kind_named, targets_of
from readmit.records.statements import kin_of
from readmit.store.adopting import fill_leaves
from readmit.store.endings import Endings
from readmit.store.indexes import binds_others, terms_of
from readmit.store.schema import MASK, SHIFT
from readmit.store.sql import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.store.sql import Sql

_LEARNT = """
    UPDATE workspace SET learnt = (SELECT max(learnt) FROM event WHERE pos > ? AND pos <= ?) WHERE ws = ?
"""
_RECOUNTED = ("invalidation", "holder", "duty")
_EVENTS = """
    SELECT pos, kind, by, learnt, CASE kind WHEN 'observe' THEN NULL ELSE body END FROM event
    WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?
"""
_TERM = "INSERT INTO term VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_DUTY = "INSERT INTO duty VALUES (?, ?, ?, ?)"
_DISPUTED = "SELECT body FROM event WHERE pos = ? + (SELECT epoch FROM name WHERE ws = ? AND id = ?)"
_KIN = "INSERT INTO kin VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


def fill(sql: Sql, ws: int) -> None:
    """Add the index rows that one workspace's log implies and its store lacks."""
    base = ws << SHIFT
    sql.execute(_LEARNT, (base, base + MASK, ws))
    for index in _RECOUNTED:
        # Older releases counted events by their writers' clocks, and not what they end.
        sql.execute(f"DELETE FROM {index} WHERE ws = ?", (ws,))
    endings, last = Endings(sql, ws), ""
    for pos, name, by, learnt, body in _rows(sql, base):
        last = max(last, learnt)
        if body is None or (payload := _payload(name, bytes(body))) is None:
            continue
        epoch = pos - base
        endings.file(epoch, by, last, endings.of(kind_named(name), payload, _about(sql, ws, payload)))
        if isinstance(payload, Item):
            sql.executemany(_TERM, [(ws, *term) for term in terms_of(payload)])
            if (key := kin_of(payload)) is not None:
                sql.execute(_KIN, (ws, key, epoch))
            if binds_others(payload):
                sql.execute(_DUTY, (ws, by, last, epoch))
    fill_leaves(sql, ws)


def _rows(sql: Sql, base: int) -> Iterator[Any]:
    done = base
    while page := sql.execute(_EVENTS, (done, base + MASK, PAGE)).fetchall():
        yield from page
        done = page[-1][0]


def _payload(kind: str, body: bytes) -> object:
    try:
        return kind_named(kind).read(body)
    except (msgspec.MsgspecError, ReadmitError):
        # The event was altered, or its kind is not installed. The store still opens, so that the audit can report it.
        return None


def _about(sql: Sql, ws: int, payload: object) -> tuple[str, ...]:
    """The items that an event concerns; for a resolution, those of its dispute."""
    if isinstance(payload, Resolve):
        row = sql.execute(_DISPUTED, (ws << SHIFT, ws, EventKind.DISPUTE.event_id(payload.dispute))).fetchone()
        payload = None if row is None else _payload(EventKind.DISPUTE, bytes(row[0]))
    return targets_of(payload)

"""Expiry: erases observations whose time is over and that nothing rests on, so that a log does not grow with them.

What stays of each is what ``forget`` leaves: the leaf, and a remnant without text, so every proof stands. Unlike
``forget`` it promises room alone: free pages are cleared when it is worth it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.log.erasure import erase_expired
from readmit.log.tree.state_map import remnants
from readmit.records.acts.event import EventKind
from readmit.records.acts.forgotten import Forget, remnant_of
from readmit.records.acts.looks import Looked, Resource
from readmit.records.base import utc
from readmit.records.error_types import StoreError
from readmit.records.evidence import Evidence
from readmit.records.items import Item

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.records.acts.event import Event
    from readmit.writing.writer import Writer

MOST = 5_000
"""Most observations that one event erases. The next expiry erases the others."""


class Expired(NamedTuple):
    """The texts that an expiry erased, in numbers."""

    observations: int = 0
    characters: int = 0
    """Characters of their texts."""
    kept: int = 0
    """Observations whose time is over, and that stay because something rests on them."""


def expire(
    writer: Writer, is_meant: Callable[[Event], bool], *, before: datetime, reason: str, by: str | None = None
) -> Expired:
    """Erase the observations of a kind that the log learnt before a moment, unless something rests on them.

    Owner and overseers only. One event says which, in whose name and why.
    """
    log, moment = writer.log, utc(before, field="before")
    if log.pending:
        raise StoreError("expire: not within a batch; do it after the batch")
    over: dict[str, Event] = {}
    used: set[str] = set()
    # Reading a long log takes seconds, in which others may write. What they wrote is read with the log held.
    with log.reading():
        seen, known = log.head, remnants(log.commits)
        for event in log.tail(until=seen):
            used.update(_rests_on(event.payload))
            is_old = isinstance(event.payload, Evidence) and event.learnt < moment and event.epoch not in known
            if is_old and is_meant(event):
                over[event.digest] = event
    with log.atomic():
        known = remnants(log.commits)
        for event in log.tail(since=seen):
            used.update(_rests_on(event.payload))
        over = {digest: event for digest, event in over.items() if event.epoch not in known}
        gone = [event for digest, event in over.items() if digest not in used][:MOST]
        if gone:
            epochs = tuple(event.epoch for event in gone)
            writer.write(EventKind.FORGET, Forget(targets=(), erased=epochs, reason=reason), by=by)
            erase_expired(log, {event.epoch: remnant_of(event.payload) for event in gone})
    characters = sum(len(event.payload.text) for event in gone if isinstance(event.payload, Evidence))
    return Expired(len(gone), characters, len(over.keys() & used))


def _rests_on(payload: Any) -> tuple[str, ...]:
    """The digests of the evidence that an event rests on."""
    match payload:
        case Item(receipts=receipts):
            return tuple(one.evidence for one in receipts)
        case Resource():
            return payload.evidence, payload.now
        case Looked(found=found):
            return tuple(one.now for one in found if one.now)
    pair = getattr(payload, "pair", None)
    return () if pair is None else (pair.evidence,)

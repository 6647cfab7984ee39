"""Explicit, linkable invalidation (paper, section 2.2): revocation, replacement, closed interval, dispute.

Each event counts from the moment it was true (``at``), not from the moment it was learnt; one that was already
true when it was learnt counts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.events import Close, Dispute, Event, Resolve, Revoke, Settle, Supersede
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from readmit.records.snapshot import Held


def interval(held: Held, now: datetime) -> Iterator[Cause]:
    """The item's own validity interval."""
    valid = held.item.valid
    if valid.end is not None and valid.end <= now:
        yield Cause(reason=Reason.EXPIRED, note=f"valid until {valid.end.isoformat()}")
    if valid.start is not None and valid.start > now:
        yield Cause(reason=Reason.NOT_YET_VALID, note=f"valid from {valid.start.isoformat()}")


def marks(held: Held, resolutions: Mapping[str, Event], now: datetime) -> Iterator[Cause]:
    """Later events that name the item."""
    for event in held.marks:
        if not event.holds(now):
            continue
        match event.payload:
            case Supersede(successor=successor, reason=why):
                yield Cause(reason=Reason.SUPERSEDED, epoch=event.epoch, ref=successor, by=event.by, note=why)
            case Revoke(reason=why):
                yield Cause(reason=Reason.REVOKED, epoch=event.epoch, by=event.by, note=why)
            case Settle(reason=why):
                yield Cause(reason=Reason.SETTLED, epoch=event.epoch, by=event.by, note=why)
            case Close(end=end, reason=why) if end <= max(now, event.learnt):
                yield Cause(
                    reason=Reason.EXPIRED, epoch=event.epoch, by=event.by, note=why or f"closed at {end.isoformat()}"
                )
            case Dispute():
                yield from _dispute(held, event, resolutions, now)


def _dispute(held: Held, event: Event, resolutions: Mapping[str, Event], now: datetime) -> Iterator[Cause]:
    name = event.name
    ending = resolutions.get(name)
    if ending is None or not ending.holds(now):
        why = event.payload.reason if isinstance(event.payload, Dispute) else ""
        yield Cause(reason=Reason.DISPUTED, epoch=event.epoch, ref=name, by=event.by, note=why)
    elif isinstance(ending.payload, Resolve) and held.item.id not in ending.payload.keep:
        yield Cause(reason=Reason.DISPUTE_LOST, epoch=ending.epoch, ref=name, by=ending.by, note=ending.payload.reason)

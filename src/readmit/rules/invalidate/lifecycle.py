"""Explicit, linkable invalidation (paper, section 2.2): revocation, closed interval, settlement, dispute.

Each event counts from its date, if one was given and has not passed when it was learnt; otherwise at once.
Supersession is in ``supersession``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.records.acts.event import Close, Dispute, Event, Resolve, Revoke, Settle
from readmit.records.acts.forgotten import Forget
from readmit.records.decisions import Cause
from readmit.records.items import Obligation
from readmit.records.reasons import Reason
from readmit.rules.invalidate.order import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from readmit.records.snapshot import Held


class Charge(NamedTuple):
    """A cause against a statement, and when it was raised: later evidence for the statement answers it."""

    cause: Cause
    raised: Point
    doubtful: bool = False
    """Whether it rests only on a score between the policy's thresholds. Then it counts only against items that support
    a critical dependency.
    """


def point_of(event: Event) -> Point:
    """The position and moment of an event."""
    return Point(event.epoch, event.said)


def interval(held: Held, now: datetime) -> Iterator[Cause]:
    """The item's own validity interval. A duty past its end is overdue, not over."""
    valid = held.item.valid
    if valid.end is not None and valid.end <= now and not isinstance(held.item, Obligation):
        yield Cause(reason=Reason.EXPIRED, note=f"valid until {valid.end.isoformat()}")
    if valid.start is not None and valid.start > now:
        yield Cause(reason=Reason.NOT_YET_VALID, note=f"valid from {valid.start.isoformat()}")


def closed(held: Held, now: datetime) -> Iterator[tuple[Event, Close]]:
    """The events that have ended an item's validity."""
    for event in held.marks:
        if isinstance(event.payload, Close) and event.holds(now) and event.payload.end <= max(now, event.learnt):
            yield event, event.payload


def marks(held: Held, resolutions: Mapping[str, Event], now: datetime) -> Iterator[Charge]:
    """Later events that name the item."""
    for event in held.marks:
        if not event.holds(now):
            continue
        match event.payload:
            case Revoke(reason=why) | Forget(reason=why):
                yield _charge(Reason.REVOKED, event, why)
            case Settle(reason=why):
                yield _charge(Reason.SETTLED, event, why)
            case Dispute(basis=None, plan=None):
                yield from outcome(held, event, resolutions)
    if not isinstance(held.item, Obligation):
        for event, close in closed(held, now):
            yield _charge(Reason.EXPIRED, event, close.reason or f"closed at {close.end.isoformat()}")


def _charge(reason: Reason, event: Event, note: str, ref: str = "") -> Charge:
    return Charge(Cause(reason=reason, epoch=event.epoch, ref=ref, by=event.by, note=note), point_of(event))


def outcome(held: Held, event: Event, resolutions: Mapping[str, Event]) -> Iterator[Charge]:
    """The effect of a dispute on an item that it names: open, lost, or none."""
    name = event.name
    ending = resolutions.get(name)
    if ending is None or not isinstance(ending.payload, Resolve):
        why = event.payload.reason if isinstance(event.payload, Dispute) else ""
        yield _charge(Reason.DISPUTED, event, why, ref=name)
    elif held.item.id not in ending.payload.keep:
        yield _charge(Reason.DISPUTE_LOST, ending, ending.payload.reason, ref=name)


def deciding(resolutions: Mapping[str, tuple[Event, ...]], principal: str, now: datetime) -> dict[str, Event]:
    """The resolution of each dispute: the latest that counts. A principal's own does not count in its return."""
    found: dict[str, Event] = {}
    for name, events in resolutions.items():
        counting = [event for event in events if event.by != principal and event.holds(now)]
        if counting:
            found[name] = counting[-1]
    return found

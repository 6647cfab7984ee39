"""Voided dates: events before a void count from no later than it.

The log's moment never decreases but at a void. So an event counts from the lowest moment at or after it, which keeps
the order of undated events by position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readmit.records.acts.event import Event, Overrule
from readmit.records.acts.operation import Lease

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class Voids:
    """The voids of a log up to an epoch."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def __bool__(self) -> bool:
        return bool(self._events)

    def moment(self, epoch: int, said: datetime) -> datetime:
        """A moment at an epoch, or, if it is void, that of the void."""
        return min((said, *(void.learnt for void in self._events if void.epoch > epoch)))

    def event(self, event: Event) -> Event:
        """An event with the moment that counts. A term that ran from a void moment runs from that one."""
        learnt = self.moment(event.epoch, event.learnt)
        if learnt == event.learnt:
            return event
        payload: Any = event.payload
        match payload:
            case Overrule():
                payload = replace(payload, expires=learnt + (payload.expires - event.learnt))
            case Lease():
                payload = replace(payload, until=learnt + (payload.until - event.learnt))
        return replace(event, learnt=learnt, payload=payload)

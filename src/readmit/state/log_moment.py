"""The log's moment: the clocks that may move it, the event that moved it too far, and its value after a void.

Only clocks of allowed writers move it. A file cannot tell a clock that jumped from a long silence, so an overseer can
void the date of an event; the event's content stays in effect.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.moments import Jump
from readmit.records.base import utc
from readmit.records.error_types import NotAllowedError, RecordError, UnknownError
from readmit.records.policy import Policy, distinct
from readmit.rules.capture.moment import lag
from readmit.state.authority import InForce

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft

# Written by the owner and overseers alone, who are allowed to write them whether or not they are among the writers.
_GOVERNING = frozenset(
    {
        EventKind.GOVERN,
        EventKind.KEY,
        EventKind.WRITER,
        EventKind.OVERRULE,
        EventKind.REASSIGN,
        EventKind.APPROVE,
        EventKind.DECLINE,
        EventKind.VOID,
    }
)


class HostClock:
    """The clock of this host, held against the policy and the server's clock."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._in_force = InForce()

    def policy(self, log: Log) -> Policy:
        """The policy in force."""
        return self._in_force.read(log)[1]

    def moves(self, entry: Draft, policy: Policy) -> bool:
        """Whether an event's writer is one that the policy allows. Refuses a name that looks like one it names."""
        distinct("by", entry.by, policy.evidence.known_names)
        return not policy.evidence.writers or entry.by in policy.evidence.writers or entry.kind in _GOVERNING

    def check(self, server: datetime, policy: Policy) -> None:
        """Refuse a clock that differs from the server's by more than ``max_clock_skew``."""
        now = utc(self._clock(), field="clock")
        apart = int(abs((now - server).total_seconds()))
        if apart > policy.returns.max_clock_skew:
            raise NotAllowedError(
                f"clock: this host says {now.isoformat()}, and the database server {server.isoformat()}, {apart} s "
                f"apart; the policy allows {policy.returns.max_clock_skew} s (max_clock_skew): set this host's clock "
                "right. Simulated time is declared in the URL: add clock=simulated"
            )


def jumped(log: Log, now: datetime, policy: Policy) -> Jump | None:
    """The event that moved the log's moment further ahead of a clock than the policy allows."""
    limit = _later(now, policy.returns.max_clock_skew)
    if log.learnt is None or limit is None or log.learnt <= limit:
        return None
    event = _first_beyond(log, limit)
    return Jump(epoch=event.epoch, kind=str(event.kind), by=event.by)


def lagging(log: Log, now: datetime, policy: Policy) -> str:
    """The error for a clock that lags beyond the policy's limit, with the remedy; empty if it does not."""
    return lag(now, log.learnt, policy, jumped(log, now, policy))


def resumed(log: Log, event: int, now: datetime) -> datetime:
    """The log's moment once an event's date is void: the former moment, or the clock if that is later."""
    before = log.event(min(event, log.head) - 1).learnt if min(event, log.head) > 1 else now
    return max(before, now)


def check_void(log: Log, event: int, moment: datetime) -> None:
    """Refuse to void a date without effect. ``moment`` is the log's moment after the void."""
    if event > log.head:
        raise UnknownError(f"event: the log has no event {event}; `readmit log` lists them")
    last = log.latest(EventKind.VOID)
    if last is not None and event <= last.epoch:
        raise RecordError(f"event: what moved the log's moment up to event {last.epoch} is void already")
    if log.event(event).learnt <= moment:
        why = "there is nothing to void"
        if log.learnt is not None and log.learnt >= moment:
            first = _first_beyond(log, moment if log.learnt > moment else moment - datetime.resolution)
            why = why if first.epoch == event else f"event {first.epoch} by {first.by!r} did"
        raise RecordError(f"event: event {event} did not move the log's moment ahead of the clock; {why}")


def _first_beyond(log: Log, limit: datetime) -> Event:
    """The first event since the last void at which the log's moment was beyond a limit, as its last one is."""
    last = log.latest(EventKind.VOID)
    low, high = 1 if last is None else last.epoch + 1, log.head
    # The moment never decreases in between.
    while low < high:
        middle = (low + high) // 2
        if log.event(middle).learnt > limit:
            high = middle
        else:
            low = middle + 1
    return log.event(low)


def _later(now: datetime, seconds: int) -> datetime | None:
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        return None

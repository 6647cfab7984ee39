"""The policy in force, and whose signatures count, read from the log.

Drops unsigned events from a snapshot, for the time in which the policy required signatures.

The log's moment: the clocks that may move it, the event that moved it too far, and its value after a void.

Only clocks of allowed writers move it. A file cannot tell a clock that jumped from a long silence, so an overseer can
void the date of an event; the event's content stays in effect.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.operation import Jump, Lease
from readmit.records.base import utc
from readmit.records.error_types import ConflictError, NotAllowedError, RecordError, UnknownError
from readmit.records.policy import AUTHOR, Policy, differences, distinct
from readmit.rules.capture.moment import lag
from readmit.trust.writer_signatures import Authority, SigningDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.snapshot import Held, Sighting, Snapshot, WorkState


_DEFAULT = Policy()
_DECIDING = (EventKind.WRITER, EventKind.GOVERN, EventKind.KEY)


def authority(log: Log, *, until: int | None = None) -> Authority | None:
    """The governors and the enrolled keys up to an epoch; None while no principal has a key."""
    if log.latest(EventKind.WRITER, until=until) is None:
        return None
    changes: list[Event] = []
    for kind in (EventKind.GOVERN, EventKind.WRITER):
        changes += log.milestones(kind, until=until)
    return Authority(domain_of(log), sorted(changes, key=lambda event: event.epoch))


def domain_of(log: Log) -> SigningDomain:
    """The workspace as a signature names it."""
    return SigningDomain(log.workspace, log.milestones(EventKind.KEY)[0].payload.key)  # type: ignore[attr-defined]  # of the kind


def policy_in_force(log: Log, *, until: int | None = None) -> Policy:
    """The last policy on the log that a governor wrote."""
    if (found := authority(log, until=until)) is not None:
        return found.policy
    event = log.latest(EventKind.GOVERN, until=until)
    return event.payload if event is not None and isinstance(event.payload, Policy) else _DEFAULT


class InForce:
    """The governors and the policy, which every write needs. Read again when their signed digest changes."""

    def __init__(self) -> None:
        self._known: tuple[list[bytes], Authority | None, Policy] | None = None

    def read(self, log: Log) -> tuple[Authority | None, Policy]:
        """Both, as they are at the end of a log, which is always the same one."""
        state = log.standing(*_DECIDING)
        known = self._known
        if known is None or known[0] != state:
            found = authority(log)
            policy = policy_in_force(log) if found is None else found.policy
            known = self._known = state, found, policy
        return known[1], known[2]


def check_in_force(log: Log, policy: Policy | None) -> None:
    """Refuse a policy that differs from the one in force, if one is given."""
    if policy is not None and (found := ", ".join(differences(policy, policy_in_force(log)))):
        raise ConflictError(
            f"policy: in workspace {log.workspace!r} another one is in force: {found}. The policy given to open is for "
            "a new workspace: leave it out, or change the one in force for everybody with "
            "workspace.as_owner().admin.govern(policy) or `readmit admin govern FILE`"
        )


def _ends(departed: Checkpoint, lease: object) -> bool:
    return isinstance(lease, Lease) and departed.epoch == lease.epoch and departed.identity == lease.identity


def check_counts(log: Log, event: Event) -> None:
    """Refuse a stored event that its writer did not sign although it had to."""
    found = authority(log)
    if found is None:
        return
    if event.by == AUTHOR and isinstance(event.payload, Checkpoint):
        # Readmit departs for an agent only where the agent's own lease says, as it signed it.
        lease = log.latest(EventKind.LEASE, event.payload.identity.agent, until=event.epoch)
        if lease is not None and found.counts(lease) and _ends(event.payload, lease.payload):
            return
        raise NotAllowedError(f"departure {event.name!r} ends no lease that {event.payload.identity.principal!r} took")
    if not found.counts(event):
        raise NotAllowedError(f"{event.kind} {event.name!r} has no valid signature of {event.by!r}: {event.kind} again")


def vetted(snapshot: Snapshot, log: Log, authority: Authority) -> Snapshot:
    """A snapshot in which unsigned events have no effect. Items and evidence stay, marked, to give a reason."""
    seen = _Vetting(log, authority)
    return replace(
        snapshot,
        state=seen.state(snapshot.state),
        background=seen.state(snapshot.background),
        evidence={digest: seen.sighting(one) for digest, one in snapshot.evidence.items()},
        unsigned=frozenset(
            held.epoch
            for state in (snapshot.state, snapshot.background)
            for held in state.held.values()
            if not authority.counts(log.event(held.epoch))
        ),
    )


class _Vetting:
    def __init__(self, log: Log, authority: Authority) -> None:
        self._log = log
        self._authority = authority

    def state(self, state: WorkState) -> WorkState:
        resolutions = {name: self._counting(events) for name, events in state.resolutions.items()}
        return replace(
            state,
            held={name: self._held(held) for name, held in state.held.items()},
            resolutions={name: events for name, events in resolutions.items() if events},
            bank=self._counting(state.bank),
        )

    def sighting(self, one: Sighting) -> Sighting:
        if self._authority.counts(self._log.event(one.epoch)):
            return one
        return replace(one, intact=False, signed=False)

    def _held(self, held: Held) -> Held:
        return replace(held, marks=self._counting(held.marks)) if held.marks else held

    def _counting(self, events: Iterable[Event]) -> tuple[Event, ...]:
        return tuple(event for event in events if self._authority.counts(event))


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


def host_time() -> datetime:
    """The moment by the clock of this host."""
    return datetime.now(UTC)


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

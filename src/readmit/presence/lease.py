"""Leases: an agent that is not heard of in time counts as departed, and writes nothing until it returns.

A lock service does the same: the holder of a lease has a token that grows with each holder, and a write under an older
token is refused. Here the token is the epoch of the event that began the presence, and a departure after it ends it.
Writing, renewing and sweeping each decide within one transaction, so of a late renewal and a sweeper one comes first.
"""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.acts.operation import Lease
from readmit.records.base import shown
from readmit.records.error_types import LeaseError, RecordError
from readmit.records.identity import Identity
from readmit.records.policy import AUTHOR, CENTURY
from readmit.rules.capture.checkpoint import checkpoint
from readmit.rules.capture.moment import later
from readmit.state.absence import Tenure, last_absence, swept_away, tenure, tenure_in
from readmit.state.authority import lagging
from readmit.writing.author import Author, Signatures
from readmit.writing.new_event import append_own, new_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from readmit.log.log import Log
    from readmit.writing.writer import Writer

# A lease is renewed when a third of it has passed: a lost call or two do not end it.
_RENEWALS = 3


class LeaseFence:
    """The presence that a handle writes under. Several workers of one agent may hold the same one."""

    def __init__(self, identity: Identity, token: int, seen: int) -> None:
        self.identity = identity
        self.token = token
        self.seen = seen
        """How far the agent had followed the log when its last call ended."""

    @contextmanager
    def passed(self, log: Log, signatures: Signatures, author: Author, now: datetime) -> Iterator[list[int]]:
        """A transaction that only a present agent enters. Takes the epochs of the events written in it."""
        within = log.pending
        epochs: list[int] = []
        with log.atomic():
            held = self.check(log, now)
            third = timedelta(seconds=held.lease.seconds) / _RENEWALS
            if later(now, log.learnt) >= held.lease.until - third * (_RENEWALS - 1):
                extend(log, signatures, author, held, now, epoch=self.seen)
            yield epochs
        if epochs and not within:
            # Only what is committed: other events may get the epochs of a batch that is undone.
            self.seen = max(self.seen, *epochs)

    def check(self, log: Log, now: datetime) -> Tenure:
        """The presence, if it is still that of this token and its lease has not run out."""
        held, who = tenure(log, self.identity.agent), self.identity
        if held is not None and held.token == self.token:
            if later(now, log.learnt) < held.lease.until:
                return held
            raise LeaseError(
                f"the lease of {who.principal!r} on {who.task!r} ran out at {held.lease.until.isoformat()}: "
                "come back before writing"
            )
        absence = last_absence(log, who)
        if absence is not None and absence.end is None:
            departed = absence.departure.payload
            if isinstance(departed, Checkpoint) and departed.reason:
                raise LeaseError(swept_away(absence.departure))
            raise LeaseError(f"{who.principal!r} departed from {who.task!r}: come back before writing")
        raise LeaseError(
            f"token {self.token} is not the one under which {who.principal!r} is present on {who.task!r}, if it is: "
            "call present() again, and write through the new handle"
        )


def begin(
    writer: Writer, identity: Identity, lease: timedelta | int, epoch: int | None, token: int | None
) -> LeaseFence:
    """Make an agent present, or join its presence; with a ``token``, that one and no other."""
    seconds, now, log = _seconds(lease), writer.clock(), writer.log
    author = Author(writer.author.of(identity.principal), writer.author.signer)
    with log.atomic():
        seen = _followed(log, identity) if epoch is None else followed(log, epoch)
        held = tenure(log, identity.agent)
        if token is not None:
            LeaseFence(identity, token, seen).check(log, now)
        if held is not None:
            fence = LeaseFence(identity, held.token, held.lease.epoch if epoch is None else seen)
            fence.check(log, now)
            new = msgspec.structs.replace(held.lease, seconds=seconds)
            extend(log, writer.signatures, author, held._replace(lease=new), now, epoch=fence.seen)
            return fence
        absence = last_absence(log, identity)
        if absence is not None and absence.end is None:
            raise LeaseError(f"{identity.principal!r} is away from {identity.task!r}: come back before being present")
        begun = Lease(identity=identity, epoch=seen, seconds=seconds, until=_end(log, now, seconds))
        return LeaseFence(identity, _append(writer.signatures, author, begun, now), seen)


def extend(log: Log, signatures: Signatures, author: Author, held: Tenure, now: datetime, *, epoch: int) -> Lease:
    """Renew a lease."""
    lease = msgspec.structs.replace(held.lease, token=held.token, epoch=epoch, until=_end(log, now, held.lease.seconds))
    _append(signatures, author, lease, now)
    return lease


def _append(signatures: Signatures, author: Author, lease: Lease, now: datetime) -> int:
    made = new_event(EventKind.LEASE, lease, id=secrets.token_hex(8), by=lease.identity.principal, at=now)
    return signatures.append(made, author, now)


def _end(log: Log, now: datetime, seconds: int) -> datetime:
    try:
        return later(now, log.learnt) + timedelta(seconds=seconds)
    except OverflowError:
        raise RecordError(f"lease: {seconds} s from now is beyond the year 9999; give less") from None


def _seconds(lease: object) -> int:
    seconds = lease.total_seconds() if isinstance(lease, timedelta) else lease
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= CENTURY:
        raise RecordError(f"lease: {shown(lease)} is not a lease; give whole seconds, or a timedelta, of 1 s or more")
    if seconds != int(seconds):
        raise RecordError(f"lease: {shown(lease)} is not a whole number of seconds; give one")
    return int(seconds)


def followed(log: Log, epoch: object) -> int:
    """An epoch that an agent says it has reached."""
    if type(epoch) is not int or not 0 <= epoch <= log.head:
        raise RecordError(f"epoch: {shown(epoch)} is not an epoch of this log; give one from 0 to {log.head}")
    return epoch


def _followed(log: Log, identity: Identity) -> int:
    """How far a present agent has followed the log: to its view, or to the end if it never left or was reset."""
    absence = last_absence(log, identity)
    if absence is None or absence.end is None or absence.started_anew:
        return log.head
    return log.returned(absence.end.name).request.epoch


class Unjudged(msgspec.Struct, frozen=True):
    """A lease that is over by the sweeper's clock alone, which may be wrong."""

    identity: Identity
    until: datetime
    ahead: int
    """By how many seconds the clock is ahead of the last moment that the log has learnt."""


class Sweep(msgspec.Struct, frozen=True):
    """The result of one sweep: departures written, and leases that could not be judged."""

    departed: tuple[Checkpoint, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()


class Sweeper:
    """Departs for agents whose lease ran out.

    A lease is over at the log's last moment: a clock that was set back keeps none alive. A clock that is ahead of the
    log looks like that of a team that wrote nothing meanwhile, so it sends nobody away: then a lease is over once this
    sweeper itself has seen it unrenewed for its whole length, or if the operator trusts the clock. So is one that ends
    later than if it were taken now: its agent's clock was ahead.
    """

    def __init__(
        self, writer: Writer, *, trust_clock: bool = False, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        if trust_clock:
            writer.check_operator("trust_clock")
        self._writer = writer
        self._trust_clock = trust_clock
        self._elapsed = elapsed
        self._watched: dict[str, tuple[Lease, float]] = {}

    def sweep(self) -> Sweep:
        """Look at every lease once."""
        writer = self._writer
        if behind := lagging(writer.log, writer.clock(), writer.policy()):
            raise LeaseError(f"leases cannot be judged: {behind}")
        found = [self._judge(one.identity) for one in list(self._present())]
        return Sweep(
            tuple(one for one in found if isinstance(one, Checkpoint)),
            tuple(one for one in found if isinstance(one, Unjudged)),
        )

    def follow(self, *, every: float = 5.0, until: Callable[[], bool] = lambda: False) -> Iterator[Sweep]:
        """Sweep, wait and sweep again until ``until`` returns true. Yields the sweeps with a result."""
        while not until():
            found = self.sweep()
            if found.departed or found.unjudged:
                yield found
            time.sleep(every)

    def _present(self) -> Iterator[Lease]:
        log, elapsed = self._writer.log, self._elapsed()
        watched = {}
        for event in log.leases():
            held = tenure_in(log, event)
            if held is not None:
                agent = held.lease.identity.agent
                known = self._watched.get(agent)
                watched[agent] = known if known is not None and known[0] == held.lease else (held.lease, elapsed)
                yield held.lease
        self._watched = watched

    def _judge(self, identity: Identity) -> Checkpoint | Unjudged | None:
        """Depart for an agent if its lease is over, within the transaction that finds it so."""
        log = self._writer.log
        with log.atomic():
            held = tenure(log, identity.agent)
            now, learnt = self._writer.clock(), log.learnt
            if held is None or learnt is None or self._runs(held.lease, later(now, learnt)):
                return None
            if self._trust_clock:
                return depart_for(log, held.lease, now)
            if learnt < held.lease.until and not self._has_watched(held.lease):
                return Unjudged(held.lease.identity, held.lease.until, int((now - learnt).total_seconds()))
            # The clock may be wrong, so the log must not learn its moment.
            return depart_for(log, held.lease, learnt)

    def _runs(self, lease: Lease, moment: datetime) -> bool:
        """Whether a lease runs. If it ends later than one that is taken now, its agent's clock was ahead."""
        longest = timedelta(seconds=lease.seconds + self._writer.policy().returns.max_clock_skew)
        credible = lease.until - moment <= longest
        return moment < lease.until and (credible or not (self._trust_clock or self._has_watched(lease)))

    def _has_watched(self, lease: Lease) -> bool:
        known = self._watched.get(lease.identity.agent)
        return known is not None and known[0] == lease and self._elapsed() - known[1] >= lease.seconds


def depart_for(log: Log, lease: Lease, now: datetime) -> Checkpoint:
    """Depart for an agent at the last epoch it had seen. Its private bank is in quarantine from here on."""
    who, name = lease.identity, secrets.token_hex(8)
    sealed = checkpoint(who, log.seen(who, until=lease.epoch), id=name, epoch=lease.epoch, at=now)
    departed = msgspec.structs.replace(sealed, reason="lease_expired")
    append_own(log, EventKind.DEPART, departed, id=name, by=AUTHOR, at=now)
    return departed


def is_over(writer: Writer, identity: Identity) -> bool:
    """Whether the lease of an agent ran out, and no departure says so yet."""
    held = tenure(writer.log, identity.agent)
    return held is not None and writer.now() >= held.lease.until


def leave_if_over(writer: Writer, identity: Identity) -> None:
    """Depart for an agent that comes back after its lease ran out and before a sweeper noticed."""
    with writer.log.atomic():
        held = tenure(writer.log, identity.agent)
        if held is not None and is_over(writer, identity):
            depart_for(writer.log, held.lease, writer.clock())

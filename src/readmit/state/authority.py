"""Signatures of writers, in one workspace: who has a key, what must be signed, and signing it."""

from __future__ import annotations

from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.acts.leases import Lease
from readmit.records.error_types import ConflictError, LeaseError, NotAllowedError, RecordError
from readmit.records.policy import AUTHOR, OWNER, Policy, differences
from readmit.records.remedies import command
from readmit.state.absence import last_absence, swept
from readmit.trust.writer_signatures import Authority, SigningDomain, is_finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.acts.event import Event
    from readmit.writing.author import Writer


_DEFAULT = Policy()
_DECIDING = (EventKind.WRITER, EventKind.GOVERN, EventKind.KEY)


def authority(log: Log, *, until: int | None = None) -> Authority | None:
    """Who governs and whose signatures count, up to an epoch; none while nobody has a key."""
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
    """The policy that the log was last given by somebody who may."""
    if (found := authority(log, until=until)) is not None:
        return found.policy
    event = log.latest(EventKind.GOVERN, until=until)
    return event.payload if event is not None and isinstance(event.payload, Policy) else _DEFAULT


class InForce:
    """Who governs, and the policy: what every write asks for. Read again when the signed digest over it is another."""

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
            "workspace.as_owner().govern(policy) or `readmit admin govern FILE`"
        )


class _Batch(local):
    """The open batch of a thread: no other thread or process writes meanwhile."""

    depth = 0
    known: tuple[Authority | None] | None = None
    present: frozenset[str] = frozenset()
    """Principals that are not away because a lease ran out."""


class Signatures:
    """Signs events for handles on one workspace and refuses what is not signed as it must be.

    Within a batch, who has a key is read once for many observations: only the batch itself can change it.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._domain: SigningDomain | None = None
        self._in_force = InForce()
        self._batch = _Batch()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several events, one durable commit."""
        with self._log.atomic():
            self._batch.depth += 1
            self.forget()
            try:
                yield
            finally:
                self._batch.depth -= 1
                self.forget()

    def forget(self) -> None:
        """Read again who has a key and who is present: it may have changed."""
        self._batch.known = None
        self._batch.present = frozenset()

    def signed(self, entry: Draft, writer: Writer) -> Draft:
        """An event with the signature of the handle's writer, if it signs."""
        if writer.signer is None:
            return entry
        if self._domain is None:
            self._domain = domain_of(self._log)
        return self._domain.sign(entry, writer.signer)

    def check(self, entry: Draft) -> None:
        """Refuse an event that is not signed although it must be, or whose signature does not count."""
        found = self._authority() if entry.kind is EventKind.OBSERVE else self._in_force.read(self._log)[0]
        check_signed(entry, found)
        if isinstance(entry.payload, Policy):
            _check_governable(entry.payload, found)

    def check_present(self, entry: Draft) -> None:
        """Refuse an event of a principal whose lease ran out, and whose handle does not say that it is back."""
        if self._batch.depth and entry.by in self._batch.present:
            return
        departed: Event | None
        if isinstance(entry.payload, Checkpoint):
            # An agent may leave one task while it is away from another, but not depart again unseen.
            absence = last_absence(self._log, entry.payload.identity)
            departed = None if absence is None or absence.end is not None else absence.departure
            if departed is not None and not (isinstance(departed.payload, Checkpoint) and departed.payload.reason):
                return
        else:
            departed = swept(self._log, entry.by)
        if departed is not None:
            raise LeaseError(swept_away(departed))
        if self._batch.depth:
            self._batch.present |= {entry.by}

    def _authority(self) -> Authority | None:
        if not self._batch.depth:
            return self._in_force.read(self._log)[0]
        if self._batch.known is None:
            self._batch.known = (self._in_force.read(self._log)[0],)
        return self._batch.known[0]


def check_signed(entry: Draft, found: Authority | None) -> None:
    """Refuse an event that is not signed although it must be, or whose signature does not count."""
    if entry.signature is not None:
        if found is None or not found.is_signed(entry):
            raise NotAllowedError(
                f"signer: its key is not enrolled for {entry.by!r}; the owner or an overseer does that: "
                f"`{command('writers enrol', (entry.by, 'PUBLIC_KEY'))}`"
            )
        return
    if found is None or is_finding(entry):
        return
    by = entry.by
    handle = "workspace.as_owner(signer=…)" if by == OWNER else f"workspace.principal({by!r}, signer=…)"
    if found.requires:
        why = "the policy's writers_signed requires it"
    elif entry.kind in _GOVERNING and found.of(OWNER):
        why = "the owner has a key, so those who govern sign"
    else:
        return
    raise NotAllowedError(f"{by!r} must sign this {entry.kind}: {why}; write through {handle}, or with --signer")


def _ends(departed: Checkpoint, lease: object) -> bool:
    return isinstance(lease, Lease) and departed.epoch == lease.epoch and departed.identity == lease.identity


def swept_away(departed: Event) -> str:
    """What happened to an agent whose lease ran out, and what to do."""
    assert isinstance(departed.payload, Checkpoint)  # noqa: S101 - of the kind
    who = departed.payload.identity
    return (
        f"the lease of {who.principal!r} on {who.task!r} ran out, and readmit departed for it at epoch "
        f"{departed.payload.epoch} (departure {departed.name!r}): come back before writing, or write through the "
        "presence of another task"
    )


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


_GOVERNING = frozenset({EventKind.GOVERN, EventKind.KEY, EventKind.WRITER, EventKind.VOID, EventKind.REASSIGN})


def _check_governable(policy: Policy, found: Authority | None) -> None:
    if policy.writers_signed == "required" and (found is None or not found.current(OWNER)):
        raise RecordError(
            "writers_signed: before signatures are required, the owner needs a key of its own, or nobody could change "
            "the policy again: workspace.as_owner(signer=…).writers.enrol('owner', …), or "
            "`readmit writers enrol owner PUBLIC_KEY --signer KEY`"
        )

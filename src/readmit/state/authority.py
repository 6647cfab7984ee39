"""The policy in force, and whose signatures count, read from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.leases import Lease
from readmit.records.error_types import ConflictError, NotAllowedError
from readmit.records.policy import AUTHOR, Policy, differences
from readmit.trust.writer_signatures import Authority, SigningDomain

if TYPE_CHECKING:
    from readmit.log.log import Log


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

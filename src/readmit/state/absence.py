"""Whether an agent is at work, away, holds a view, or was reset. Read from the log alone.

The agent's handle, its write permissions and its threads in other frameworks all use this, so they agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.leases import Lease
from readmit.records.acts.voids import Voids
from readmit.records.identity import Identity

if TYPE_CHECKING:
    from readmit.log.log import Log


class Absence(NamedTuple):
    """The last departure of an agent, and the return or reset that ended it."""

    departure: Event
    end: Event | None = None
    """The first exposure of a view of a return from it, or the return that was reset."""

    @property
    def started_anew(self) -> bool:
        """Whether the absence ended in a reset: without a view and without earlier experience."""
        return self.end is not None and self.end.kind is EventKind.RETURN


def last_absence(log: Log, identity: Identity) -> Absence | None:
    """The last absence of an agent in any role; None if it never departed."""
    departure = log.latest(EventKind.DEPART, identity.agent)
    if departure is None:
        return None
    return Absence(departure, _end(log, identity, since=departure.epoch))


def came_back_between(log: Log, identity: Identity, first: int, last: int) -> bool:
    """Whether an agent was handed a view, or was reset, after one position in the log and before another."""
    return _end(log, identity, since=first, until=last - 1) is not None


def _end(log: Log, identity: Identity, *, since: int, until: int | None = None) -> Event | None:
    """The last exposure or reset of an agent up to an epoch, if its return is later than another epoch.

    Only the newest return is exposed, so the returns of two exposures have the same order. Returns that were blocked
    are not read: an agent may have asked a thousand times.
    """
    exposed = log.latest(EventKind.EXPOSE, identity.agent, until=until)
    reset = log.latest(EventKind.RETURN, identity.own_resets, until=until)
    if reset is not None and (exposed is None or reset.epoch > exposed.epoch):
        return reset if reset.epoch > since else None
    if exposed is None:
        return None
    # A return from before the departure belongs to an earlier absence, whenever it was exposed.
    returned = log.named(EventKind.RETURN, exposed.name)
    return exposed if returned is not None and returned.epoch > since else None


class Tenure(NamedTuple):
    """A presence that no departure has ended: its token, and its lease as it was last renewed."""

    token: int
    lease: Lease


def tenure(log: Log, agent: str) -> Tenure | None:
    """The presence of an agent under a lease, whether or not the lease has run out; none if it departed since."""
    event = log.latest(EventKind.LEASE, agent)
    return None if event is None else tenure_in(log, event)


def tenure_in(log: Log, event: Event) -> Tenure | None:
    """The presence that the last lease of an agent belongs to. A lease from a void moment runs from the void."""
    event = Voids(log.milestones(EventKind.VOID)).event(event)
    if not isinstance(event.payload, Lease):
        return None
    token = event.payload.token or event.epoch
    departure = log.latest(EventKind.DEPART, event.payload.identity.agent)
    return None if departure is not None and departure.epoch > token else Tenure(token, event.payload)


def swept(log: Log, principal: str) -> Event | None:
    """A departure that readmit wrote for a principal, because a lease ran out, and that no return has ended."""
    identity = Identity(workspace=log.workspace, principal=principal, role=principal, task=principal)
    if not any(log.standing(EventKind.DEPART, key=identity.swept)):
        return None
    departures = log.milestones(EventKind.DEPART, identity.swept)
    last = {one.payload.identity.agent: one for one in departures if isinstance(one.payload, Checkpoint)}
    for departed in last.values():
        absence = last_absence(log, departed.payload.identity)  # type: ignore[attr-defined]  # of the kind
        if absence is not None and absence.departure == departed and absence.end is None:
            return departed
    return None


def is_away(log: Log, principal: str, task: str | None) -> bool:
    """Whether a principal is away from a task, or, without one, from any task."""
    if task is not None:
        # The role does not matter: an agent may come back in another one.
        agents = [Identity(workspace=log.workspace, principal=principal, role=principal, task=task)]
    else:
        bank = Identity(workspace=log.workspace, principal=principal, role=principal, task=principal).bank
        departures = (event.payload for event in log.milestones(EventKind.DEPART, bank))
        agents = list({one.identity.agent: one.identity for one in departures if isinstance(one, Checkpoint)}.values())
    absences = (last_absence(log, agent) for agent in agents)
    return any(absence is not None and absence.end is None for absence in absences)


def received(log: Log, exposed: Event) -> bool:
    """Whether a view that was handed over has arrived: its workload acknowledged it, or its principal wrote since."""
    return log.named(EventKind.ACKNOWLEDGE, exposed.name) is not None or log.wrote(exposed.by, since=exposed.epoch)


def swept_away(departed: Event) -> str:
    """What happened to an agent whose lease ran out, and what to do."""
    assert isinstance(departed.payload, Checkpoint)  # noqa: S101 - of the kind
    who = departed.payload.identity
    return (
        f"the lease of {who.principal!r} on {who.task!r} ran out, and readmit departed for it at epoch "
        f"{departed.payload.epoch} (departure {departed.name!r}): come back before writing, or write through the "
        "presence of another task"
    )

"""Whether an agent is at work, away, holds a view, or was reset. Read from the log alone.

The agent's handle, its write permissions and its threads in other frameworks all use this, so they agree.

The role in which an agent comes back, and checks of its task and purpose.

Duties are scoped to roles, so an unknown role owes nothing. An agent comes back in the role in which it departed, or
in the one to which it was reassigned since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.operation import Lease, Reassign
from readmit.records.acts.voids import Voids
from readmit.records.arguments import near_name
from readmit.records.error_types import NotAllowedError, UnknownError
from readmit.records.identity import Identity, agent_key
from readmit.records.items import Item
from readmit.state.authority import authority

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """The message for an agent whose lease ran out: what happened, and what to do."""
    assert isinstance(departed.payload, Checkpoint)  # noqa: S101 - of the kind
    who = departed.payload.identity
    return (
        f"the lease of {who.principal!r} on {who.task!r} ran out, and readmit departed for it at epoch "
        f"{departed.payload.epoch} (departure {departed.name!r}): come back before writing, or write through the "
        "presence of another task"
    )


def role_of(log: Log, departed: Checkpoint, identity: Identity) -> str:
    """The role of an agent that comes back from a departure."""
    first, before = _absence(log, departed)
    role = first.identity.role
    found = authority(log)
    for event in log.milestones(EventKind.REASSIGN, identity.agent):
        said = event.payload
        counts = found is None or found.counts(event)
        if event.epoch > before and counts and isinstance(said, Reassign) and said.was in (None, role):
            role = said.role
    return role


def _absence(log: Log, departed: Checkpoint) -> tuple[Checkpoint, int]:
    """The departure with which an absence began, and the position of the departure before it.

    To depart again while away does not change the role.
    """
    events = [
        event
        for event in log.milestones(EventKind.DEPART, departed.identity.agent)
        if isinstance(event.payload, Checkpoint)
    ]
    place = next(place for place, event in enumerate(events) if event.name == departed.id)
    while place and not came_back_between(log, departed.identity, events[place - 1].epoch, events[place].epoch):
        place -= 1
    payload = events[place].payload
    return payload if isinstance(payload, Checkpoint) else departed, events[place - 1].epoch if place else 0


def roles_of(log: Log, principal: str, task: str | None) -> frozenset[str]:
    """The roles of a principal on a task, or without one on any task. A principal's own word gives it no role.

    The owner or an overseer assigns roles. Without an assignment, it is the role of the last departure that it signed.
    """
    found, bank = authority(log), agent_key(principal, "")
    roles: dict[str, str] = {}
    for event in log.milestones(EventKind.DEPART, bank) if found is not None else ():
        if isinstance(event.payload, Checkpoint) and found is not None and found.is_signed(event, event.epoch):
            roles[event.payload.identity.task] = event.payload.identity.role
    for event in log.milestones(EventKind.REASSIGN, bank):
        if isinstance(event.payload, Reassign) and (found is None or found.counts(event)):
            roles[event.payload.task] = event.payload.role
    return frozenset(role for on, role in roles.items() if task in (None, on))


def check_return(log: Log, departed: Checkpoint, identity: Identity) -> None:
    """Refuse a return in a role that the agent does not have, or on a task that nothing it may see names."""
    _check_task(log, departed, identity)
    role = role_of(log, departed, identity)
    if role == identity.role:
        return
    who, asked = identity.principal, identity.role
    if role != _absence(log, departed)[0].identity.role:
        raise NotAllowedError(f"role: {who!r} was reassigned to {role!r}, and does not come back as {asked!r}")
    meant = nearest(asked, [role])
    raise NotAllowedError(
        f"role: {who!r} departed as {role!r}, and nobody has reassigned it to {asked!r}"
        + (f"; {meant}" if meant else ".")
        + f" Come back as {role!r}, or let the owner or an overseer `reassign` it"
    )


def _check_task(log: Log, departed: Checkpoint, identity: Identity) -> None:
    if identity.task == departed.identity.task or log.latest(EventKind.DEPART, identity.agent) is not None:
        return
    named = {name for item in _items(log, identity) for name in (item.scope.task, *item.applies_to) if name is not None}
    if identity.task not in named:
        raise unknown(
            "task", identity.task, [*own_tasks(log, identity), *named], f"nothing that {identity.principal!r} may see"
        )


def check_purpose(log: Log, identity: Identity, purpose: str) -> None:
    """Refuse a purpose that nothing names, if anything that the agent may see names purposes."""
    named = {name for item in _items(log, identity) for name in item.purposes}
    if named and purpose not in named:
        raise unknown("purpose", purpose, named, f"nothing that {identity.principal!r} may see")


def own_tasks(log: Log, identity: Identity) -> list[str]:
    """The tasks that a principal has departed from."""
    departures = (event.payload for event in log.milestones(EventKind.DEPART, identity.bank))
    return list(dict.fromkeys(one.identity.task for one in departures if isinstance(one, Checkpoint)))


def unknown(field: str, asked: str, named: Iterable[str], nothing: str) -> UnknownError:
    """The error for an unknown name, with the nearest known one."""
    meant = nearest(asked, named)
    return UnknownError(
        f"{field}: {nothing} names {asked!r}; "
        + (f"{meant}, or" if meant else "correct the spelling, or")
        + f" record something for this {field} first"
    )


def nearest(asked: str, named: Iterable[str]) -> str:
    """A question after the nearest of some names; empty if none is near."""
    found = near_name(asked, named)
    return f"did you mean {found!r}?" if found else ""


def _items(log: Log, identity: Identity) -> list[Item]:
    seen = (event.payload for event in log.seen(identity, until=log.head))
    return [item for item in seen if isinstance(item, Item) and identity.may_see(item.scope)]

"""The role in which an agent comes back, and checks of its task and purpose.

Duties are scoped to roles, so an unknown role owes nothing. An agent comes back in the role in which it departed, or
in the one to which it was reassigned since.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.acts.reassignment import Reassign
from readmit.records.error_types import NotAllowedError, UnknownError
from readmit.records.identity import Identity, agent_key
from readmit.records.items import Item
from readmit.state.absence import came_back_between
from readmit.state.authority import authority

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.log import Log


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
    spelled = {name.casefold(): name for name in sorted(named)}
    found = get_close_matches(asked.casefold(), spelled, n=1)
    return f"did you mean {spelled[found[0]]!r}?" if found else ""


def _items(log: Log, identity: Identity) -> list[Item]:
    seen = (event.payload for event in log.seen(identity, until=log.head))
    return [item for item in seen if isinstance(item, Item) and identity.may_see(item.scope)]

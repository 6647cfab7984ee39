"""Departures: an agent leaves, and the departure that its return would be from."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from readmit.presence.lease import followed, is_over
from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.base import require_id
from readmit.records.error_types import ConflictError, UnknownError
from readmit.records.identity import Identity, check_giver
from readmit.rules.capture.checkpoint import checkpoint
from readmit.state.absence import Absence, check_return, last_absence, nearest, own_tasks, received
from readmit.state.authority import check_counts

if TYPE_CHECKING:
    from readmit.log.log import Log
    from readmit.writing.writer import Writer


def own_name(identity: Identity, id: str | None) -> str:
    """The id of a departure or a return: the one that its agent gives, or a new one."""
    return secrets.token_hex(8) if id is None else check_giver(require_id("id", id), identity.principal)


def depart(writer: Writer, identity: Identity, *, id: str | None, epoch: int | None) -> Checkpoint:
    """Seal the events that an agent can see now, or could at an ``epoch``, and quarantine its private bank."""
    log, now = writer.log, writer.clock()
    with log.atomic():
        at = log.head if epoch is None else followed(log, epoch)
        name = own_name(identity, id)
        if log.named(EventKind.DEPART, name) is not None:
            # Unlike other writes, a repetition is refused: the agent may have come back in between, and would stay
            # at work although it departs.
            raise ConflictError(f"id {name!r} is already used for an earlier departure; choose another id")
        departed = checkpoint(identity, log.seen(identity, until=at), id=name, epoch=at, at=now)
        writer.write(EventKind.DEPART, departed, by=identity.principal, id=name)
    return departed


def departure_of(log: Log, identity: Identity, name: str | None = None) -> Checkpoint:
    """The departure that a return now would be from, or the named one.

    Refused in a role that the agent does not have, and on a task that nothing it may see names.
    """
    found = _last(log, identity) if name is None else _named(log, identity, name)
    check_return(log, found, identity)
    return found


def is_away(writer: Writer, identity: Identity) -> bool:
    """Whether its lease ran out, or its last departure was ended neither by an exposed view nor by a reset."""
    absence = last_absence(writer.log, identity)
    return is_over(writer, identity) or (absence is not None and absence.end is None)


def _named(log: Log, identity: Identity, name: str) -> Checkpoint:
    require_id("checkpoint", name)
    event = log.named(EventKind.DEPART, name)
    # Another agent's departure gives the same error as an unknown one.
    if event is None or log.departure(name).identity.principal != identity.principal:
        raise UnknownError(f"no departure {name!r} of {identity.principal!r} in workspace {log.workspace!r}")
    check_counts(log, event)
    return log.departure(name)


def _last(log: Log, identity: Identity) -> Checkpoint:
    absence = last_absence(log, identity)
    if absence is None or _is_back(log, absence):
        others = [task for task in own_tasks(log, identity) if task != identity.task]
        meant = nearest(identity.task, others)
        raise UnknownError(
            f"{identity.principal!r} has not departed from {identity.task!r}{f', {meant}' if meant else ''}: "
            "call depart() first, with the epoch it had reached if it crashed"
        )
    check_counts(log, absence.departure)
    return absence.departure.payload  # type: ignore[return-value]  # the kind of the event says which payload it is


def _is_back(log: Log, absence: Absence) -> bool:
    """Whether there is no absence left to return from. A view that never arrived does not end one."""
    if absence.end is None:
        return False
    return absence.started_anew or received(log, absence.end)

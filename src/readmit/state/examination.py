"""How far implicit changes were examined before a return, read from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.decisions import Examination
from readmit.records.evidence import Evidence
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.verdicts import Examine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.log.log import Log
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy


def examination(
    log: Log, departed: Checkpoint, identity: Identity, *, purpose: str | None, epoch: int, policy: Policy
) -> Examination | None:
    """The last examination for such a return, as of an epoch; none if there was none.

    An examination for another departure, role or purpose covers other items or uses, and does not count.
    """
    event = _last(log, departed, identity, purpose, epoch)
    if event is None or not isinstance(event.payload, Examine):
        return None
    seen = event.payload
    # An item recorded since has to be compared with everything later than its own evidence.
    since = min([seen.until, *_evidence_of(statements(log, departed, identity, since=event.epoch, until=epoch), log)])
    missed = observations(log, departed, identity, since=since, until=epoch, policy=policy)
    return Examination(
        verifier=seen.verifier, until=seen.until, unexamined=len(missed), nothing_stated=seen.nothing_stated
    )


def observations(
    log: Log, departed: Checkpoint, identity: Identity, *, since: int, until: int, policy: Policy
) -> dict[int, Event]:
    """The observations visible to the departed or returning identity, by position.

    A writer who is not allowed can neither change an item's premises nor block returns by writing continuously.
    """
    eyes = {identity, departed.identity}
    found = (event for one in eyes for event in log.observations(one, since=since, until=until))
    return {
        event.epoch: event
        for event in found
        if not policy.evidence.writers or writer_of(event) in policy.evidence.writers
    }


def writer_of(observation: Event) -> str:
    """The principal that answers for an observation: its writer, or the one who named the source that readmit read."""
    return observation.payload.writer if isinstance(observation.payload, Evidence) else observation.by


def statements(log: Log, departed: Checkpoint, identity: Identity, *, since: int, until: int) -> dict[int, Event]:
    """The items visible to the departed or returning identity, by position, without duties and frontiers."""
    eyes = {identity, departed.identity}
    found = (event for one in eyes for event in log.seen(one, since=since, until=until))
    return {
        event.epoch: event
        for event in found
        if isinstance(event.payload, Item) and not isinstance(event.payload, Obligation | Frontier)
    }


def _last(log: Log, departed: Checkpoint, identity: Identity, purpose: str | None, epoch: int) -> Event | None:
    departure = log.named(EventKind.DEPART, departed.id)
    first = 0 if departure is None else departure.epoch
    event = log.latest(EventKind.EXAMINE, identity.agent, until=epoch)
    while event is not None and event.epoch > first:
        seen = event.payload
        if isinstance(seen, Examine) and (seen.checkpoint, seen.identity, seen.purpose) == (
            departed.id,
            identity,
            purpose,
        ):
            return event
        event = log.latest(EventKind.EXAMINE, identity.agent, until=event.epoch - 1)
    return None


def _evidence_of(recorded: Mapping[int, Event], log: Log) -> list[int]:
    """Item → the position of its latest evidence; its own position without evidence."""
    positions = []
    bound = log.evidence_for(event.epoch for event in recorded.values())
    for event in recorded.values():
        receipts = event.payload.receipts if isinstance(event.payload, Item) else ()
        own = [bound[one.evidence].epoch for one in receipts if one.evidence in bound]
        positions.append(max(own, default=event.epoch))
    return positions

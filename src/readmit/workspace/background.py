"""What a return is judged against without being shown: premises, successors and rivals out of the reader's sight.

They are read from the log by item and by slot, not through the reader's audience: an item recorded today may outdate
one that was visible at departure, and an index row added for that would alter what the checkpoint covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.capture.fold import fold
from readmit.records.events import EventKind, Supersede
from readmit.records.items import Obligation
from readmit.records.snapshot import WorkState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.ports.store import Log
    from readmit.records.events import Event
    from readmit.records.identity import Identity
    from readmit.records.snapshot import Held


def concerned(log: Log, identity: Identity, state: WorkState, epoch: int) -> WorkState:
    """Items out of sight that decide whether one in sight stands, however far down, with what befell them."""
    events: dict[int, Event] = {}
    known = set(state.held)
    epochs = {held.epoch for held in state.held.values()}
    searched: set[tuple[str, str]] = set()
    fresh: Iterable[Held] = state.held.values()
    while fresh:
        wanted = _named(fresh) - known
        found = log.about(wanted, until=epoch) if wanted else []
        for task, slots in _unsearched(fresh, identity, searched).items():
            rivals = log.rivals((None, task), slots, until=epoch, known=epochs)
            found += log.about({rival.payload.id for rival in rivals}, until=epoch)  # type: ignore[union-attr]
        events |= {event.epoch: event for event in found}
        fresh = [held for held in fold(WorkState(), _in_order(found)).held.values() if held.item.id not in known]
        known |= {held.item.id for held in fresh}
        epochs |= {held.epoch for held in fresh}
        for of in {held.item.scope.task for held in fresh if held.item.slot is not None}:
            if of is not None:
                events |= {event.epoch: event for event in log.milestones(EventKind.REBASE, of, until=epoch)}
    return fold(WorkState(), _in_order(events.values()))


def _named(fresh: Iterable[Held]) -> set[str]:
    """Premises and successors of some items."""
    named = {premise for held in fresh for premise in held.item.depends_on}
    marks = (mark.payload for held in fresh for mark in held.marks)
    return named | {mark.successor for mark in marks if isinstance(mark, Supersede)}


def _unsearched(fresh: Iterable[Held], identity: Identity, searched: set[tuple[str, str]]) -> dict[str, set[str]]:
    """Slots whose rivals have not been looked for, by the task in which they are."""
    found: dict[str, set[str]] = {}
    for held in fresh:
        slot, task = held.item.slot, held.item.scope.task or identity.task
        if slot is not None and type(held.item) is not Obligation and (task, slot) not in searched:
            searched.add((task, slot))
            found.setdefault(task, set()).add(slot)
    return found


def _in_order(events: Iterable[Event]) -> list[Event]:
    distinct = {event.epoch: event for event in events}
    return [distinct[epoch] for epoch in sorted(distinct)]


def premises(log: Log, state: WorkState, epoch: int) -> WorkState:
    """What the first rules looked at: premises, and the later statements of their slots."""
    events: dict[int, Event] = {}
    known: set[str] = set(state.held)
    wanted = {premise for entry in state.held.values() for premise in entry.item.depends_on} - known
    while wanted:
        known |= wanted
        found = log.about(wanted, until=epoch)
        events |= {event.epoch: event for event in found}
        items = fold(WorkState(), found).held.values()
        for entry in items:
            if entry.item.slot is not None:
                later = log.in_slot(entry.item.scope.task, entry.item.slot, until=epoch)
                events |= {event.epoch: event for event in later}
            if entry.item.scope.task is not None:
                starts = log.milestones(EventKind.REBASE, entry.item.scope.task, until=epoch)
                events |= {event.epoch: event for event in starts}
        wanted = {premise for entry in items for premise in entry.item.depends_on} - known
    return fold(WorkState(), (events[number] for number in sorted(events)))

"""Invisible items that a return is judged with: premises, successors, rivals and duties that the reader cannot see.

They are read from the log by item, by slot and by statement, not through the reader's audience: an item recorded today
may outdate one that was visible at departure, and an index row for it would alter the checkpoint's coverage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.event import Event, Supersede
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.snapshot import Held, WorkState
from readmit.rules.capture.fold import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from readmit.log.log import Log
    from readmit.records.identity import Identity


def concerned(log: Log, identity: Identity, state: WorkState, epoch: int) -> WorkState:
    """Invisible items that decide, directly or not, whether a visible one stands, with their events."""
    events: dict[int, Event] = {}
    known = set(state.held)
    epochs = {held.epoch for held in state.held.values()}
    searched: dict[str, set[str]] = {}
    fresh: Collection[Held] = state.held.values()
    apart = _apart(state)
    while fresh:
        named, slots = _leads(fresh, identity.task)
        wanted = named - known
        found = log.about(wanted, until=epoch) if wanted else []
        rivals = log.kin(apart, until=epoch, known=epochs) if apart else []
        for task, new in slots.items():
            before = searched.setdefault(task, set())
            rivals += log.rivals((None, task), new - before, until=epoch, known=epochs)
            before |= new
        if rivals:
            found += log.about([rival.name for rival in rivals], until=epoch)
        events |= {event.epoch: event for event in found}
        fresh = [held for held in fold(WorkState(), _in_order(found)).held.values() if held.item.id not in known]
        known.update(held.item.id for held in fresh)
        epochs.update(held.epoch for held in fresh)
        apart = [held.item for held in fresh]
    return fold(WorkState(), _in_order(events.values()))


def with_frontiers(log: Log, identity: Identity, state: WorkState, epoch: int) -> WorkState:
    """A state in which frontiers that a reader sees only through their obligation have all their events.

    Their later events reach only readers in their own scope, for the same reason as above; whether a frontier was
    withdrawn or replaced must not depend on the reader's role.
    """
    names = [
        name
        for name, held in state.held.items()
        if type(held.item) is Frontier and not identity.may_see(held.item.scope)
    ]
    if not names:
        return state
    whole = fold(WorkState(), log.about(names, until=epoch))
    held = dict(state.held) | {name: whole.held[name] for name in names}
    return replace(state, held=held, resolutions={**state.resolutions, **whole.resolutions})


def _leads(fresh: Collection[Held], task: str) -> tuple[set[str], dict[str, set[str]]]:
    """Premises, successors and duties of some items, and their slots by task."""
    named: set[str] = set()
    slots: dict[str, set[str]] = {}
    for held in fresh:
        item = held.item
        if item.depends_on:
            named.update(item.depends_on)
        if type(item) is Frontier:
            named.add(item.obligation)
        if held.marks:
            named.update(mark.payload.successor for mark in held.marks if isinstance(mark.payload, Supersede))
        if item.slot is not None and type(item) is not Obligation:
            slots.setdefault(item.scope.task or task, set()).add(item.slot)
    return named, slots


def _apart(state: WorkState) -> list[Item]:
    """Visible items that may have invisible relatives: frontiers whose obligation is not visible.

    Other repetitions of a statement have the same scope, and so the same readers.
    """
    return [
        held.item
        for held in state.held.values()
        if type(held.item) is Frontier and held.item.obligation not in state.held
    ]


def _in_order(events: Iterable[Event]) -> list[Event]:
    distinct = {event.epoch: event for event in events}
    return [distinct[epoch] for epoch in sorted(distinct)]

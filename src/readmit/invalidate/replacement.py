"""Which of several statements about the same thing stands.

Statements are about the same thing if they share a slot, or frontiers if they share an obligation, and their tasks
overlap. The one that ranks highest replaces the others permanently: an item does not come back when its replacement
expires or is withdrawn. If the newer one is disputed or suspected, the slot is contested and neither stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from readmit.invalidate.lifecycle import point_of
from readmit.invalidate.order import Order, Rank, ranks
from readmit.invalidate.statements import SameStatements
from readmit.invalidate.supersession import concerns, reaches
from readmit.records.decisions import Cause
from readmit.records.events import Close, Event, Rebase, Revoke, Settle
from readmit.records.identity import Identity
from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.records.items import Item
    from readmit.records.snapshot import Held, Snapshot

Found = tuple[str, Cause, bool]
"""An item, the cause against it, and whether an overseer's event covers that cause."""


class ReplacementField(msgspec.Struct, frozen=True):
    """Facts about the items, collected before they are compared."""

    reader: Identity
    purpose: str | None
    now: datetime
    order: Order
    same: SameStatements
    flawed: frozenset[str]
    lost: frozenset[str]
    """Items that lost a dispute: a wrong statement replaces nothing."""
    contested: frozenset[str]
    """Items that are disputed or suspected."""
    after: Mapping[str, Sequence[str]]
    """Item → those that it was explicitly named to replace."""
    restored: Mapping[str, Event]
    """Item → the overseer's event that restores it."""


def slots(everything: Iterable[Held], field: ReplacementField) -> Iterator[Found]:
    """Items that another item in their slot replaces or contests."""
    first: dict[str, Held] = {}
    shared: dict[str, list[Held]] = {}
    for held in everything:
        item = held.item
        slot = item.slot
        if slot is None or type(item) is Obligation or type(item) is Frontier:
            continue
        other = first.setdefault(slot, held)
        # Most slots hold one statement; lists are built only for the others.
        if other is not held:
            shared.setdefault(slot, [other]).append(held)
    yield from _replaced(shared.values(), field, Reason.SLOT_UPDATED)


def frontiers(everything: Iterable[Held], field: ReplacementField) -> Iterator[Found]:
    """Frontiers that a later one of the same obligation replaced, or whose obligation is settled."""
    entries = [held for held in everything if type(held.item) in (Frontier, Obligation)]
    moved: dict[str, list[Held]] = {}
    for held in entries:
        if isinstance(held.item, Frontier):
            moved.setdefault(held.item.obligation, []).append(held)
    yield from _replaced(moved.values(), field, Reason.FRONTIER_MOVED)
    for held in entries:
        for event in held.marks:
            if isinstance(event.payload, Settle) and event.holds(field.now):
                cause = Cause(reason=Reason.SETTLED, epoch=event.epoch, ref=held.item.id, by=event.by)
                yield from ((frontier.item.id, cause, True) for frontier in moved.get(held.item.id, ()))


def _replaced(groups: Iterable[Sequence[Held]], field: ReplacementField, reason: Reason) -> Iterator[Found]:
    for members in groups:
        if len(members) == 1:
            continue
        for task in dict.fromkeys(held.item.scope.task or field.reader.task for held in members):
            alike = [held for held in members if held.item.scope.task in (None, task)]
            yield from _outranked(alike, task, field, reason)


def _outranked(alike: Sequence[Held], task: str, field: ReplacementField, reason: Reason) -> Iterator[Found]:
    """What is replaced on a task. An explicit successor takes over a rank only from an item in the same slot."""
    rivals = [held for held in alike if _competes(held, task, field)]
    here = [held for held in alike if (held.item.scope.task or field.reader.task) == task]
    # An item without evidence has no rank of its own, and is out for that reason alone.
    judged = [held for held in here if field.order.own(held)]
    ranked = ranks(alike, field.order, field.after)
    restored = [held for held in judged if held.item.id in field.restored] if reason is Reason.SLOT_UPDATED else []
    raised: dict[str, Rank] = {}
    for held in sorted(restored, key=lambda held: field.restored[held.item.id].epoch):
        # A restored item ranks directly after everything that had replaced it by then.
        known = _known_at(field.restored[held.item.id], held, rivals, field)
        best = sorted(known, key=lambda rival: ranked[rival.item.id], reverse=True)
        if cause := _replacing(held, best, ranked, field, reason):
            yield held.item.id, cause, True
            top = ranked[best[0].item.id]
            raised[held.item.id] = Rank(top.base, top.depth + 1, ranked[held.item.id].own)
            ranked = ranks(alike, field.order, field.after, raised)
    best = sorted(rivals, key=lambda held: ranked[held.item.id], reverse=True)
    # Filtered once: items that name other principals replace nothing for this reader.
    shared = [rival for rival in best if reaches(rival.item, field.reader)]
    for held in judged:
        if cause := _replacing(held, best if held.item.scope.principals else shared, ranked, field, reason):
            yield held.item.id, cause, held.item.id not in field.restored


def _known_at(event: Event, held: Held, rivals: Iterable[Held], field: ReplacementField) -> list[Held]:
    """The items that could have replaced an item for this reader at the time of an event."""
    # A backdated event counts from when it was learnt; one dated by a log ahead of its writer's clock, from its date.
    moment = max(event.at, event.learnt)
    return [
        rival
        for rival in rivals
        if rival.epoch < event.epoch and field.order.key(rival).start <= moment and _displaces(rival, held, field)
    ]


def _replacing(
    held: Held, best: Sequence[Held], ranked: Mapping[str, Rank], field: ReplacementField, reason: Reason
) -> Cause | None:
    """What replaces an item: the highest settled rival above it, or else the highest that contests it."""
    above = (rival for rival in _above(held, best, ranked) if _displaces(rival, held, field))
    first = rival = next(above, None)
    while rival is not None and rival.item.id in field.contested:
        rival = next(above, None)
    by = rival or first
    if by is None:
        return None
    why = reason if rival is not None else Reason.SLOT_CONTESTED
    return Cause(reason=why, epoch=by.epoch, ref=by.item.id, by=by.item.by)


def _displaces(rival: Held, held: Held, field: ReplacementField) -> bool:
    """Whether a rival says something different and replaces the item for this reader."""
    same = field.same.same(held.item.id, rival.item.id)
    return not same and concerns(rival.item, held.item, field.reader)


def _above(held: Held, best: Sequence[Held], ranked: Mapping[str, Rank]) -> Iterator[Held]:
    own = ranked[held.item.id]
    for rival in best:
        if ranked[rival.item.id] <= own:
            return
        yield rival


def _competes(held: Held, task: str, field: ReplacementField) -> bool:
    """Whether an item was in force at some moment for this use. Otherwise it replaced nothing."""
    item = held.item
    return (
        item.id not in field.flawed
        and item.id not in field.lost
        and item.scope.task in (None, task)
        and (not item.tasks or task in item.tasks)
        and _serves(item, field.purpose)
        and _was_in_force(held, field)
    )


def _serves(item: Item, purpose: str | None) -> bool:
    """A return without a purpose owes duties of every purpose, and needs their frontiers."""
    return not item.purposes or purpose in item.purposes or (purpose is None and isinstance(item, Frontier))


def _was_in_force(held: Held, field: ReplacementField) -> bool:
    start = field.order.key(held).start
    if start > field.now:
        return False
    end = held.item.valid.end
    if end is not None and end < start:
        return False
    for event in _marks(held, field):
        if not event.holds(field.now):
            continue
        match event.payload:
            case Close(end=closed) if closed < start:
                return False
            # A backdated event counts from when it was learnt, so that it cannot undo a replacement.
            case Revoke() if max(event.at, event.learnt) < start:
                return False
    return True


def _marks(held: Held, field: ReplacementField) -> Iterator[Event]:
    """Causes against an item, and those against the same statement that the item's evidence does not answer."""
    yield from held.marks
    for other in field.same.repeated.get(held.item.id, ()):
        if other is not held:
            yield from (event for event in other.marks if not field.order.confirms(held, point_of(event)))


def rebases(everything: Iterable[Held], snapshot: Snapshot, order: Order) -> Iterator[Found]:
    """Items whose source epoch precedes the rebase of their slot.

    An item of every task counts as one of the returning task.
    """
    now, task = snapshot.now, snapshot.identity.task
    distinct = {event.epoch: event for event in (*snapshot.background.rebases, *snapshot.state.rebases)}.values()
    starts = [(event, event.payload) for event in distinct if isinstance(event.payload, Rebase) and event.holds(now)]
    if not starts:
        return
    for held in everything:
        slot, own = held.item.slot, held.item.scope.task or task
        if slot is None or type(held.item) is Obligation:
            continue
        for event, rebase in starts:
            below = slot == rebase.slot or slot.startswith(f"{rebase.slot}.")
            if below and own == rebase.task and (order.source(held).position or held.epoch) < event.epoch:
                yield (
                    held.item.id,
                    Cause(
                        reason=Reason.EPOCH_INCOMPATIBLE,
                        epoch=event.epoch,
                        ref=rebase.slot,
                        by=event.by,
                        note=rebase.reason,
                    ),
                    True,
                )

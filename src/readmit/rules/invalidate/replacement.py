"""Which of several statements about the same thing stands.

Statements are about the same thing if they share a slot, or frontiers if they share an obligation, and their tasks
overlap. A slot in which only a model wrote is a hint, not one thing: its statements stand side by side until a person
records there or confirms one of them. The one that ranks highest replaces the others permanently: an item does not come
back when its replacement expires or is withdrawn. If the newer one is disputed or suspected, the slot is contested and
neither stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Close, Event, Revoke, Settle
from readmit.records.acts.forgotten import Forget
from readmit.records.decisions import Cause
from readmit.records.identity import Identity
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from readmit.rules.invalidate.concurrent import PassedOver
from readmit.rules.invalidate.lifecycle import point_of
from readmit.rules.invalidate.order import Order, Placement, Rank, ranks
from readmit.rules.invalidate.repeated_statements import SameStatements
from readmit.rules.invalidate.supersession import concerns, reaches

if TYPE_CHECKING:
    from readmit.records.snapshot import Held

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
    after: Mapping[str, Mapping[str, Placement]]
    """Item → those that it was explicitly named to replace, each with the act."""
    restored: Mapping[str, Event]
    """Item → the overseer's event that restores it."""
    policy: Policy
    ended: frozenset[str] = frozenset()
    """Items that were withdrawn, closed or explicitly replaced."""
    passed: Mapping[str, Sequence[PassedOver]] = {}
    """Plan → the news that passed it over."""
    drafts: frozenset[str] = frozenset()
    """Items that a model wrote and no principal has confirmed."""


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
    single = (members for members in shared.values() if any(held.item.id not in field.drafts for held in members))
    yield from _replaced(single, field, Reason.SLOT_UPDATED)


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
    """Items that are replaced on a task. An explicit successor takes over a rank only from an item in the same slot."""
    rivals = [held for held in alike if _competes(held, task, field)]
    here = [held for held in alike if (held.item.scope.task or field.reader.task) == task]
    # An item without evidence has no rank of its own, and is out for that reason alone. A constraint would block then,
    # so a later one replaces it.
    judged = [held for held in here if field.order.own(held) or field.policy.constrains(held.item)]
    ranked = ranks(alike, field.order, field.after)
    restored = [held for held in judged if held.item.id in field.restored] if reason is Reason.SLOT_UPDATED else []
    raised: dict[str, Rank] = {}
    for held in sorted(restored, key=lambda held: field.restored[held.item.id].epoch):
        # A restored item ranks directly after everything that had replaced it by then.
        known = _known_at(field.restored[held.item.id], held, rivals, field)
        best = sorted(known, key=lambda rival: ranked[rival.item.id], reverse=True)
        if found := _replacing(held, _runs(best, field), ranked, field, reason):
            why, rival = found
            yield held.item.id, Cause(reason=why, epoch=rival.epoch, ref=rival.item.id, by=rival.item.by), True
            event = field.restored[held.item.id]
            act = Placement(event.epoch, event.by)
            raised[held.item.id] = ranked[held.item.id].put_after(ranked[best[0].item.id], act)
            ranked = ranks(alike, field.order, field.after, raised)
    best = sorted(rivals, key=lambda held: ranked[held.item.id], reverse=True)
    # Filtered once: items that name other principals replace nothing for this reader.
    shared = [rival for rival in best if reaches(rival.item, field.reader)]
    beaten: dict[str, Held] = {}
    if reason is Reason.SLOT_UPDATED and any(rival.item.id in field.passed for rival in shared):
        beaten, open_ = _plans(shared, field)
        best, shared = ([one for one in some if one.item.id not in beaten] for some in (best, shared))
        field = msgspec.structs.replace(field, contested=field.contested | open_.keys())
        yield from ((name, cause, True) for name, cause in open_.items())
    every, reaching = _runs(best, field), _runs(shared, field)
    for held in judged:
        found = _replacing(held, every if held.item.scope.principals else reaching, ranked, field, reason)
        if found is None and (news := beaten.get(held.item.id)) is not None:
            found = reason, news
        if found is not None:
            why, rival = found
            act = ranked[rival.item.id].since
            cause = Cause(reason=why, epoch=act.epoch, ref=rival.item.id, by=act.by)
            yield held.item.id, cause, held.item.id not in field.restored


def _plans(best: Sequence[Held], field: ReplacementField) -> tuple[dict[str, Held], dict[str, Cause]]:
    """Plans that lose to news that passed them over, each with the news; and the causes where neither wins.

    News counts only while the slot holds it: not once it has ended, nor once something else replaced it.
    """
    beaten: dict[str, Held] = {}
    holding: list[Held] = []
    contests: list[tuple[PassedOver, Held, Held]] = []
    for rival in reversed(best):
        over = [
            (one, news)
            for one in field.passed.get(rival.item.id, ())
            for news in holding
            if (news.item.id == one.news.item.id or field.same.same(news.item.id, one.news.item.id))
            and not _is_over(news, field)
            and _displaces(rival, news, field)
            and _displaces(news, rival, field)
        ]
        lost = next((news for one, news in over if one.preferred == one.news.item.id), None)
        if lost is not None:
            beaten[rival.item.id] = lost
            continue
        open_ = {news.item.id: (one, rival, news) for one, news in over if one.preferred is None}
        contests += open_.values()
        holding = [one for one in holding if one.item.id in open_ or not _displaces(rival, one, field)] + [rival]
    held = {one.item.id for one in holding}
    sides = [(one, side) for one, *both in contests if held.issuperset(side.item.id for side in both) for side in both]
    return beaten, {side.item.id: one.contests(side) for one, side in sides}


def _is_over(held: Held, field: ReplacementField) -> bool:
    """Whether an item was withdrawn, closed or explicitly replaced, or has ended."""
    end = held.item.valid.end
    return held.item.id in field.ended or (end is not None and end <= field.now)


def _known_at(event: Event, held: Held, rivals: Iterable[Held], field: ReplacementField) -> list[Held]:
    """The items that could have replaced an item for this reader at the time of an event."""
    return [
        rival
        for rival in rivals
        if rival.epoch < event.epoch
        and field.order.key(rival).start <= event.effective
        and _displaces(rival, held, field)
    ]


def _replacing(
    held: Held, best: Iterable[Sequence[Held]], ranked: Mapping[str, Rank], field: ReplacementField, reason: Reason
) -> tuple[Reason, Held] | None:
    """The replacement of an item: the highest settled rival above it, or else the last of those that contest its place.

    A contest counts from its last side: an overruling between the two knew one of them only. Saying a side again adds
    none.
    """
    sides: list[Held] = []
    for rival in _above(held, best, ranked, field):
        if not _displaces(rival, held, field):
            continue
        if rival.item.id not in field.contested:
            return reason, rival
        if not any(field.same.same(rival.item.id, side.item.id) for side in sides):
            sides.append(rival)
    return (Reason.SLOT_CONTESTED, max(sides, key=lambda side: ranked[side.item.id].since)) if sides else None


def _displaces(rival: Held, held: Held, field: ReplacementField) -> bool:
    """Whether a rival says something different and replaces the item for this reader."""
    same = field.same.same(held.item.id, rival.item.id)
    if same or not concerns(rival.item, held.item, field.reader) or not _takes_purposes(rival.item, held.item, field):
        return False
    return not field.policy.constrains(held.item) or _relieves(rival, held, field)


def _takes_purposes(new: Item, old: Item, field: ReplacementField) -> bool:
    """Whether a rival serves a purpose of the item.

    In a return for every purpose, an item without purposes stands beside a later one that names some: the other
    purposes need it, and the view says what the later one is for.
    """
    if field.purpose is not None or not new.purposes or type(old) is Frontier:
        return True
    return not set(new.purposes).isdisjoint(old.purposes)


def _relieves(rival: Held, held: Held, field: ReplacementField) -> bool:
    """Whether a rival takes the place of a constraint: another constraint, for everyone that the first one binds here.

    That of a writer who may not end the first one does so only while it is in force itself.
    """
    new, old = rival.item, held.item
    entitled = new.by == old.by or new.by in field.policy.evidence.overseers
    return (
        field.policy.constrains(new)
        and (entitled or not _is_over(rival, field))
        and _includes(new.scope.roles, old.scope.roles, field.reader.role)
        and _includes(new.purposes, old.purposes, field.purpose)
        and (rival.epoch > held.epoch or bool(field.order.own(held)))
    )


def _includes(new: Sequence[str], old: Sequence[str], here: str | None) -> bool:
    """Whether one list of names reaches this reader, or everybody whom another reaches. An empty one names all."""
    return not new or here in new or (bool(old) and set(old) <= set(new))


def _runs(best: Iterable[Held], field: ReplacementField) -> list[list[Held]]:
    """Rivals in their order; those in a row that make one statement, together."""
    return [list(run) for _, run in groupby(best, lambda rival: field.same.statement(rival.item.id))]


def _above(
    held: Held, best: Iterable[Sequence[Held]], ranked: Mapping[str, Rank], field: ReplacementField
) -> Iterator[Held]:
    """The rivals above an item that say something else."""
    own, said = ranked[held.item.id], field.same.statement(held.item.id)
    for run in best:
        if ranked[run[0].item.id] <= own:
            return
        if field.same.statement(run[0].item.id) != said:
            yield from (rival for rival in run if ranked[rival.item.id] > own)


def _competes(held: Held, task: str, field: ReplacementField) -> bool:
    """Whether an item was in force at some moment for this use. Otherwise it replaced nothing."""
    item = held.item
    return (
        item.id not in field.flawed
        and item.id not in field.lost
        and item.scope.task in (None, task)
        and (not item.applies_to or task in item.applies_to)
        and _serves(item, field)
        and _was_in_force(held, field)
    )


def _serves(item: Item, field: ReplacementField) -> bool:
    """A return without a purpose is for every purpose."""
    return not item.purposes or field.purpose is None or field.purpose in item.purposes


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
            case Revoke() | Forget() if event.effective < start:
                return False
    return True


def _marks(held: Held, field: ReplacementField) -> Iterator[Event]:
    """Causes against an item, and those against the same statement that the item's evidence does not answer."""
    yield from held.marks
    for other in field.same.marked(held.item.id):
        if other is not held:
            yield from (event for event in other.marks if not field.order.confirms(held, point_of(event)))

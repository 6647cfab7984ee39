"""Chooses a sufficient set: mandatory structure first, then the cover, then additional items.

Additional items are constraints, then drafts of what replaced a needed item, then further members of lists, then
filling.

Paper, "Cover obligations under a context budget": when no selection meets the required coverage, none is
issued. Every outcome other than ``found`` has its reason and the coverage that was reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.records.decisions import CoverageReport, Selection
from readmit.records.items import CONSTRAINTS, Item
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from readmit.rules.cover.budget import Room, cost
from readmit.rules.cover.coverage import report, required, sufficient, supported
from readmit.rules.cover.find import Covered, Deadline, find_cover
from readmit.rules.gate.constraints import statement

if TYPE_CHECKING:
    from readmit.rules.gate.duties import Duty


class Pool(msgspec.Struct, frozen=True):
    """The items that a set is chosen from."""

    evidence: tuple[Item, ...]
    """Eligible evidence in log order, facts before constraints."""
    newest: tuple[Item, ...]
    """The evidence in the order in which it fills the remaining budget."""
    policy: Policy
    deadline: Deadline = Deadline.AHEAD
    instead: Mapping[str, frozenset[str]] = {}
    """Drafts of what replaced an item: by id, the dependencies that the replaced item had met."""
    lists: frozenset[str] = frozenset()
    """Dependencies of which a view takes as many items as fit."""
    members: tuple[Item, ...] = ()
    """The evidence that meets one of them, newest first."""
    needless: frozenset[str] = frozenset()
    """Evidence in doubt that no cover needs."""
    latest: Mapping[str, Item] = {}
    """By dependency, the item that has to be in a view that needs it. It may be too long to be evidence."""


def choose(pool: Pool, duties: Sequence[Duty], absent: Sequence[str] = ()) -> Selection:
    """The set that covers all owed ``duties``. ``absent`` names what binds and is not eligible."""
    if not duties:
        return _unowed(pool, absent)
    evidence, policy = [item for item in pool.evidence if item.id not in pool.needless], pool.policy
    obligations = [duty.obligation for duty in duties]
    attainable = report(obligations, _met(required(obligations), evidence))
    if absent:
        return _refused(Reason.MANDATORY_MISSING, attainable, absent=absent)
    if not sufficient(attainable, policy):
        return _refused(Reason.COVERAGE_SHORT, attainable)
    mandatory = [record for duty in duties for record in duty.records]
    room = Room.of(policy).after(mandatory)
    latest = _latest(pool, required(obligations))
    if room.overdrawn or not _have_room(latest, room, policy):
        met = frozenset() if room.overdrawn else supported(evidence).difference(pool.latest)
        named = () if room.overdrawn else _ids(latest)
        return _refused(Reason.BUDGET_SHORT, report(obligations, met), absent=named)

    found = find_cover(evidence, obligations, policy, room, given=latest, deadline=pool.deadline)
    if found.outcome != "found":
        reason = Reason.COVER_UNDECIDED if found.outcome == "undecided" else Reason.BUDGET_SHORT
        return _refused(reason, report(obligations, supported((*latest, *found.items))), found)
    always = _always(pool)
    beside = _beyond(always, (*latest, *found.items))
    if room.after((*latest, *found.items, *beside)).overdrawn:
        # Constraints are included anyway, and the dependencies that they cover need no other item.
        given = (*latest, *_beyond(always, latest))
        again = find_cover(evidence, obligations, policy, room, given=given, deadline=pool.deadline)
        late = Deadline.met_by(found, again)
        if late > pool.deadline:
            # A replay knows that the deadline passed, but not in which of two searches, so both take this path.
            return choose(msgspec.structs.replace(pool, deadline=late), duties, absent)
        if again.outcome == "undecided":
            return _refused(Reason.COVER_UNDECIDED, report(obligations, supported((*given, *again.items))), again)
        if again.outcome == "infeasible":
            return _refused(Reason.BUDGET_SHORT, attainable, again, absent=_ids(beside))
        found, beside = again, _beyond(always, latest)
    found = msgspec.structs.replace(found, items=(*latest, *found.items))
    instead = _instead(pool, required(obligations), (*found.items, *beside), room)
    members = _members(pool, required(obligations), (*found.items, *beside, *instead), room)
    found = msgspec.structs.replace(found, items=(*found.items, *members))
    fill = _fill(pool.newest, (*found.items, *beside, *instead), room) if policy.returns.fill == "always" else ()
    selection = _selection(pool, mandatory, found, _Beside(beside, instead, fill))
    return msgspec.structs.replace(selection, report=report(obligations, supported(_chosen(pool, selection))))


def _met(needs: frozenset[str], evidence: Iterable[Item]) -> frozenset[str]:
    """The needs that some item meets. Usually a few items meet all of them."""
    open_ones = set(needs)
    for item in evidence:
        if not open_ones:
            break
        open_ones.difference_update(item.covers)
    return needs - open_ones


def _unowed(pool: Pool, absent: Sequence[str]) -> Selection:
    """The selection where no duty applies, as the policy decides."""
    nothing, room = report((), frozenset()), Room.of(pool.policy)
    if pool.policy.returns.fill == "block":
        return _refused(Reason.NOTHING_OWED, nothing)
    if absent:
        return _refused(Reason.MANDATORY_MISSING, nothing, absent=absent)
    always = _always(pool)
    if room.after(always).overdrawn:
        return _refused(Reason.BUDGET_SHORT, nothing, absent=_ids(always))
    fill = _fill(pool.newest, always, room) if pool.policy.returns.fill in ("always", "nothing_owed") else ()
    return _selection(pool, (), None, _Beside(always, fill=fill))


def _always(pool: Pool) -> tuple[Item, ...]:
    """Constraints that the policy includes whether or not a duty requires them."""
    if pool.policy.paper.constraints != "always":
        return ()
    constraints = [item for item in pool.evidence if type(item) in CONSTRAINTS]
    # A repeated constraint is handed over once, in its latest version.
    return tuple({statement(item): item for item in constraints}.values())


def _latest(pool: Pool, needs: frozenset[str]) -> tuple[Item, ...]:
    """The items that have to be in because each is the newest that meets one of these dependencies."""
    found = {item.id: item for need, item in pool.latest.items() if need in needs}
    return tuple(found[name] for name in sorted(found))


def _have_room(items: Sequence[Item], room: Room, policy: Policy) -> bool:
    return not room.after(items).overdrawn and all(item.length <= policy.budgets.item_chars for item in items)


def _beyond(items: Iterable[Item], taken: Iterable[Item]) -> tuple[Item, ...]:
    """The items that say what none of the others says."""
    known = {statement(item) for item in taken}
    return tuple(item for item in items if statement(item) not in known)


def _instead(pool: Pool, needed: frozenset[str], taken: Sequence[Item], room: Room) -> tuple[Item, ...]:
    """Drafts of what replaced a needed item, as far as the budget allows."""
    if not pool.instead:
        return ()
    replacing = [item for item in pool.evidence if not needed.isdisjoint(pool.instead.get(item.id, ()))]
    return _fill(replacing[::-1], taken, room)


def _members(pool: Pool, needed: frozenset[str], taken: Sequence[Item], room: Room) -> tuple[Item, ...]:
    """Further members of the lists among the needs: different texts, newest first, as far as the budget allows."""
    lists = pool.lists & needed
    if not lists:
        return ()
    said = {item.text for item in taken if not lists.isdisjoint(item.covers)}
    fresh = {item.text: item for item in reversed(pool.members) if not lists.isdisjoint(item.covers)}
    return _fill([item for item in reversed(fresh.values()) if item.text not in said], taken, room)


def _fill(newest: Sequence[Item], taken: Sequence[Item], room: Room) -> tuple[Item, ...]:
    """Further eligible evidence, newest first, as far as the budget allows, without duplicates."""
    room = room.after(taken)
    known = {item.id for item in taken}
    said = {statement(item) for item in taken}
    added: list[Item] = []
    for item in newest:
        if room.items < 1:
            break
        if item.id not in known and room.fits(item) and statement(item) not in said:
            added.append(item)
            said.add(statement(item))
            room = room.after([item])
    return tuple(added)


class _Beside(NamedTuple):
    """The items included beside the cover."""

    constraints: Sequence[Item]
    instead: Sequence[Item] = ()
    fill: Sequence[Item] = ()


def _selection(pool: Pool, mandatory: Sequence[Item], found: Covered | None, beside: _Beside) -> Selection:
    constraints, instead, fill = beside
    kept = {item.id for item in (*(() if found is None else found.items), *constraints, *instead, *fill)}
    # What is needed comes first. Members of a list stand together, the newest first.
    members = [item for item in pool.members if item.id in kept]
    rest = kept.difference(item.id for item in (*members, *fill))
    others = kept.difference(rest, (item.id for item in members))
    items = (
        *mandatory,
        *(item for item in pool.evidence if item.id in rest),
        *members,
        *(item for item in pool.evidence if item.id in others),
    )
    return Selection(
        outcome="found",
        items=_ids(items),
        mandatory=_ids(mandatory),
        constraints=_ids(constraints),
        instead=_ids(instead),
        fill=_ids(fill),
        cost=sum(map(cost, items)),
        chars=sum(item.length for item in items),
        solver="greedy" if found is None else found.solver,
        timed_out=found is not None and found.timed_out,
        report=report((), frozenset()),
    )


def _chosen(pool: Pool, selection: Selection) -> list[Item]:
    kept = frozenset(selection.items)
    return [item for item in pool.evidence if item.id in kept]


def _refused(
    reason: Reason, report: CoverageReport, found: Covered | None = None, *, absent: Sequence[str] = ()
) -> Selection:
    return Selection(
        outcome="undecided" if reason is Reason.COVER_UNDECIDED else "infeasible",
        solver="greedy" if found is None else found.solver,
        timed_out=found is not None and found.timed_out,
        reasons=(reason,),
        report=report,
        absent=tuple(absent),
    )


def _ids(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(item.id for item in items)

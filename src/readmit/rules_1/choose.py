"""The choice of a sufficient set: mandatory structure first, then greedy, then exact, as the policy says.

Paper, "Cover obligations under a context budget": when no selection meets the required coverage, none is
issued. Every way out other than ``found`` names its reason and the coverage that was reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.cover.budget import Room, cost
from readmit.cover.coverage import report, sufficient, supported
from readmit.cover.exact import exact
from readmit.cover.greedy import greedy
from readmit.records.decisions import Selection
from readmit.records.items import Item
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.records.decisions import CoverageReport
    from readmit.records.items import Obligation
    from readmit.records.policy import Policy


class _Cover(msgspec.Struct, frozen=True):
    """What the selectors came to together, and which of them."""

    outcome: Literal["found", "infeasible", "undecided"]
    items: tuple[Item, ...]
    solver: Literal["greedy", "exact"] = "greedy"
    timed_out: bool = False


def choose(
    *,
    evidence: Sequence[Item],
    obligations: Sequence[Obligation],
    mandatory: Sequence[Item],
    absent: Sequence[str],
    policy: Policy,
    timed_out: bool = False,
) -> Selection:
    """Select from eligible ``evidence`` (log order) what covers the ``obligations`` beside the ``mandatory`` records.

    ``absent`` names mandatory records that are not eligible. ``timed_out`` repeats a past decision whose solver
    met its deadline: the solver is not asked again.
    """
    attainable = report(obligations, supported(evidence))
    if absent:
        return _refused(Reason.MANDATORY_MISSING, attainable)
    if not sufficient(attainable, policy):
        return _refused(Reason.COVERAGE_SHORT, attainable)
    room = Room.of(policy).after(mandatory)
    if room.overdrawn:
        return _refused(Reason.BUDGET_SHORT, report(obligations, frozenset()))

    cover = _cover(evidence, obligations, policy, room, timed_out=timed_out)
    if cover.outcome != "found":
        reason = Reason.COVER_UNDECIDED if cover.outcome == "undecided" else Reason.BUDGET_SHORT
        return _refused(reason, report(obligations, supported(cover.items)), cover)

    fill = _fill(evidence, cover.items, room) if policy.fill else ()
    kept = set(_ids((*cover.items, *fill)))
    items = (*mandatory, *(item for item in evidence if item.id in kept))
    return Selection(
        outcome="found",
        items=_ids(items),
        mandatory=_ids(mandatory),
        fill=_ids(fill),
        cost=_cost(items),
        chars=sum(item.length for item in items),
        solver=cover.solver,
        timed_out=cover.timed_out,
        report=report(obligations, supported(items)),
    )


def _cover(
    evidence: Sequence[Item], obligations: Sequence[Obligation], policy: Policy, room: Room, *, timed_out: bool
) -> _Cover:
    """A sufficient set by the policy's selector, or the best that greedy reached.

    How far the search for the cheapest set gets by its deadline depends on the machine, so a set it has not proven
    cheapest is not used: what counts then is what would have counted without it.
    """
    best = greedy(evidence, obligations, policy, room)
    enough = sufficient(report(obligations, supported(best)), policy)
    if policy.selection == "cheapest" and not timed_out:
        cheapest = exact(evidence, obligations, policy, room)
        if cheapest.cheapest:
            return _Cover("found", cheapest.items, "exact")
        timed_out = cheapest.outcome != "infeasible"
    if enough:
        return _Cover("found", best, timed_out=timed_out)
    if policy.selection == "greedy":
        return _Cover("infeasible", best)
    if timed_out and policy.selection == "greedy_then_exact":
        return _Cover("undecided", best, "exact", timed_out=True)
    first = exact(evidence, obligations, policy, room, first=True)
    if first.outcome == "found":
        return _Cover("found", first.items, "exact", timed_out=timed_out)
    return _Cover(first.outcome, best, "exact", timed_out=timed_out or first.outcome == "undecided")


def _fill(evidence: Sequence[Item], chosen: Sequence[Item], room: Room) -> tuple[Item, ...]:
    """Eligible evidence beyond what coverage needs, newest first, as far as the remaining room allows."""
    taken = {item.id for item in chosen}
    room = room.after(chosen)
    added: list[Item] = []
    for item in reversed(evidence):
        if item.id not in taken and room.fits(item):
            added.append(item)
            room = room.after([item])
    return tuple(added)


def _refused(reason: Reason, report: CoverageReport, cover: _Cover | None = None) -> Selection:
    return Selection(
        outcome="undecided" if reason is Reason.COVER_UNDECIDED else "infeasible",
        solver="greedy" if cover is None else cover.solver,
        timed_out=cover is not None and cover.timed_out,
        reasons=(reason,),
        report=report,
    )


def _ids(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(item.id for item in items)


def _cost(items: Iterable[Item]) -> int:
    return sum(map(cost, items))

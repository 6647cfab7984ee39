"""The choice of a sufficient set: mandatory structure first, then greedy, then exact, as the policy says.

Paper, "Cover obligations under a context budget": when no selection meets the required coverage, none is
issued. Every way out other than ``found`` names its reason and the coverage that was reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from readmit.cover.coverage import report, sufficient, supported
from readmit.cover.exact import Cover, exact
from readmit.cover.greedy import greedy
from readmit.cover.room import Room, cost
from readmit.records.decisions import Selection
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.records.decisions import CoverageReport
    from readmit.records.items import Item, Obligation
    from readmit.records.policy import Policy

Solver = Literal["greedy", "exact"]


def choose(
    *,
    evidence: Sequence[Item],
    obligations: Sequence[Obligation],
    mandatory: Sequence[Item],
    absent: Sequence[str],
    policy: Policy,
    undecided: bool = False,
) -> Selection:
    """Select from eligible ``evidence`` (log order) what covers the ``obligations`` beside the ``mandatory`` records.

    ``absent`` names mandatory records that are not eligible. ``undecided`` repeats a past decision whose solver
    ran out of time: the solver is not asked again.
    """
    attainable = report(obligations, supported(evidence))
    if absent:
        return _refused(Reason.MANDATORY_MISSING, attainable)
    if not sufficient(attainable, policy):
        return _refused(Reason.COVERAGE_SHORT, attainable)
    room = Room.of(policy).after(mandatory)
    if room.overdrawn:
        return _refused(Reason.BUDGET_SHORT, report(obligations, frozenset()))

    chosen = greedy(evidence, obligations, policy, room)
    reached = report(obligations, supported(chosen))
    enough = sufficient(reached, policy)
    solver: Solver = "greedy"
    if policy.selection == "cheapest" or (policy.selection == "greedy_then_exact" and not enough):
        first = policy.selection == "greedy_then_exact"
        cover = Cover("undecided") if undecided else exact(evidence, obligations, policy, room, first=first)
        if cover.outcome == "undecided":
            return _refused(Reason.COVER_UNDECIDED, reached, "exact")
        # A sufficient set of greedy's stands against a search that its deadline cut short at a higher cost.
        if cover.outcome == "found" and not (enough and _cost(chosen) < _cost(cover.items)):
            solver, chosen, enough = "exact", cover.items, True
    if not enough:
        return _refused(Reason.BUDGET_SHORT, reached, "greedy" if policy.selection == "greedy" else "exact")

    fill = _fill(evidence, chosen, room) if policy.fill else ()
    kept = set(_ids((*chosen, *fill)))
    items = (*mandatory, *(item for item in evidence if item.id in kept))
    return Selection(
        outcome="found",
        items=_ids(items),
        mandatory=_ids(mandatory),
        fill=_ids(fill),
        cost=_cost(items),
        chars=sum(item.length for item in items),
        solver=solver,
        report=report(obligations, supported(items)),
    )


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


def _refused(reason: Reason, report: CoverageReport, solver: Solver = "greedy") -> Selection:
    outcome: Literal["infeasible", "undecided"] = "undecided" if reason is Reason.COVER_UNDECIDED else "infeasible"
    return Selection(outcome=outcome, solver=solver, reasons=(reason,), report=report)


def _ids(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(item.id for item in items)


def _cost(items: Iterable[Item]) -> int:
    return sum(map(cost, items))

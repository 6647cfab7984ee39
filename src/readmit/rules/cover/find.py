"""A sufficient set by the policy's selector: greedy first, then exact, or the cheapest."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.items import Item, Obligation
from readmit.rules.cover.coverage import report, sufficient, supported
from readmit.rules.cover.exact import exact
from readmit.rules.cover.greedy import greedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.policy import Policy
    from readmit.rules.cover.budget import Room


class Deadline(IntEnum):
    """Which searches are skipped: a replay repeats the timeouts of the first decision."""

    AHEAD = 0
    """None."""
    MET = 1
    """The search for the cheapest set, or for any set if that is the only search."""
    MET_BY_ALL = 2
    """Every search by the exact solver."""

    @classmethod
    def met_by(cls, *covers: Covered) -> Deadline:
        """The searches that a replay skips, given these outcomes."""
        if any(one.outcome == "undecided" for one in covers):
            return cls.MET_BY_ALL
        return cls.MET if any(one.timed_out for one in covers) else cls.AHEAD


class Covered(msgspec.Struct, frozen=True):
    """The selectors' combined result, and which of them found it."""

    outcome: Literal["found", "infeasible", "undecided"]
    items: tuple[Item, ...]
    solver: Literal["greedy", "exact"] = "greedy"
    timed_out: bool = False


def find_cover(
    evidence: Sequence[Item],
    obligations: Sequence[Obligation],
    policy: Policy,
    room: Room,
    *,
    given: Sequence[Item] = (),
    deadline: Deadline = Deadline.AHEAD,
) -> Covered:
    """A sufficient set within the budget beside what is ``given``, or the best that greedy reached.

    How far the search for the cheapest set gets by its deadline depends on the machine, so a set that is not proven
    cheapest is not used, and the result is the one without that search.
    """
    room = room.after(given)
    if room.overdrawn:
        return Covered("infeasible", ())
    taken, met = {item.id for item in given}, supported(given)
    if given:
        evidence = [item for item in evidence if item.id not in taken]
    best = greedy(evidence, obligations, policy, room, met=met)
    enough = sufficient(report(obligations, met | supported(best)), policy)
    late = deadline is not Deadline.AHEAD
    if policy.paper.selection == "cheapest" and not late:
        cheapest = exact(evidence, obligations, policy, room, met=met)
        if cheapest.cheapest:
            return Covered("found", cheapest.items, "exact")
        late = cheapest.outcome != "infeasible"
    if enough:
        return Covered("found", best, timed_out=late)
    if policy.paper.selection == "greedy":
        return Covered("infeasible", best)
    if deadline is Deadline.MET_BY_ALL or (late and policy.paper.selection == "greedy_then_exact"):
        return Covered("undecided", best, "exact", timed_out=True)
    first = exact(evidence, obligations, policy, room, first=True, met=met)
    if first.outcome == "found":
        return Covered("found", first.items, "exact", timed_out=late)
    return Covered(first.outcome, best, "exact", timed_out=late or first.outcome == "undecided")

"""Partial views: whole duties that can be handed over when not every duty is covered, if the policy allows it.

The duties with the most critical dependencies come first, then the oldest, as many as fit. Each is covered whole or
not handed over at all.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from readmit.records.decisions import CoverageReport, Selection
from readmit.records.reasons import Reason
from readmit.rules.cover.choose import Pool, choose
from readmit.rules.cover.coverage import critical, report, required, supported
from readmit.rules.cover.find import Deadline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.rules.gate.duties import Duties, Duty


def choose_whole_duties(pool: Pool, duties: Duties) -> Selection | None:
    """The set for as many whole duties as fit, or none if not one does.

    Once a solver runs into its deadline, greedy alone decides on every duty, so that a replay gives the same set. If
    greedy finds none, the outcome is undecided: with more time, the solver might have found one.
    """
    attainable = supported(pool.evidence)
    ready = [duty for duty in duties.whole if attainable.issuperset(duty.obligation.required)]
    # The sort is stable on log order: the oldest comes first among equals.
    ready.sort(key=lambda duty: -len(set(duty.obligation.critical)))
    chosen, late = _grow(pool, ready, duties.owed)
    if late:
        greedy = pool.policy.changed(paper={"selection": "greedy"})
        chosen, _ = _grow(msgspec.structs.replace(pool, policy=greedy, deadline=Deadline.AHEAD), ready, duties.owed)
    if chosen is None:
        return _undecided(duties, attainable) if late else None
    taken = frozenset(chosen.mandatory)
    withheld = tuple(duty.obligation.id for duty in duties.owed if duty.obligation.id not in taken)
    return msgspec.structs.replace(
        chosen,
        timed_out=late,
        withheld=withheld,
        report=_report(pool, duties, chosen, withheld),
    )


def _grow(pool: Pool, ready: Sequence[Duty], owed: Sequence[Duty]) -> tuple[Selection | None, bool]:
    """Add one duty after the other while a set exists. Also returns whether a solver ran into its deadline."""
    share = max(1, pool.policy.budgets.solver_milliseconds // max(1, len(ready)))
    strict = pool.policy.changed(
        paper={"gamma": Decimal(1), "rho": Decimal(1)},
        returns={"on_incomplete": "block"},
        budgets={"solver_milliseconds": share},
    )
    pool = msgspec.structs.replace(pool, policy=strict)
    best: Selection | None = None
    taken: list[Duty] = []
    if pool.deadline is not Deadline.AHEAD:
        return None, True
    for duty in ready:
        tried = choose(_without_the_rest(pool, [*taken, duty], owed), [*taken, duty])
        if tried.timed_out:
            return None, True
        if tried.outcome == "found":
            best, taken = tried, [*taken, duty]
    return best, False


def _without_the_rest(pool: Pool, taken: Sequence[Duty], owed: Sequence[Duty]) -> Pool:
    """The pool without fillers that belong to a withheld duty."""
    shown = required(duty.obligation for duty in taken)
    rest = required(duty.obligation for duty in owed) - shown
    filling = tuple(item for item in pool.newest if rest.isdisjoint(item.covers) or not shown.isdisjoint(item.covers))
    return msgspec.structs.replace(pool, newest=filling)


def _undecided(duties: Duties, attainable: frozenset[str]) -> Selection:
    return Selection(
        outcome="undecided",
        solver="exact",
        timed_out=True,
        reasons=(Reason.COVER_UNDECIDED,),
        report=report(duties.obligations, attainable),
        absent=duties.absent,
    )


def _report(pool: Pool, duties: Duties, chosen: Selection, withheld: tuple[str, ...]) -> CoverageReport:
    """Coverage of all owed duties: withheld ones are not covered, and missing lists what no eligible item supports."""
    kept = frozenset(chosen.items)
    shown = supported(item for item in pool.evidence if item.id in kept)
    vital = critical(duties.obligations)
    return CoverageReport(
        obligations=len(duties.obligations),
        covered=len(duties.obligations) - len(withheld),
        critical=len(vital),
        critical_covered=len(vital & shown),
        missing=tuple(sorted(required(duties.obligations) - supported(pool.evidence))),
        uncovered=withheld,
    )

"""The least-cost sufficient set as a mixed-integer program, solved by HiGHS (paper, equation of section "Cover").

    min Σ c(m)·x_m   s.t.   y_d ≤ Σ_{m supports d} x_m      a dependency is covered by a chosen item
                            z_o ≤ y_d  for d ∈ R_o          an obligation by all it requires
                            Σ z_o ≥ ⌈γ·|O|⌉,  Σ_{d ∈ K} y_d ≥ ⌈ρ·|K|⌉
                            Σ x_m ≤ B_n,  Σ ℓ(m)·x_m ≤ B_c

Only ``x`` is declared binary: for binary ``x`` the largest ``y`` and ``z`` are zero or one by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.error_types import ReadmitError
from readmit.records.items import Item, Obligation
from readmit.rules.cover.budget import Room, cost
from readmit.rules.cover.coverage import critical, least, report, required, sufficient, supported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from highspy import Highs

    from readmit.records.policy import Policy


class Cover(msgspec.Struct, frozen=True):
    """The solver's result. ``cheapest`` if it proved that no sufficient set costs less."""

    outcome: Literal["found", "infeasible", "undecided"]
    items: tuple[Item, ...] = ()
    cheapest: bool = False


def exact(
    evidence: Sequence[Item],
    obligations: Sequence[Obligation],
    policy: Policy,
    room: Room,
    *,
    first: bool = False,
    met: frozenset[str] = frozenset(),
) -> Cover:
    """A sufficient set within the budget, in log order; or the proof that none exists; or neither by the deadline.

    ``met`` names dependencies that are covered already.

    It is the cheapest set, or the cheapest found by the deadline. ``first`` stops at the first sufficient set. That is
    much faster and deterministic: the clock decides how far the search gets, not its path.
    """
    if sufficient(report(obligations, met), policy):
        return Cover("found", cheapest=True)
    candidates = undominated(evidence, required(obligations) - met, room)
    model = _model(candidates, obligations, policy, room, met)
    if first:
        model.setOptionValue("mip_max_improving_sols", 1)
    status, chosen = _solve(model, candidates)
    if status == "infeasible":
        return Cover("infeasible")
    # The solver works with tolerances, so its set is used only if it is sufficient in exact arithmetic.
    if room.after(chosen).overdrawn or not sufficient(report(obligations, met | supported(chosen)), policy):
        return Cover("undecided")
    if status == "optimal":
        return Cover("found", chosen, cheapest=True)
    return Cover("found", _irredundant(chosen, obligations, policy, met))


def _irredundant(
    chosen: tuple[Item, ...], obligations: Sequence[Obligation], policy: Policy, met: frozenset[str]
) -> tuple[Item, ...]:
    """The set without redundant items, dropping the costliest first."""
    for item in sorted(chosen, key=lambda item: (-cost(item), item.id)):
        rest = tuple(other for other in chosen if other is not item)
        if sufficient(report(obligations, met | supported(rest)), policy):
            chosen = rest
    return chosen


def undominated(evidence: Sequence[Item], relevant: frozenset[str], room: Room) -> tuple[Item, ...]:
    """The shortest of the items with the same relevant support: a second one only adds cost and length."""
    best: dict[frozenset[str], Item] = {}
    for item in evidence:
        supports = relevant.intersection(item.covers)
        if supports and room.fits(item):
            rival = best.setdefault(supports, item)
            if (item.length, item.id) < (rival.length, rival.id):
                best[supports] = item
    kept = {item.id for item in best.values()}
    return tuple(item for item in evidence if item.id in kept)


def _solve(
    model: Highs, candidates: Sequence[Item]
) -> tuple[Literal["optimal", "infeasible", "stopped"], tuple[Item, ...]]:
    from highspy import HighsModelStatus, HighsStatus, SolutionStatus

    if model.run() == HighsStatus.kError:
        raise ReadmitError(
            "exact cover: HiGHS refused to run; if this process also uses HiGHS with another number of threads, "
            "move that use to its own process, or set the policy's selection to 'greedy'"
        )
    status = model.getModelStatus()
    if status == HighsModelStatus.kInfeasible:
        return "infeasible", ()
    if model.getInfo().primal_solution_status != SolutionStatus.kSolutionStatusFeasible:
        return "stopped", ()
    values = model.getSolution().col_value[: len(candidates)]
    chosen = tuple(item for item, value in zip(candidates, values, strict=True) if round(value))
    return ("optimal" if status == HighsModelStatus.kOptimal else "stopped"), chosen


def _model(
    candidates: Sequence[Item],
    obligations: Sequence[Obligation],
    policy: Policy,
    room: Room,
    met: frozenset[str],
) -> Highs:
    """The program of the module's docstring. Its columns are x, then y, then z, each in a fixed order."""
    from highspy import Highs, HighsVarType, kHighsInf

    model = Highs()  # type: ignore[no-untyped-call]
    for option, value in _OPTIONS.items():
        model.setOptionValue(option, value)
    model.setOptionValue("time_limit", policy.budgets.solver_milliseconds / 1000)

    x = range(len(candidates))
    y = {dependency: len(x) + index for index, dependency in enumerate(sorted(required(obligations)))}
    z = range(len(x) + len(y), len(x) + len(y) + len(obligations))
    for price in (*map(cost, candidates), *(0 for _ in (*y, *z))):
        model.addCol(price, 0, 1, 0, [], [])
    for column in x:
        model.changeColIntegrality(column, HighsVarType.kInteger)

    def at_least(bound: int, columns: Sequence[int], factors: Sequence[int]) -> None:
        model.addRow(bound, kHighsInf, len(columns), list(columns), list(map(float, factors)))

    # Dependencies that are already met need no item.
    suppliers: dict[str, list[int]] = {dependency: [] for dependency in y if dependency not in met}
    for column, item in enumerate(candidates):
        for dependency in suppliers.keys() & set(item.covers):
            suppliers[dependency].append(column)
    for dependency, columns in suppliers.items():
        at_least(0, [*columns, y[dependency]], [1] * len(columns) + [-1])
    for column, obligation in zip(z, obligations, strict=True):
        for dependency in sorted(set(obligation.required)):
            at_least(0, [y[dependency], column], [1, -1])
    vital = [y[dependency] for dependency in sorted(critical(obligations))]
    at_least(least(policy.paper.gamma, len(obligations)), z, [1] * len(z))
    at_least(least(policy.paper.rho, len(vital)), vital, [1] * len(vital))
    at_least(-room.items, x, [-1] * len(x))
    at_least(-room.chars, x, [-item.length for item in candidates])
    return model


# One thread and one seed: the same program gives the same set. Costs are whole numbers, so a bound closer than
# one proves the optimum.
_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.5,
}

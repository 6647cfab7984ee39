"""A plan as a table with what has to be said under it, and as values for scripts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from readmit_bench.evaluation.plain_tables import plain_table
from readmit_bench.plans.estimate import Sum
from readmit_bench.plans.standin import ASSUMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit_bench.plans.estimate import Estimate
    from readmit_bench.plans.prices import Prices

HEAD = ("method", "role", "calls", "input", "output", "output at most", "to be asked", "cost")
ALL = "all, each request once"
UNKNOWN = "–"


@dataclass(frozen=True)
class PricedPlan:
    """Everything that a plan says."""

    study: str
    models: Mapping[str, str]
    made: Estimate
    prices: Prices | None = None

    def cost(self, one: Sum) -> float | None:
        """What has to be paid for some requests; None where no price is known."""
        price = None if self.prices is None else self.prices.of(self.models[one.role], one.role)
        return None if price is None else price.of(one.paid_input, one.paid_output)

    def total(self, sums: Sequence[Sum]) -> float | None:
        """The same of several; None as soon as one is unknown."""
        costs = [self.cost(one) for one in sums]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def by_role(sums: Sequence[Sum]) -> list[Sum]:
    """The stages of a method and role together."""
    groups: defaultdict[tuple[str, str], list[Sum]] = defaultdict(list)
    for one in sums:
        groups[one.method, one.role].append(one)
    return [_together(own, stage="") for own in groups.values()]


def _together(sums: Sequence[Sum], *, stage: str) -> Sum:
    numbers = [name.name for name in fields(Sum) if name.name not in ("method", "role", "stage", "recorded")]
    calls = sum(one.calls for one in sums)
    added = {name: sum(getattr(one, name) for one in sums) for name in numbers}
    recorded = sum(one.recorded * one.calls for one in sums) / calls
    return Sum(method=sums[0].method, role=sums[0].role, stage=stage, recorded=recorded, **added)


def table(plan: PricedPlan) -> str:
    """Methods by role, and all together with every request once."""
    rows = [_row(plan, one) for one in by_role(plan.made.sums)]
    if plan.made.sums:
        paid = sum(one.paid_input + one.paid_output for one in plan.made.sums)
        calls = sum(one.paid_calls for one in plan.made.sums)
        rows.append((ALL, "", _count(calls), "", "", "", _count(paid), _money(plan.total(plan.made.sums), plan)))
    return plain_table(HEAD, rows)


def _row(plan: PricedPlan, one: Sum) -> tuple[str, ...]:
    paid = one.paid_input + one.paid_output
    counts = (one.calls, one.input, one.output, one.most_output, paid)
    return (one.method, one.role, *map(_count, counts), _money(plan.cost(one), plan))


def notes(plan: PricedPlan) -> Iterator[str]:
    """How the figures were computed."""
    made = plan.made
    played = ", ".join(f"{made.played[name]} of {count:,} {name}" for name, count in made.episodes.items())
    yield f"Nothing was asked. Played with a stand-in and counted up: {played} episodes."
    recorded = _together(made.sums, stage="").recorded if made.sums else 0.0
    where = f"{100 * recorded:.0f} % of the calls have a recorded answer, which was used as it is"
    yield f"{where}; the others are estimates." if recorded else "No request has a recorded answer: all is estimated."
    how = "as in the recorded answers" if made.calibrated else "not measured"
    yield f"Prompt tokens: {made.chars_per_token:.2f} characters each ({how}); the prompts are the real ones."
    listed = ", ".join(f"{stage} {length:,.0f}" for stage, length in sorted(made.lengths.items()))
    yield f"Answer tokens by stage: {listed}. No tokens of thinking are in them unless they are in the records."
    yield f"Assumed: {'; '.join(ASSUMED)}."
    yield (
        "“To be asked” are the tokens of requests that no row above makes as well: those are paid for. Facts are "
        "ranked and pairs proposed by shared words here, not by the run's embedder, up to the same limits."
    )
    rounds = ", ".join(f"{method} {count}" for method, count in made.rounds.items())
    yield f"Rounds of answers through files, the judge's included, all episodes together: {rounds}."
    if plan.prices is None:
        yield "No prices were given (--prices): costs are not known."
    elif unknown := sorted({one.role for one in made.sums if plan.cost(one) is None}):
        yield f"No price is given for the model of: {', '.join(unknown)}."
    if made.left_out:
        yield f"Not planned, because a memory store asks by itself: {', '.join(made.left_out)}."
    for why, count in made.failed.items():
        yield f"Not played to its end {count} times: {why}"


def as_json(plan: PricedPlan) -> dict[str, Any]:
    """The whole plan for scripts, stage by stage."""
    made = plan.made
    return {
        "study": plan.study,
        "models": dict(plan.models),
        "currency": "" if plan.prices is None else plan.prices.currency,
        "stages": [{**msgspec.to_builtins(one), "cost": plan.cost(one)} for one in made.sums],
        "paid": {
            "calls": sum(one.paid_calls for one in made.sums),
            "input": sum(one.paid_input for one in made.sums),
            "output": sum(one.paid_output for one in made.sums),
            "cost": plan.total(made.sums),
        },
        "rounds": dict(made.rounds),
        "episodes": dict(made.episodes),
        "played": dict(made.played),
        "left_out": list(made.left_out),
        "failed": dict(made.failed),
        "chars_per_token": made.chars_per_token,
        "answer_tokens": dict(made.lengths),
        "notes": list(notes(plan)),
    }


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _money(cost: float | None, plan: PricedPlan) -> str:
    if cost is None:
        return UNKNOWN
    currency = plan.prices.currency if plan.prices is not None else ""
    return f"{cost:,.2f} {currency}".strip()

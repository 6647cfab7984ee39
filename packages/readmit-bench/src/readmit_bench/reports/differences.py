"""Paired differences between methods: the same episodes, resampled together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.intervals import interval_of
from readmit_bench.reports.run_scores import draw, scale_and_block, scale_values, scale_weights, values_of
from readmit_bench.reports.tables import ABSENT, UNRANKED, Cell, Table, columns_of, metric_name, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from readmit_bench.intervals import Floats
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.reports.tables import TableRow
    from readmit_bench.results import Result, RunPlan

REFERENCE, PAPER, OURS = "Static", "trace-paper", "readmit"
NOTE = (
    "Method minus reference in percentage points, over the episodes both have, blocks weighted equally; over scales, "
    "conditions by their episodes and scales equally, as in the paper's table. In brackets: "
    "95 % bootstrap interval of the paired difference; marked where it leaves out 0. The intervals are not "
    "corrected for how many comparisons there are."
)


def difference_tables(plan: RunPlan, scores: Sequence[Scored]) -> list[Table]:
    """Each method against its reference, for every sort of outcome with more than one method."""
    tables = []
    for scored in scores:
        if scored.agents is not None:
            continue  # the table by scales says it once
        rows = [row for pair in _pairs(plan) for row in _row(plan, scored, *pair)]
        metrics = _metrics(scored)
        if rows:
            names = [f"Δ {metric_name(scored, name)}" for name in metrics]
            columns = columns_of(("Method", "Reference"), ("n", *names))
            tables.append(Table(f"{scored.title}: paired differences", columns, tuple(rows), NOTE))
    return tables


def _pairs(plan: RunPlan) -> Iterator[tuple[str, str]]:
    """(method, reference): Static, on the same store where there are stores; the full pipeline for its ablations."""
    for method in plan.methods:
        store, slash, _ = method.partition("/")
        reference = f"{store}/{REFERENCE}" if slash else REFERENCE
        if reference in plan.methods and method != reference:
            yield method, reference
    for method in plan.methods:
        ablation = REFERENCE not in plan.methods and method.startswith("trace-without-")
        if PAPER in plan.methods and (ablation or method == OURS):
            yield method, PAPER


def _metrics(scored: Scored) -> list[str]:
    shown = [name for name in scored.kind.columns if any(name in line.scores for line in scored.lines)]
    return [name for name in shown if name not in {*UNRANKED, "wsar", "rsr"}]


def _row(plan: RunPlan, scored: Scored, method: str, reference: str) -> Iterator[TableRow]:
    ours, theirs = _common(scored, method, reference)
    if not ours:
        return
    here, there = (_values(scored, results) for results in (ours, theirs))
    drawn, drawn_there = (_drawn(scored, results, plan.seed) for results in (ours, theirs))
    cells = []
    for metric in _metrics(scored):
        if metric not in here or metric not in there:
            cells.append(Cell(ABSENT))
            continue
        text = f"{float(100 * (here[metric] - there[metric])):+.2f}"
        if metric not in drawn:
            cells.append(Cell(text))
            continue
        bounds = interval_of((100 * (drawn[metric] - drawn_there[metric])).tolist(), seed=plan.seed)
        clear = bounds.low > 0 or bounds.high < 0
        cells.append(Cell(text, f"{bounds.low:+.1f}", f"{bounds.high:+.1f}", marked=clear))
    yield row_of(method, reference, str(len(ours)), *cells)


def _values(scored: Scored, results: Sequence[Result]) -> dict[str, Fraction]:
    return scale_values(scored.kind, results) if scored.scales else values_of(scored.kind, results)


def _drawn(scored: Scored, results: Sequence[Result], seed: int) -> dict[str, Floats]:
    if scored.scales:
        return draw(scored.kind, results, seed=seed, weights=scale_weights(results), block=scale_and_block)
    return draw(scored.kind, results, seed=seed)


def _common(scored: Scored, method: str, reference: str) -> tuple[list[Result], list[Result]]:
    """The lines of both methods on the episodes that both have, in one order."""
    by = {name: {(r.episode, r.agents): r for r in scored.results if r.method == name} for name in (method, reference)}
    shared = [key for key in by[method] if key in by[reference]]
    return [by[method][key] for key in shared], [by[reference][key] for key in shared]

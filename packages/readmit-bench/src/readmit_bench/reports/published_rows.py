"""Finds the published row to compare a figure with. Published figures enter no average of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.published import published
from readmit_bench.reports.run_scores import AVERAGE, BOTH, POOLED
from readmit_bench.studies import study_named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from readmit_bench.published import PublishedTable
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.results import RunPlan

ADMITTING = ("trace-paper", "readmit", "readmit-lexical")
# Maps each published method to our comparable methods.
OURS = {
    "TRACE": ADMITTING,
    "TRACE without II": ("trace-without-ii",),
    "TRACE without OAS": ("trace-without-oas",),
    "TRACE without CVG": ("trace-without-cvg",),
    "TRACE without SBPR": ("trace-without-sbpr",),
}
FAMILIES = ("qwen", "gemini", "deepseek")
FIRST = "qwen"
_BLOCKS = {"average": (AVERAGE, BOTH), "aggregate": (AVERAGE, BOTH), "pooled": (POOLED, BOTH)}


@dataclass(frozen=True)
class Printed:
    """One row of the paper, with the label of its table."""

    method: str
    block: str
    """Our block to compare it with."""
    label: str
    actor: str
    values: dict[str, Decimal]
    n: int | None = None
    """Episodes, where the paper says how many."""

    def get(self, metric: str) -> float | None:
        """A metric in percent; tokens as a count."""
        return float(self.values[metric]) if metric in self.values else None


def family(plan: RunPlan) -> str | None:
    """The paper's actor of the same family as this run's, if any."""
    return next((name for name in FAMILIES if name in plan.models.get("actor", "").casefold()), None)


def printed_rows(plan: RunPlan, scored: Scored) -> list[Printed]:
    """The published rows of the methods and blocks in ``scored``, of the run's actor family where that is one."""
    if not scored.kind.judged or not study_named(plan.study).in_paper:
        return []
    ours = {line.method for line in scored.lines}
    if plan.study == "backends":
        return [row for row in _backends(scored) if row.method in ours]
    blocks = set(scored.blocks)
    rows = [row for table in _tables(plan, scored) for row in _rows(table, blocks)]
    return [row for row in rows if ours.intersection(OURS.get(row.method, (row.method,)))]


def _tables(plan: RunPlan, scored: Scored) -> list[PublishedTable]:
    study = study_named(plan.study)
    labels = benchmark_named(scored.benchmark).published if study.published is None else study.published
    if len(study.agents) > 1 and not scored.scales:
        labels = ()  # the paper's tables of scales are by scale
    tables = [published().table(label) for label in labels]
    wanted = family(plan)
    own = [table for table in tables if wanted and table.actor and wanted in table.actor.casefold()]
    return own or tables


def _rows(table: PublishedTable, blocks: set[str]) -> Iterator[Printed]:
    for row in table.rows:
        names = _BLOCKS.get(row.block.casefold(), (row.block.casefold(),))
        for block in names:
            if block in blocks:
                n = table.episodes.get(row.block)
                yield Printed(row.method, block, table.label, table.actor or "actor not named", row.values, n)
                break


def _backends(scored: Scored) -> Iterator[Printed]:
    """There the paper's blocks are stores, and its pairs are our two methods on one store."""
    table = published().table("tab:backend-portability")
    for row in table.rows:
        half = "Static" if row.method == "Static" else "readmit"
        for block in scored.blocks:
            yield Printed(f"{row.block}/{half}", block, table.label, table.actor or "", row.values)

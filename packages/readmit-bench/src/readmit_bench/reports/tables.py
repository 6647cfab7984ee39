"""Tables as values, and the score tables: our figures with intervals, the paper's rows beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named, benchmarks
from readmit_bench.intervals import interval_of
from readmit_bench.metrics import percent
from readmit_bench.published import published
from readmit_bench.reports.published_rows import printed_rows
from readmit_bench.reports.remarks import remarks
from readmit_bench.reports.run_scores import AGGREGATES
from readmit_bench.settings import Settings, overridden
from readmit_bench.studies import study_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit_bench.reports.published_rows import Printed
    from readmit_bench.reports.run_scores import Line, Scored
    from readmit_bench.results import RunPlan

NAMES = {
    "overall": "Overall ↑", "sr": "SR ↑", "pr": "PR ↑", "via": "VIA ↑", "iir": "IIR ↑", "wsar": "WSAR ↓", "ls": "LS ↑",
    "fama": "FAMA ↑", "w": "w", "rsr": "RSR ↓", "hm": "HM ↑", "tokens": "Tokens / episode ↓",
}  # fmt: skip
FALLING = {"wsar", "rsr", "tokens"}
UNRANKED = {"w"}
ABSENT = "n/a"
THIS_RUN = "this run"


@dataclass(frozen=True)
class Column:
    """A heading; numbers stand on the right, and only ``long`` texts are broken into lines."""

    name: str
    number: bool = True
    long: bool = False


@dataclass(frozen=True)
class Cell:
    """Text, the bounds under it, and whether it is to be marked."""

    text: str
    low: str = ""
    high: str = ""
    marked: bool = False

    @property
    def interval(self) -> str:
        """The bounds in brackets; nothing where there are none."""
        return f"[{self.low}, {self.high}]" if self.low else ""


@dataclass(frozen=True)
class TableRow:
    """A row; ``published`` is the label of the paper's table, for figures that are not ours."""

    cells: tuple[Cell, ...]
    published: str = ""
    starts: bool = False
    """The first row of a block."""


@dataclass(frozen=True)
class Table:
    """A table with what must be said under it. ``published``: the paper's own, as printed."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    note: str = ""
    published: str = ""


def row_of(*texts: str | Cell, starts: bool = False) -> TableRow:
    """A row of ours from plain texts."""
    return TableRow(tuple(one if isinstance(one, Cell) else Cell(one) for one in texts), starts=starts)


def columns_of(words: Iterable[str], numbers: Iterable[str]) -> tuple[Column, ...]:
    """Columns of words, then columns of numbers."""
    return (*(Column(name, number=False) for name in words), *(Column(name) for name in numbers))


def score_tables(plan: RunPlan, scores: Sequence[Scored]) -> list[Table]:
    """Every sort of outcome by block: our methods, then the paper's rows for the same block."""
    return [_score_table(plan, scored) for scored in scores]


def _score_table(plan: RunPlan, scored: Scored) -> Table:
    study, printed = study_named(plan.study), printed_rows(plan, scored)
    settings = overridden(Settings(), plan.settings)
    metrics = [name for name in scored.kind.columns if any(name in line.scores for line in scored.lines)]
    metrics += ["tokens"] if study.costs else []
    rows: list[TableRow] = []
    for block in in_order(scored.blocks):
        lines = [line for line in scored.lines if line.block == block]
        best = {metric: clearly_best(metric, lines, seed=plan.seed) for metric in metrics}
        for place, line in enumerate(lines):
            cells = [_cell(line, metric, marked=line.method == best[metric]) for metric in metrics]
            rows.append(row_of(block, line.method, THIS_RUN, str(line.n), *cells, starts=not place))
        for line in (one for one in scored.ceiling if one.block == block):
            cells = [_cell(line, metric, marked=False) for metric in metrics]
            rows.append(row_of(block, line.method, THIS_RUN, str(line.n), *cells))
        rows += [_printed_row(row, metrics) for row in printed if row.block == block]
    return Table(
        title=scored.title,
        columns=columns_of(("Block", "Method", "Source"), ("n", *(metric_name(scored, metric) for metric in metrics))),
        rows=tuple(rows),
        note=" ".join(
            said
            for said in (
                scored.kind.note,
                *remarks(study, scored, settings),
                _beside_note(scored, printed),
            )
            if said
        ),
    )


def metric_name(scored: Scored, metric: str) -> str:
    """A column's heading, with the benchmark's own name for the metric where it judges by it."""
    own = benchmark_named(scored.benchmark).metric_names if scored.kind.judged else {}
    return own.get(metric, NAMES[metric])


def in_order(blocks: Sequence[str]) -> list[str]:
    """Blocks in the paper's order, or as the data has them; aggregates last."""
    ordered = (*(block for one in benchmarks().values() for block in one.blocks), *AGGREGATES)
    known = [block for block in ordered if block in blocks]
    return [*(block for block in blocks if block not in known), *known]


def clearly_best(metric: str, lines: Sequence[Line], *, seed: int) -> str | None:
    """The method with the best figure of a block, if the interval of its lead over the next one leaves out zero.

    The lead is the paired difference over the same episodes. Where they are not the same, or there is no interval, no
    method is.
    """
    sign = -1 if metric in FALLING else 1
    known = [line for line in lines if metric in line.scores]
    if metric in UNRANKED or len(known) < 2:  # noqa: PLR2004  # the only figure is not the best of any
        return None
    first, second = sorted(known, key=lambda line: -sign * line.scores[metric].value)[:2]
    if first.episodes != second.episodes or metric not in first.draws:
        return None
    lead = interval_of((sign * (first.draws[metric] - second.draws[metric])).tolist(), seed=seed)
    return first.method if lead.low > 0 else None


def _figure(line: Line, metric: str) -> float | None:
    if metric == "tokens":
        return round(line.tokens)
    return percent(line.scores[metric].value) if metric in line.scores else None


def _cell(line: Line, metric: str, *, marked: bool) -> Cell:
    figure = _figure(line, metric)
    if figure is None:
        return Cell(ABSENT)
    if metric == "tokens":
        return Cell(f"{figure:,.0f}")
    bounds = line.scores[metric].interval
    low, high = ("", "") if bounds is None else (f"{100 * bounds.low:.1f}", f"{100 * bounds.high:.1f}")
    return Cell(f"{figure:.2f}", low, high, marked=marked)


def _printed_row(row: Printed, metrics: Sequence[str]) -> TableRow:
    figures = [row.values.get(metric) for metric in metrics]
    texts = (ABSENT if figure is None else f"{figure:,}" for figure in figures)
    return TableRow(
        tuple(map(Cell, (row.block, row.method, f"published, {row.label}", str(row.n or ""), *texts))),
        published=row.label,
    )


def _beside_note(scored: Scored, printed: Sequence[Printed]) -> str:
    said = "HM is the harmonic mean of VIA and IIR. In brackets: 95 % bootstrap interval over whole histories."
    if printed:
        actors = dict.fromkeys(f"{row.label} {row.actor}" for row in printed)
        return f"{said} Rows marked as published are the paper's and enter no average: {', '.join(actors)}."
    if scored.kind.judged and scored.agents is None:
        return f"{said} The paper prints no row for these methods and blocks."
    return said


def published_tables(names: Sequence[str]) -> list[Table]:
    """The paper's own tables for these benchmarks, whole, as printed."""
    return [_as_printed(table.label, benchmark=table.benchmark, actor=table.actor) for table in published().tables
            if table.benchmark in names]  # fmt: skip


def _as_printed(label: str, *, benchmark: str, actor: str | None) -> Table:
    table = next(
        one for one in published().tables if (one.label, one.benchmark, one.actor) == (label, benchmark, actor)
    )
    metrics = list(dict.fromkeys(name for row in table.rows for name in row.values))
    rows = []
    block = None
    for row in table.rows:
        texts = (f"{row.values[name]:,}" if name in row.values else ABSENT for name in metrics)
        cells = tuple(map(Cell, (row.block, row.method, *texts)))
        rows.append(TableRow(cells, published=label, starts=row.block != block))
        block = row.block
    own = benchmark_named(benchmark).metric_names
    names = [own.get(name, NAMES[name]) for name in metrics]
    title = f"{benchmark}, {actor}" if actor else benchmark
    return Table(title, columns_of(("Block", "Method"), names), tuple(rows), published=label)

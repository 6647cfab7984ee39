"""The paper's published tables as data, and where they do not add up.

``published.json`` holds figures only, each under the label of its table. ``discrepancies`` recomputes
every aggregate, identity and count the paper defines; a report prints what it finds beside the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.events import Record
from readmit.lab import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

Benchmark = Literal["memora", "stale", "manbench"]

# A printed figure is within half of its last digit; a mean of such figures, printed again, within a whole one.
ROUNDING = Decimal("0.01")
HALF_DIGIT = Decimal("0.005")
TOKEN_ROUNDING = Decimal(1)


class Aggregate(Record, frozen=True, kw_only=True):
    """Which block is the aggregate, and the weight of each other block in it."""

    block: str
    weights: dict[str, int]


class PublishedRow(Record, frozen=True, kw_only=True):
    """One method in one block, in percent (tokens per episode as a count)."""

    block: str
    method: str
    values: dict[str, Decimal]


class PublishedTable(Record, frozen=True, kw_only=True):
    """One printed table (``tab:main-results`` is kept as one table per benchmark and actor)."""

    label: str
    benchmark: Benchmark
    actor: str | None
    rows: tuple[PublishedRow, ...]
    aggregate: Aggregate | None = None
    episodes: dict[str, int] = msgspec.field(default_factory=dict)

    def row(self, block: str, method: str) -> PublishedRow | None:
        return next((r for r in self.rows if r.block == block and r.method == method), None)


class Published(Record, frozen=True, kw_only=True):
    """All tables, in the order of the file."""

    source: str
    tables: tuple[PublishedTable, ...]

    def table(self, label: str, *, benchmark: str | None = None, actor: str | None = None) -> PublishedTable:
        return next(
            t for t in self.tables if t.label == label and benchmark in (None, t.benchmark) and actor in (None, t.actor)
        )


@dataclass(frozen=True)
class Discrepancy:
    """A printed figure that its own table, or another, contradicts."""

    table: str
    actor: str | None
    block: str
    method: str
    metric: str
    printed: Decimal
    expected: str

    def __str__(self) -> str:
        where = " · ".join(part for part in (self.table, self.actor, self.block, self.method) if part)
        return f"{where}: {self.metric} is printed as {self.printed}, {self.expected}"


@cache
def published() -> Published:
    """The tables shipped with the package."""
    data = resources.files("readmit_bench").joinpath("published.json").read_bytes()
    return decode(data, Published, what="published.json")


def discrepancies(data: Published | None = None) -> tuple[Discrepancy, ...]:
    """Everything in the published tables that does not follow from the paper's own definitions."""
    data = data or published()
    found: list[Discrepancy] = []
    for table in data.tables:
        found += _aggregates(table)
        for row in table.rows:
            found += _identities(table, row)
            found += _counts(table, row)
    found += _across(data)
    return tuple(found)


def _note(table: PublishedTable, row: PublishedRow, metric: str, expected: str) -> Discrepancy:
    return Discrepancy(table.label, table.actor, row.block, row.method, metric, row.values[metric], expected)


def _aggregates(table: PublishedTable) -> Iterator[Discrepancy]:
    """An aggregate row against the weighted mean of its blocks, where all of them are printed."""
    if table.aggregate is None:
        return
    weights = table.aggregate.weights
    for row in (r for r in table.rows if r.block == table.aggregate.block):
        parts = {block: table.row(block, row.method) for block in weights}
        for metric, printed in row.values.items():
            values = {b: p.values[metric] for b, p in parts.items() if p is not None and metric in p.values}
            if len(values) < len(weights):
                continue
            mean = sum((values[b] * w for b, w in weights.items()), Decimal(0)) / sum(weights.values())
            if abs(mean - printed) > (TOKEN_ROUNDING if metric == "tokens" else ROUNDING):
                yield _note(table, row, metric, f"its blocks give {mean:.2f}")


def _identities(table: PublishedTable, row: PublishedRow) -> Iterator[Discrepancy]:
    """The identities of the appendix "Metric definitions", within one row."""
    v = row.values
    if {"overall", "sr", "pr", "via"} <= v.keys():
        mean = (v["sr"] + v["pr"] + v["via"]) / 3
        if abs(mean - v["overall"]) > ROUNDING:
            yield _note(table, row, "overall", f"the mean of SR, PR and IPA in its row is {mean:.2f}")
    for metric, bounds in (("iir", ("sr", "pr")), ("ls", ("iir", "via")), ("fama", ("via",))):
        for bound in bounds:
            if metric in v and bound in v and v[metric] > v[bound] + ROUNDING:
                yield _note(table, row, metric, f"which may not exceed {bound.upper()} = {v[bound]}")
    for metric, complement in (("wsar", "iir"), ("rsr", "overall")):
        if metric in v and complement in v and abs(100 - v[complement] - v[metric]) > ROUNDING:
            yield _note(table, row, metric, f"the complement of {complement.upper()} is {100 - v[complement]}")


def _counts(table: PublishedTable, row: PublishedRow) -> Iterator[Discrepancy]:
    """A share of n binary judgments is a whole number over n; some printed shares are not."""
    n = table.episodes.get(row.block)
    if n is None:
        return
    for metric, printed in row.values.items():
        if metric == "tokens":
            continue
        judgments = 3 * n if metric == "overall" else n
        nearest = Decimal(round(printed * judgments / 100)) * 100 / judgments
        # A table may round down what it should round up (28.125 printed as 28.12): allow the whole half digit.
        if abs(nearest - printed) > HALF_DIGIT:
            yield _note(table, row, metric, f"which is no count out of {judgments}; the nearest is {nearest:.2f}")


def _across(data: Published) -> Iterator[Discrepancy]:
    """The same figure printed in two tables."""
    for table in data.tables:
        for row in table.rows:
            for other, twin in _twins(data, table, row):
                for metric in sorted(row.values.keys() & twin.values.keys()):
                    if abs(row.values[metric] - twin.values[metric]) > 0:
                        yield _note(table, row, metric, f"{other.label} ({twin.block}) prints {twin.values[metric]}")
    scale, means = data.table("tab:agent-scale"), data.table("tab:agent-scale-average")
    for row in means.rows:
        for metric in ("overall", "via", "iir"):
            values = [r.values[metric] for r in scale.rows if r.method == row.method]
            mean = sum(values, Decimal(0)) / len(values)
            if abs(mean - row.values[metric]) > ROUNDING:
                yield _note(means, row, metric, f"the four scales give {mean:.2f}")


def _twins(data: Published, table: PublishedTable, row: PublishedRow) -> Iterator[tuple[PublishedTable, PublishedRow]]:
    if table.label == "tab:main-results":
        candidates = [
            (t, t.aggregate.block)
            for t in data.tables
            if t.benchmark == table.benchmark
            and t.actor == table.actor
            and t.aggregate is not None
            and t.label != "tab:stale-subset-buckets"
        ]
    elif table.label == "tab:stale-cost":
        candidates = [(data.table("tab:stale-subset-buckets"), "Aggregate")]
    elif table.label == "tab:stale-core-ablation":
        candidates = [(data.table("tab:qwen-stale"), "Pooled")]
    elif table.label == "tab:backend-portability" and row.block == "ScopedMem":
        candidates = [(data.table("tab:qwen-memora"), "50%")]
    else:
        return
    for other, block in candidates:
        twin = other.row(block, row.method)
        if twin is not None:
            yield other, twin

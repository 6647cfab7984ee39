"""A run as tables: our figures with intervals, what they took, and the published tables beside them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from readmit.bench.intervals import Sample, bootstrap
from readmit.bench.metrics import (
    average,
    harmonic_mean,
    manbench_values,
    memora_values,
    percent,
    pooled,
    score_manbench,
    score_memora,
    score_stale,
    stale_values,
)
from readmit.bench.published import published

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from readmit.bench.results import Plan, Result

NAMES = {
    "overall": "Overall", "sr": "SR", "pr": "PR", "ipa": "IPA", "via": "VIA", "iir": "IIR", "wsar": "WSAR",
    "ls": "LS", "fama": "FAMA", "rsr": "RSR", "tokens": "Tokens", "hm": "HM",
}  # fmt: skip
# Which published row a method of ours is to be read beside.
PUBLISHED_NAMES = {
    "trace-paper": "TRACE",
    "trace-without-ii": "TRACE without II",
    "trace-without-oas": "TRACE without OAS",
    "trace-without-cvg": "TRACE without CVG",
    "trace-without-sbpr": "TRACE without SBPR",
}
RESAMPLES = 1000
COST_NOTE = (
    "Failures stay in every denominator. The first time is the clock of the run that wrote the line, in which answers "
    "kept from before cost nothing; model time is the sum over all calls as they were first made, side by side or not, "
    "and zero where answers came by file."
)


@dataclass(frozen=True)
class Table:
    """Cells as text. ``published`` holds the label of the paper's table, for figures that are not ours."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    published: str = ""


@dataclass(frozen=True)
class Kind:
    """How one sort of outcome is scored and shown."""

    title: str
    pick: Callable[[Result], Any]
    score: Callable[[Sequence[Any]], Any]
    values: Callable[[Any], Mapping[str, Any]]
    columns: tuple[str, ...]
    note: str


KINDS = {
    "seen": Kind(
        "The view itself, without a judge",
        lambda result: result.seen,
        score_memora,
        memora_values,
        ("via", "iir"),
        "Share of statements that hold and are in the view (VIA) and of ended ones that are not (IIR), by literal "
        "match; HM is their harmonic mean.",
    ),
    "memora": Kind(
        "Answers, judged",
        lambda result: result.memora,
        score_memora,
        memora_values,
        ("overall", "via", "iir", "fama"),
        "",
    ),
    "stale": Kind(
        "Answers, judged",
        lambda result: result.stale,
        score_stale,
        stale_values,
        ("overall", "sr", "pr", "via", "iir", "ls"),
        "VIA is IPA (Dim3).",
    ),
    "manbench": Kind(
        "Admission of the two candidates",
        lambda result: result.manbench,
        score_manbench,
        manbench_values,
        ("overall", "via", "iir", "wsar", "rsr"),
        "",
    ),
}


def score_tables(plan: Plan, results: Sequence[Result]) -> list[Table]:
    """Each benchmark's figures by block, with the aggregate and its interval."""
    tables = []
    for benchmark in dict.fromkeys(result.benchmark for result in results):
        own = [result for result in results if result.benchmark == benchmark and result.eligible]
        for kind in KINDS.values():
            outcomes = [result for result in own if kind.pick(result) is not None]
            if outcomes:
                tables += _tables(plan, benchmark, kind, outcomes)
    return tables


def _tables(plan: Plan, benchmark: str, kind: Kind, results: Sequence[Result]) -> list[Table]:
    scales: list[int | None] = [*sorted({result.agents for result in results if result.agents is not None})] or [None]
    tables = []
    for scale in scales:
        own = [result for result in results if scale is None or result.agents == scale]
        title = f"{benchmark}: {kind.title}" + (f", {scale} active agents" if len(scales) > 1 else "")
        tables.append(_table(plan, title, kind, own))
    return tables


def _table(plan: Plan, title: str, kind: Kind, results: Sequence[Result]) -> Table:
    blocks = list(dict.fromkeys(result.block for result in results))
    shown = [name for name in kind.columns if _shows(kind, results, name)]
    rows = []
    for method in plan.methods:
        own = [result for result in results if result.method == method]
        if not own:
            continue
        scored = {b: kind.score([kind.pick(r) for r in own if r.block == b]) for b in blocks if _has(own, b)}
        for block, scores in scored.items():
            count = sum(result.block == block for result in own)
            rows.append((method, block, str(count), *_cells(scores, shown)))
        if len(scored) > 1:
            rows.append(
                (
                    method,
                    "average",
                    str(len(own)),
                    *_cells(average(scored), shown, _intervals(kind, own, shown, plan.seed)),
                )
            )
        if len(scored) > 1 and results[0].benchmark == "stale":
            counts = {b: (scores, sum(r.block == b for r in own)) for b, scores in scored.items()}
            rows.append((method, "pooled", str(len(own)), *_cells(pooled(counts), shown)))
    columns = ("Method", "Block", "n", *(NAMES[name] for name in shown), "HM")
    return Table(title, columns, tuple(rows), kind.note)


def _has(results: Sequence[Result], block: str) -> bool:
    return any(result.block == block for result in results)


def _shows(kind: Kind, results: Sequence[Result], name: str) -> bool:
    """Whether some block has a value of this metric. RSR has one on Old-Valid alone, and only with answers."""
    return any(kind.values(kind.pick(result)).get(name) is not None for result in results)


def _cells(scores: Any, shown: Sequence[str], intervals: Mapping[str, str] | None = None) -> tuple[str, ...]:
    cells = []
    for name in shown:
        value = getattr(scores, name)
        cells.append("n/a" if value is None else f"{percent(value):.2f}{(intervals or {}).get(name, '')}")
    return (*cells, f"{percent(harmonic_mean(scores.via, scores.iir)):.2f}")


def _intervals(kind: Kind, results: Sequence[Result], shown: Sequence[str], seed: int) -> dict[str, str]:
    found = {}
    for name in ("via", "iir", "overall"):
        samples = [
            Sample(result.unit, result.block, float(values[name]))
            for result in results
            if name in (values := kind.values(kind.pick(result))) and values[name] is not None
        ]
        if name in shown and samples:
            bounds = bootstrap(samples, seed=seed, resamples=RESAMPLES)
            found[name] = f" [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"
    return found


def cost_tables(plan: Plan, results: Sequence[Result]) -> list[Table]:
    """What the paper could not report: latency, calls, tokens per stage, refusals, failures, proposals."""
    rows, stages = [], []
    for method in plan.methods:
        own = [result for result in results if result.method == method and result.eligible]
        if not own:
            continue
        rows.append((method, *_costs(own)))
        totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for result in own:
            for stage in result.usage:
                for place, value in enumerate((stage.calls, stage.input, stage.output, stage.failed)):
                    totals[stage.stage][place] += value
        stages += [
            (method, stage, str(calls), f"{sent / len(own):.0f}", f"{got / len(own):.0f}", str(failed))
            for stage, (calls, sent, got, failed) in totals.items()
        ]
    columns = (
        "Method", "n", "ms / episode", "model ms / episode", "tokens / episode", "calls", "repairs", "peak context",
        "tokens / admitted row",
        "blocked", "failed", "pairs proposed", "confirmed", "true pair proposed", "true pair confirmed",
    )  # fmt: skip
    tables = [Table("What it took", columns, tuple(rows), COST_NOTE)]
    if stages:
        heads = ("Method", "Stage", "calls", "input / episode", "output / episode", "failed")
        tables.append(Table("Tokens per stage", heads, tuple(stages)))
    return tables


def _costs(own: Sequence[Result]) -> tuple[str, ...]:
    n = len(own)
    tokens = sum(result.tokens for result in own)
    admitted = sum(len(result.view.rows) for result in own if result.view is not None)
    findings = [finding for result in own if result.view is not None for finding in result.view.findings]
    known = [result.true_pair for result in own if result.true_pair]
    confirmed = sum(finding.answer == "invalidates" for finding in findings)
    return (
        str(n),
        f"{sum(result.milliseconds for result in own) / n:.0f}",
        f"{sum(stage.milliseconds for result in own for stage in result.usage) / n:.0f}",
        f"{tokens / n:.0f}",
        str(sum(stage.calls for result in own for stage in result.usage)),
        str(sum(result.repairs for result in own)),
        str(max(result.peak_context for result in own)),
        f"{tokens / admitted:.0f}" if admitted and tokens else "–",
        str(sum(result.view is not None and result.view.blocked for result in own)),
        str(sum(bool(result.failure) for result in own)),
        str(len(findings)) if findings else "–",
        str(confirmed) if findings else "–",
        _share(sum(one != "missed" for one in known), len(known)),
        _share(sum(one == "confirmed" for one in known), len(known)),
    )


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / whole:.0f} %)" if whole else "–"


def published_tables(benchmarks: Sequence[str], study: str) -> list[Table]:
    """The paper's own tables for these benchmarks, marked as published."""
    wanted = {
        "stale-cost": ("tab:stale-cost", "tab:stale-subset-buckets"),
        "scale": ("tab:agent-scale", "tab:agent-scale-average"),
        "ablations": ("tab:stale-core-ablation",),
    }.get(study)
    elsewhere = {
        "tab:stale-cost", "tab:stale-subset-buckets", "tab:agent-scale", "tab:agent-scale-average",
        "tab:stale-core-ablation", "tab:backend-portability", "tab:main-results",
    }  # fmt: skip
    found = []
    for table in published().tables:
        if table.benchmark not in benchmarks or (table.label not in wanted if wanted else table.label in elsewhere):
            continue
        names = list(dict.fromkeys(name for row in table.rows for name in row.values))
        rows = tuple((row.method, row.block, *(str(row.values.get(name, "–")) for name in names)) for row in table.rows)
        columns = ("Method", "Block", *(NAMES[name] for name in names))
        title = f"Published: {table.benchmark}" + (f", {table.actor}" if table.actor else "")
        found.append(Table(title, columns, rows, "", table.label))
    return found

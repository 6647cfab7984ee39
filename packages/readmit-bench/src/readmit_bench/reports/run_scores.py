"""A run's scores: every metric of every method in every block, with both aggregation rules and intervals."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from readmit_bench.intervals import Interval, Sample, interval_of, resampled
from readmit_bench.metrics import (
    average,
    harmonic_mean,
    manbench_values,
    memora_values,
    pooled,
    score_manbench,
    score_memora,
    score_stale,
    stale_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from readmit_bench.intervals import Floats
    from readmit_bench.results import Result, RunPlan

AVERAGE, POOLED, BOTH = "average", "pooled", "average = pooled"
AGGREGATES = (AVERAGE, POOLED, BOTH)
CEILING = "(ceiling of the checkpoint)"


@dataclass(frozen=True)
class Kind:
    """How one sort of outcome is scored and shown. ``judged`` figures can be read beside the paper's."""

    title: str
    pick: Callable[[Result], Any]
    score: Callable[[Sequence[Any]], Any]
    values: Callable[[Any], Mapping[str, Fraction]]
    columns: tuple[str, ...]
    note: str
    judged: bool = True
    most: Callable[[Result], Result | None] = lambda _: None
    """The line with the score of the best possible view of its checkpoint, if known."""


SEEN = Kind(
    "the view itself, without a judge",
    lambda result: result.seen,
    score_memora,
    memora_values,
    ("via", "iir", "wsar", "hm"),
    "By literal match and polarity: VIA is the share of statements that hold at return and that the view says, IIR the "
    "share of ended ones that it does not. The ceiling is an upper bound for every view that is drawn from the same "
    "checkpoint. The paper's figures are of judged answers, a different quantity: they stand in the "
    "appendix, not here.",
    judged=False,
    most=lambda result: None if result.reach is None else msgspec.structs.replace(result, seen=result.reach),
)
MEMORA = Kind(
    "answers, judged",
    lambda result: result.memora,
    score_memora,
    memora_values,
    ("overall", "via", "iir", "wsar", "w", "fama", "hm"),
    "VIA is the mean of P, IIR the mean of F over questions; w is the mean weight of forgetting, which is the data's.",
)
STALE = Kind(
    "answers, judged",
    lambda result: result.stale,
    score_stale,
    stale_values,
    ("overall", "sr", "pr", "via", "iir", "wsar", "ls", "hm"),
    "SR, PR and IPA are the tables' Dim1 to Dim3; VIA is IPA.",
)
MANBENCH = Kind(
    "admission of the two candidates",
    lambda result: result.manbench,
    score_manbench,
    manbench_values,
    ("overall", "via", "iir", "wsar", "rsr", "hm"),
    "RSR is defined on Old-Valid alone; Overall and RSR need answers.",
)
KINDS = (SEEN, MEMORA, STALE, MANBENCH)


@dataclass(frozen=True)
class Score:
    """One figure in [0, 1]. Where a block holds one unit alone, there is no interval."""

    value: Fraction
    interval: Interval | None


@dataclass(frozen=True)
class Line:
    """One method in one block, or over all of them. A metric the block does not define is absent."""

    method: str
    block: str
    n: int
    scores: Mapping[str, Score]
    tokens: float
    episodes: frozenset[tuple[str, int | None]] = frozenset()
    draws: Mapping[str, Floats] = field(default_factory=dict, compare=False, repr=False)
    """Each metric in every bootstrap draw: of two lines over the same episodes, the draws are the same."""

    def get(self, metric: str) -> float | None:
        """A metric in percent."""
        return float(100 * self.scores[metric].value) if metric in self.scores else None

    def bounds(self, metric: str) -> Interval | None:
        """Its interval in percent."""
        held = self.scores[metric].interval if metric in self.scores else None
        return None if held is None else dataclasses.replace(held, low=100 * held.low, high=100 * held.high)


@dataclass(frozen=True)
class Scored:
    """All lines of one sort of outcome. ``agents`` names one scale; ``scales`` says that scales are the blocks."""

    benchmark: str
    kind: Kind
    results: tuple[Result, ...]
    lines: tuple[Line, ...]
    agents: int | None = None
    scales: bool = False
    ceiling: tuple[Line, ...] = ()
    """The most that a view of the shared checkpoint could score, by block. It enters no comparison of methods."""

    @property
    def title(self) -> str:
        where = f", {self.agents} active agents" if self.agents else ", by active agents" if self.scales else ""
        return f"{self.benchmark}: {self.kind.title}{where}"

    @property
    def blocks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.block for line in self.lines))

    def line(self, method: str, *blocks: str) -> Line | None:
        """A method's line in the first of these blocks that there is."""
        return next((x for block in blocks for x in self.lines if (x.method, x.block) == (method, block)), None)

    def last(self, method: str) -> Line | None:
        """A method over all blocks, with equal weights; in its only block, if it has one."""
        own = [line for line in self.lines if line.method == method]
        return self.line(method, AVERAGE, BOTH) or (own[0] if len(own) == 1 else None)


def score_run(plan: RunPlan, results: Sequence[Result]) -> list[Scored]:
    """Everything that can be scored, by benchmark and sort of outcome. Lines that are not eligible count nowhere."""
    found: list[Scored] = []
    for benchmark in dict.fromkeys(result.benchmark for result in results):
        own = [result for result in results if result.benchmark == benchmark and result.eligible]
        for kind in KINDS:
            outcomes = [result for result in own if kind.pick(result) is not None]
            if outcomes:
                found += _by_scale(plan, benchmark, kind, outcomes)
    return found


def _by_scale(plan: RunPlan, benchmark: str, kind: Kind, results: Sequence[Result]) -> Iterator[Scored]:
    scales = sorted({result.agents for result in results if result.agents is not None})
    if len(scales) < 2:  # noqa: PLR2004  # one scale is no comparison of scales
        lines = tuple(_lines(plan.methods, kind, results, seed=plan.seed))
        yield Scored(benchmark, kind, tuple(results), lines, ceiling=tuple(_ceiling(plan, kind, results)))
        return
    by_scales: list[Line] = []
    for method in plan.methods:
        own = [result for result in results if result.method == method]
        by_scale = [[result for result in own if result.agents == scale] for scale in scales]
        by_scales += [
            aggregate(kind, method, str(r[0].agents), r, seed=plan.seed, weighted=True) for r in by_scale if r
        ]
        if own:
            draws = draw(kind, own, seed=plan.seed, weights=scale_weights(own), block=scale_and_block)
            by_scales.append(_line(method, AVERAGE, own, scale_values(kind, own), draws, seed=plan.seed))
    yield Scored(benchmark, kind, tuple(results), tuple(by_scales), scales=True)
    for scale in scales:
        at = tuple(result for result in results if result.agents == scale)
        yield Scored(benchmark, kind, at, tuple(_lines(plan.methods, kind, at, seed=plan.seed)), agents=scale)


def scale_and_block(result: Result) -> str:
    """A condition at a scale."""
    return f"{result.agents}/{result.block}"


def scale_values(kind: Kind, results: Sequence[Result]) -> dict[str, Fraction]:
    """Every metric over scales, as the paper's table pools: conditions by their episodes, then scales equally.

    (It prints 44.26 for a method that is right on every Old-Stale episode and on no other: that is their share.)
    """
    scales = {result.agents for result in results}
    parts = {str(scale): [result for result in results if result.agents == scale] for scale in scales}
    return _figures(kind, average({scale: _merged(kind, part, weighted=True) for scale, part in parts.items()}))


def scale_weights(results: Sequence[Result]) -> dict[str, float]:
    """The same as the weight of each condition at each scale."""
    at, counts = Counter(result.agents for result in results), Counter(map(scale_and_block, results))
    of = {scale_and_block(result): result.agents for result in results}
    return {name: count / at[of[name]] / len(at) for name, count in counts.items()}


def _ceiling(plan: RunPlan, kind: Kind, results: Sequence[Result]) -> Iterator[Line]:
    """All methods share an episode's checkpoint, so that each episode counts once."""
    found = {result.episode: most for result in results if (most := kind.most(result)) is not None}
    own = [msgspec.structs.replace(most, method=CEILING, usage=()) for most in found.values()]
    yield from _lines((CEILING,), kind, own, seed=plan.seed) if own else ()


def _lines(methods: Sequence[str], kind: Kind, results: Sequence[Result], *, seed: int) -> Iterator[Line]:
    counts = Counter((result.method, result.block) for result in results)
    same = len(set(counts.values())) == 1
    for method in methods:
        own = [result for result in results if result.method == method]
        blocks = list(dict.fromkeys(result.block for result in own))
        for name in blocks:
            yield aggregate(kind, method, name, [r for r in own if r.block == name], seed=seed)
        if len(blocks) > 1:
            yield aggregate(kind, method, BOTH if same else AVERAGE, own, seed=seed)
            if not same:
                yield aggregate(kind, method, POOLED, own, seed=seed, weighted=True)


def aggregate(
    kind: Kind,
    method: str,
    name: str,
    results: Sequence[Result],
    *,
    seed: int,
    weighted: bool = False,
    block: Callable[[Result], str] = lambda result: result.block,
) -> Line:
    """One method over some blocks: with equal weights, or weighted by their episode counts."""
    counts = Counter(block(result) for result in results)
    weights = {part: count / len(results) for part, count in counts.items()} if weighted else None
    draws = draw(kind, results, seed=seed, weights=weights, block=block)
    return _line(method, name, results, values_of(kind, results, weighted=weighted, block=block), draws, seed=seed)


def _line(
    method: str,
    name: str,
    results: Sequence[Result],
    values: Mapping[str, Fraction],
    draws: Mapping[str, Floats],
    *,
    seed: int,
) -> Line:
    return Line(
        method=method,
        block=name,
        n=len(results),
        scores={
            metric: Score(value, interval_of(draws[metric].tolist(), seed=seed) if metric in draws else None)
            for metric, value in values.items()
        },
        tokens=sum(result.tokens for result in results) / len(results),
        episodes=frozenset((result.episode, result.agents) for result in results),
        draws=draws,
    )


def values_of(
    kind: Kind,
    results: Sequence[Result],
    *,
    weighted: bool = False,
    block: Callable[[Result], str] = lambda result: result.block,
) -> dict[str, Fraction]:
    """Every metric that is defined in all of the blocks, exactly."""
    return _figures(kind, _merged(kind, results, weighted=weighted, block=block))


def _merged(
    kind: Kind,
    results: Sequence[Result],
    *,
    weighted: bool,
    block: Callable[[Result], str] = lambda result: result.block,
) -> Any:
    parts: dict[str, list[Result]] = {}
    for result in results:
        parts.setdefault(block(result), []).append(result)
    scores = {name: kind.score([kind.pick(r) for r in part]) for name, part in parts.items()}
    return pooled({name: (s, len(parts[name])) for name, s in scores.items()}) if weighted else average(scores)


def _figures(kind: Kind, merged: Any) -> dict[str, Fraction]:
    values = {metric: getattr(merged, metric) for metric in kind.columns if metric != "hm"}
    values["hm"] = harmonic_mean(merged.via, merged.iir)
    return {metric: value for metric, value in values.items() if value is not None}


def draw(
    kind: Kind,
    results: Sequence[Result],
    *,
    seed: int,
    weights: Mapping[str, float] | None = None,
    block: Callable[[Result], str] = lambda result: result.block,
) -> dict[str, Floats]:
    """Every metric in every bootstrap draw; nothing where a block has one history to draw from."""
    units = Counter(where for _, where in {(result.cluster, block(result)) for result in results})
    if min(units.values()) < 2:  # noqa: PLR2004  # drawing from one gives that one: certainty where there is none
        return {}
    valued = [(result.cluster, block(result), kind.values(kind.pick(result))) for result in results]
    found = {}
    for metric in kind.columns:
        if all(metric in values for _, _, values in valued):
            samples = [Sample(unit, where, float(values[metric])) for unit, where, values in valued]
            found[metric] = resampled(samples, seed=seed, weights=weights)
    via, iir = found["via"], found["iir"]
    total = via + iir
    total[total == 0] = 1  # both are zero there, and so is their harmonic mean
    return {**found, "hm": 2 * via * iir / total}

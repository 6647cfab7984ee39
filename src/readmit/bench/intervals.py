"""Bootstrap intervals, which the paper does not report: seeded, percentile, over whole units.

A unit is what was sampled independently: an episode on STALE and ManBench, a question on Memora,
where the same question runs at three departures and its three values must be drawn together.
Units are drawn within the set of blocks they occur in, so that no resample can empty a stratum.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit.records.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Sample:
    """One metric's value in one episode."""

    unit: str
    block: str
    value: float


@dataclass(frozen=True)
class Interval:
    """The bounds, and what is needed to draw them again."""

    low: float
    high: float
    level: float
    resamples: int
    seed: int


def bootstrap(
    samples: Sequence[Sample],
    *,
    seed: int,
    weights: Mapping[str, float] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
) -> Interval:
    """The interval of Σ ω_k·mean(block k). Without ``weights`` the blocks weigh the same."""
    if not samples:
        raise RecordError("samples: nothing to resample; the block holds no episode")
    if not 0 < level < 1:
        raise RecordError(f"level: {level} is not between 0 and 1; write 0.95 for 95 %")
    if resamples < 1:
        raise RecordError(f"resamples: {resamples} draws give no interval; use 1000")
    blocks = sorted({s.block for s in samples})
    omega = dict(weights) if weights is not None else {b: 1 / len(blocks) for b in blocks}
    if set(omega) != set(blocks):
        raise RecordError(f"weights: name exactly the blocks {blocks}; got {sorted(omega)}")
    strata = _strata(samples, blocks)
    # The order of the stream decides the draw, so strata and units are sorted.
    generator = random.Random(seed)  # noqa: S311  # statistics, not secrets
    means = sorted(_resampled_mean(generator, strata, blocks, omega) for _ in range(resamples))
    tail = (1 - level) / 2
    return Interval(_quantile(means, tail), _quantile(means, 1 - tail), level, resamples, seed)


_Unit = tuple[tuple[int, float, int], ...]  # (block number, sum, count) for each block the unit occurs in


def _strata(samples: Sequence[Sample], blocks: Sequence[str]) -> list[list[_Unit]]:
    number = {block: i for i, block in enumerate(blocks)}
    units: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        units[sample.unit][number[sample.block]].append(sample.value)
    strata: dict[tuple[int, ...], list[_Unit]] = defaultdict(list)
    for name in sorted(units):
        parts = units[name]
        strata[tuple(sorted(parts))].append(tuple((b, sum(parts[b]), len(parts[b])) for b in sorted(parts)))
    return [strata[key] for key in sorted(strata)]


def _resampled_mean(
    generator: random.Random, strata: Sequence[Sequence[_Unit]], blocks: Sequence[str], omega: Mapping[str, float]
) -> float:
    sums, counts = [0.0] * len(blocks), [0] * len(blocks)
    for stratum in strata:
        for unit in generator.choices(stratum, k=len(stratum)):
            for block, total, count in unit:
                sums[block] += total
                counts[block] += count
    return sum(omega[block] * sums[i] / counts[i] for i, block in enumerate(blocks))


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)

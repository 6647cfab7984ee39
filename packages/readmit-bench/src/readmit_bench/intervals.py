"""Bootstrap intervals, which the paper does not report: seeded, percentile, over whole units.

A unit is what was sampled independently: an episode on STALE and ManBench, a history on Memora, of which several
questions are asked, each at three departures: they share their conversations and must be drawn together.
Units are drawn within the set of blocks they occur in, so that no resample can empty a stratum.
The draw depends on the units and the seed alone: two metrics, or two methods on the same episodes,
are resampled alike, so what is computed from both draw by draw is paired.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from readmit.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 1000


@dataclass(frozen=True)
class Sample:
    """One metric's value in one episode."""

    unit: str
    block: str
    value: float


@dataclass(frozen=True)
class Interval:
    """The bounds, and the settings that draw them again."""

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
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """The interval of Σ ω_k·mean(block k). Without ``weights`` the blocks weigh the same."""
    means = resampled(samples, seed=seed, weights=weights, resamples=resamples)
    return interval_of(means.tolist(), seed=seed, level=level)


def interval_of(values: Iterable[float], *, seed: int, level: float = LEVEL) -> Interval:
    """The percentile interval of a statistic, given its value in every draw."""
    if not 0 < level < 1:
        raise RecordError(f"level: {level} is not between 0 and 1; write 0.95 for 95 %")
    ordered = sorted(values)
    tail = (1 - level) / 2
    return Interval(_quantile(ordered, tail), _quantile(ordered, 1 - tail), level, len(ordered), seed)


def resampled(
    samples: Sequence[Sample],
    *,
    seed: int,
    weights: Mapping[str, float] | None = None,
    resamples: int = RESAMPLES,
) -> Floats:
    """Σ ω_k·mean(block k) in every draw."""
    import numpy as np

    if not samples:
        raise RecordError("samples: nothing to resample; the block holds no episode")
    if resamples < 1:
        raise RecordError(f"resamples: {resamples} draws give no interval; use 1000")
    blocks = sorted({s.block for s in samples})
    omega = dict(weights) if weights is not None else {b: 1 / len(blocks) for b in blocks}
    if set(omega) != set(blocks):
        raise RecordError(f"weights: name exactly the blocks {blocks}; got {sorted(omega)}")
    strata = _strata(samples, blocks)
    sums = np.array([total for stratum in strata for total, _ in stratum])
    counts = np.array([count for stratum in strata for _, count in stratum])
    drawn = _draws(tuple(len(stratum) for stratum in strata), seed, resamples)
    means = (drawn @ sums) / (drawn @ counts)
    found: Floats = means @ np.array([omega[block] for block in blocks])
    return found


_Unit = tuple[list[float], list[int]]  # sum and count in each block


def _strata(samples: Sequence[Sample], blocks: Sequence[str]) -> list[list[_Unit]]:
    """Units by the set of blocks they occur in. The order decides the draw, so both are sorted."""
    number = {block: i for i, block in enumerate(blocks)}
    units: dict[str, _Unit] = defaultdict(lambda: ([0.0] * len(blocks), [0] * len(blocks)))
    for sample in samples:
        sums, counts = units[sample.unit]
        sums[number[sample.block]] += sample.value
        counts[number[sample.block]] += 1
    strata: dict[tuple[bool, ...], list[_Unit]] = defaultdict(list)
    for name in sorted(units):
        strata[tuple(count > 0 for count in units[name][1])].append(units[name])
    return [strata[key] for key in sorted(strata)]


# Cached, because a study needs the same few shapes repeatedly; each holds one number per draw and unit.
@lru_cache(maxsize=8)
def _draws(sizes: tuple[int, ...], seed: int, resamples: int) -> Floats:
    """How often each unit was drawn in each resample."""
    import numpy as np

    generator = random.Random(seed)  # noqa: S311  # statistics, not secrets
    drawn = np.zeros((resamples, sum(sizes)))
    for row in drawn:
        start = 0
        for size in sizes:
            row[start : start + size] = np.bincount(generator.choices(range(size), k=size), minlength=size)
            start += size
    return drawn


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)

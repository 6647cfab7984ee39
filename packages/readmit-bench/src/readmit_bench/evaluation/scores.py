"""Figures of a binary judge: rates, area under the curve, calibration; each rate with a bootstrap interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.95
BINS = 10


class IntervalEstimate(msgspec.Struct, frozen=True):
    """A figure and its 95 % percentile interval."""

    value: float
    low: float
    high: float


class Bin(msgspec.Struct, frozen=True):
    """One row of a reliability table: stated probability against observed share."""

    low: float
    high: float
    count: int
    said: float
    """Mean stated probability."""
    was: float
    """Share that held."""


def auc(positive: Floats, negative: Floats) -> float:
    """The chance that a positive scores above a negative; a tie counts half."""
    import numpy as np

    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, side="left")
    upto = np.searchsorted(ordered, positive, side="right")
    return float((below + upto).sum() / (2 * len(positive) * len(negative)))


def estimate_auc(chances: Sequence[float], labels: Sequence[bool], *, seed: int, resamples: int) -> IntervalEstimate:
    """Area under the ROC curve."""
    positive, negative = _split(chances, labels)
    return _bootstrap(positive, negative, auc, seed=seed, resamples=resamples)


def estimate_rates(
    confirmed: Sequence[bool], labels: Sequence[bool], *, seed: int, resamples: int
) -> tuple[IntervalEstimate, IntervalEstimate]:
    """True and false positive rate."""
    positive, negative = _split(confirmed, labels)
    return (
        _bootstrap(positive, negative, lambda ours, _: float(ours.mean()), seed=seed, resamples=resamples),
        _bootstrap(positive, negative, lambda _, theirs: float(theirs.mean()), seed=seed, resamples=resamples),
    )


def _split(values: Sequence[float], labels: Sequence[bool]) -> tuple[Floats, Floats]:
    import numpy as np

    array, mask = np.array(values, dtype=np.float64), np.array(labels, dtype=bool)
    return array[mask], array[~mask]


def _bootstrap(
    positive: Floats, negative: Floats, statistic: Callable[[Floats, Floats], float], *, seed: int, resamples: int
) -> IntervalEstimate:
    """Resample within each label, so that every sample has both."""
    import numpy as np

    generator = np.random.default_rng(seed)
    drawn = [
        statistic(generator.choice(positive, len(positive)), generator.choice(negative, len(negative)))
        for _ in range(resamples)
    ]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return IntervalEstimate(statistic(positive, negative), float(low), float(high))


def reliability(chances: Sequence[float], labels: Sequence[bool]) -> tuple[Bin, ...]:
    """Bins of equal width over the stated probability; empty ones are left out."""
    members: dict[int, list[tuple[float, bool]]] = {}
    for chance, label in zip(chances, labels, strict=True):
        members.setdefault(min(int(chance * BINS), BINS - 1), []).append((chance, label))
    return tuple(
        Bin(
            low=number / BINS,
            high=(number + 1) / BINS,
            count=len(held),
            said=sum(chance for chance, _ in held) / len(held),
            was=sum(label for _, label in held) / len(held),
        )
        for number, held in sorted(members.items())
    )


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error: the mean gap between stated and observed, weighted by cases."""
    total = sum(row.count for row in bins)
    return sum(row.count * abs(row.said - row.was) for row in bins) / total


def curve(chances: Sequence[float], labels: Sequence[bool]) -> list[tuple[float, float]]:
    """The ROC curve: false and true positive rate at every threshold, from strictest to laxest."""
    positive, negative = _split(chances, labels)
    points = [(0.0, 0.0)]
    points += [
        (float((negative >= threshold).mean()), float((positive >= threshold).mean()))
        for threshold in sorted(set(chances), reverse=True)
    ]
    return points

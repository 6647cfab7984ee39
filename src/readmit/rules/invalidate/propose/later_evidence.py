"""One scale for all signals and all targets: how far a pair stands out among the pairs of its own target.

A cosine of .4 is high for one statement and low for another, so raw scores of different targets cannot be compared.
Standard deviations above the target's other open pairs can, so pairs of all targets are ranked together. A target with
few open pairs borrows the distribution of the whole return.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from readmit.rules.invalidate.propose.candidates import Openings, Scored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


# A target with fewer pairs than this is padded with pairs from the distribution of the whole return.
ENOUGH = 8.0
# A smaller spread is rounding error: all pairs score the same.
ALIKE = 1e-6


class Spread:
    """Count, sum and sum of squares of the scores of one target, or of all."""

    __slots__ = ("count", "squares", "total")

    def __init__(self, count: float = 0.0, total: float = 0.0, squares: float = 0.0) -> None:
        self.count, self.total, self.squares = count, total, squares

    @classmethod
    def of(cls, scores: NDArray[np.float64]) -> Spread:
        return cls(float(len(scores)), math.fsum(scores), math.fsum(scores * scores))

    def plus(self, other: Spread, times: float = 1.0) -> Spread:
        return Spread(
            self.count + times * other.count, self.total + times * other.total, self.squares + times * other.squares
        )

    def above(self, score: float) -> float:
        """By how many standard deviations a score exceeds the mean."""
        mean = self.total / self.count
        deviation = math.sqrt(max(0.0, self.squares / self.count - mean * mean))
        return (score - mean) / deviation if deviation > ALIKE else 0.0


def standing_out(found: Mapping[int, tuple[Spread, Sequence[tuple[int, float]]]]) -> list[Scored]:
    """Per target, the spread of all its scores and the best of them by observation: the same on the common scale."""
    whole = Spread()
    for spread, _ in found.values():
        whole = whole.plus(spread)
    scored: list[Scored] = []
    for row, (spread, best) in found.items():
        beside = spread.plus(whole, max(0.0, ENOUGH - spread.count) / whole.count)
        # Sums differ in their last digits between machines; scores that tie must tie everywhere.
        scored += [Scored(row, column, round(beside.above(score), 4)) for column, score in best]
    return scored


def named(openings: Openings, places: Iterable[tuple[int, int]]) -> list[Scored]:
    """Pairs that a signal names explicitly. Being one of many of a target is weaker than being the only one."""
    rows: dict[int, list[int]] = {}
    for row, column in places:
        rows.setdefault(row, []).append(column)
    scored: list[Scored] = []
    for row, columns in sorted(rows.items()):
        count = float(len(columns))
        beside = Spread(float(openings.open[row].sum()) + ENOUGH, count, count)
        scored += [Scored(row, column, round(beside.above(1.0), 4)) for column in sorted(columns)]
    return scored

"""Signals from vectors: nearness of whole texts, and of premises to implied facts. Exact, by brute force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit.invalidate.propose.candidates import Openings, Scored, Signal
from readmit.invalidate.propose.vectors import Center, centered, deepest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


# Targets compared at once: bounds the memory that a large workspace takes.
BLOCK = 64


@dataclass(frozen=True)
class Embeddings:
    """The best cosine between any window of the item's text and any window of the observation's."""

    items: Mapping[str, Matrix]
    evidence: Mapping[str, Matrix]
    """Rows of one text are its windows."""
    center: Center | None = None

    signal = Signal.EMBEDDING

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        return list(_nearest(openings, self.items, self.evidence, self.center, best=1, depth=depth))


@dataclass(frozen=True)
class Passages:
    """The best cosine between any passage of the item's text and any passage of the observation's."""

    items: Mapping[str, Matrix]
    evidence: Mapping[str, Matrix]
    """Rows of one text are its passages: a sentence or two each."""
    center: Center | None = None

    signal = Signal.PASSAGE

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        return list(_nearest(openings, self.items, self.evidence, self.center, best=1, depth=depth))


@dataclass(frozen=True)
class ImpliedFacts:
    """The mean of the three best cosines between premises of the item and facts that the observation implies.

    Both sides are written once, each from one text alone, and reused by every return.
    """

    premises: Mapping[str, Matrix]
    facts: Mapping[str, Matrix]
    center: Center | None = None
    best: int = 3

    signal = Signal.IMPLIED_FACTS

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        return list(_nearest(openings, self.premises, self.facts, self.center, best=self.best, depth=depth))


def _nearest(
    openings: Openings,
    ours: Mapping[str, Matrix],
    theirs: Mapping[str, Matrix],
    center: Center | None,
    *,
    best: int,
    depth: int,
) -> Iterator[Scored]:
    import numpy as np

    columns = [n for n, seen in enumerate(openings.observations) if len(theirs.get(seen.evidence, ()))]
    rows = [n for n, target in enumerate(openings.targets) if len(ours.get(target.item, ()))]
    if not columns or not rows:
        return
    matrices = [theirs[openings.observations[column].evidence] for column in columns]
    stacked = centered(np.concatenate(matrices), center).T
    slots = _padded([len(matrix) for matrix in matrices])
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        own = [ours[openings.targets[row].item] for row in block]
        # The last column is what padding reads: -inf never counts among the best.
        nearness = np.full((sum(map(len, own)), stacked.shape[1] + 1), -np.inf, dtype=np.float32)
        np.matmul(centered(np.concatenate(own), center), stacked, out=nearness[:, :-1])
        ends = np.cumsum([len(matrix) for matrix in own])
        for row, end, matrix in zip(block, ends, own, strict=True):
            usable = np.flatnonzero(openings.open[row, columns])
            if not usable.size:
                # All that this item could still be paired with has no vectors.
                continue
            table = nearness[end - len(matrix) : end].T[slots[usable]].reshape(len(usable), -1)
            scores = np.full(len(columns), -np.inf)
            # Sums differ in their last digits between machines; scores that tie must tie everywhere.
            scores[usable] = _mean_of_best(table, best).round(5)
            for place in deepest(scores, depth):
                yield Scored(row, columns[place], round(float(scores[place]), 5))


def _padded(lengths: Sequence[int]) -> NDArray[np.intp]:
    """Row ``j`` holds the positions of observation ``j``'s vectors in the stack, padded with -1."""
    import numpy as np

    table = np.full((len(lengths), max(lengths)), -1, dtype=np.intp)
    start = 0
    for number, length in enumerate(lengths):
        table[number, :length] = np.arange(start, start + length)
        start += length
    return table


def _mean_of_best(table: Matrix, best: int) -> NDArray[np.float64]:
    """Per row, the mean of its largest finite values. Taking the maximum a few times beats sorting narrow rows."""
    import numpy as np

    if best == 1:
        highest: NDArray[np.float64] = table.max(axis=1).astype(np.float64)
        return highest
    rows = np.arange(len(table))
    total, count = np.zeros(len(table)), np.zeros(len(table))
    for _ in range(min(best, table.shape[1])):
        place = table.argmax(axis=1)
        largest = table[rows, place]
        real = np.isfinite(largest)
        total += np.where(real, largest, 0.0)
        count += real
        table[rows, place] = -np.inf
    mean: NDArray[np.float64] = total / count
    return mean

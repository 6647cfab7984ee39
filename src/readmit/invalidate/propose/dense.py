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
    if not columns:
        return
    matrices = [theirs[openings.observations[column].evidence] for column in columns]
    stacked = centered(np.concatenate(matrices), center)
    slots = _padded([len(matrix) for matrix in matrices])
    for row, target in enumerate(openings.targets):
        own = ours.get(target.item)
        if own is None or not len(own):
            continue
        usable = np.flatnonzero(openings.open[row, columns])
        # The pad position reads a column of -inf, which never counts among the best.
        nearness = np.hstack([centered(own, center) @ stacked.T, np.full((len(own), 1), -np.inf)])
        table = nearness[:, slots[usable]].transpose(1, 0, 2).reshape(len(usable), -1)
        scores = np.full(len(columns), -np.inf)
        # Sums differ in their last digits between machines; scores that tie must tie everywhere.
        scores[usable] = _mean_of_best(table, best).round(6)
        for place in deepest(scores, depth):
            yield Scored(row, columns[place], float(scores[place]))


def _padded(lengths: Sequence[int]) -> NDArray[np.intp]:
    """Row ``j`` holds the positions of observation ``j``'s vectors in the stack, padded with -1."""
    import numpy as np

    table = np.full((len(lengths), max(lengths)), -1, dtype=np.intp)
    start = 0
    for number, length in enumerate(lengths):
        table[number, :length] = np.arange(start, start + length)
        start += length
    return table


def _mean_of_best(table: NDArray[np.float64], best: int) -> NDArray[np.float64]:
    import numpy as np

    width = table.shape[1]
    top = np.partition(table, width - best, axis=1)[:, -best:] if width > best else table
    real = np.isfinite(top)
    mean: NDArray[np.float64] = np.where(real, top, 0.0).sum(axis=1) / real.sum(axis=1)
    return mean

"""Signals from vectors: nearness of whole texts, of sentences, and of premises to implied facts. Exact search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit.rules.invalidate.propose.candidates import Openings, Scored, Signal
from readmit.rules.invalidate.propose.later_evidence import Spread, standing_out
from readmit.rules.invalidate.propose.vectors import NOTHING, Center, centered, deepest, sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Exact = NDArray[np.float64]

    Pooled = Callable[[Matrix, NDArray[np.intp]], Exact]
    """From one target's similarities to the vectors of several observations, and their counts: a score for each."""


# Targets compared at once: limits memory in a large workspace.
BLOCK = 64
# How many nearest neighbors measure how close a text is to all others.
NEIGHBORS = 10
# How many cosines of premises and implied facts are averaged.
BEST = 3
# Probabilities are kept away from 0 and 1, where the logarithm is infinite.
ALMOST = 1.0 - 1e-12
IMPOSSIBLE = 1e-300


@dataclass(frozen=True)
class Embeddings:
    """The best cosine between windows of the two texts, minus how near each is to its other neighbors.

    Windows that are near to many others are hubs: they match every target and discriminate none.
    """

    items: Mapping[str, Matrix]
    evidence: Mapping[str, Matrix]
    """Rows of one text are its windows."""
    center: Center | None = None

    signal = Signal.EMBEDDING

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        import numpy as np

        ours, theirs = _each(self.items, self.center), _each(self.evidence, self.center)
        if not ours or not theirs:
            return []
        around = sampled(np.concatenate(list(theirs.values())))
        here = {name: _less_neighbors(matrix, around, first=True) for name, matrix in ours.items()}
        there = {name: _less_neighbors(matrix, around, first=False) for name, matrix in theirs.items()}
        return _nearest(openings, here, there, _best, depth)


@dataclass(frozen=True)
class Passages:
    """How unlikely it is that the two nearest sentences of item and observation are this near by chance.

    The similarity of two sentences is measured against each one's similarity to all sentences, so that generic phrases
    score low. The score also corrects for the number of sentence pairs, since the best of many is high by chance.
    """

    items: Mapping[str, Matrix]
    evidence: Mapping[str, Matrix]
    """Rows of one text are its sentences."""
    center: Center | None = None

    signal = Signal.PASSAGE

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        import numpy as np

        ours, theirs = _each(self.items, self.center), _each(self.evidence, self.center)
        if not ours or not theirs:
            return []
        around = sampled(np.concatenate(list(theirs.values())))
        here, there = ({name: _beside(matrix, around) for name, matrix in side.items()} for side in (ours, theirs))
        return _nearest(openings, here, there, _unlikely, depth)


@dataclass(frozen=True)
class ImpliedFacts:
    """The mean of the three best cosines between premises of the item and facts that the observation implies.

    Both sides are generated once, each from one text alone, and reused by every return.
    """

    premises: Mapping[str, Matrix]
    facts: Mapping[str, Matrix]
    center: Center | None = None

    signal = Signal.IMPLIED_FACTS

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        ours, theirs = _each(self.premises, self.center), _each(self.facts, self.center)
        return _nearest(openings, ours, theirs, _best_three, depth)


def _each(texts: Mapping[str, Matrix], center: Center | None) -> dict[str, Matrix]:
    """Every text's rows centered, sorted by name so that samples do not depend on the order of input."""
    return {name: centered(matrix, center) for name, matrix in sorted(texts.items()) if len(matrix)}


def _less_neighbors(matrix: Matrix, around: Matrix, *, first: bool) -> Matrix:
    """Two more columns: the product of two such rows is twice their cosine, minus the usual nearness of each."""
    import numpy as np

    near = -np.sort(-(matrix @ around.T), axis=1)
    # The nearest neighbor is often the text itself, or the pair being searched for.
    usual = near[:, 1 : NEIGHBORS + 1]
    level = usual.mean(axis=1, keepdims=True) if usual.size else np.zeros((len(matrix), 1), dtype=np.float32)
    more = [-level, np.ones_like(level)]
    wide: Matrix = np.hstack([matrix * np.float32(math.sqrt(2.0)), *(more if first else more[::-1])])
    return wide


def _beside(matrix: Matrix, around: Matrix) -> Matrix:
    """Rows scaled so that their product is in standard deviations of each row's similarity to all others."""
    import numpy as np

    spread = np.sqrt(np.mean((matrix @ around.T).astype(np.float64) ** 2, axis=1, keepdims=True))
    scaled: Matrix = (matrix / np.sqrt(np.maximum(spread, NOTHING))).astype(np.float32)
    return scaled


def _nearest(
    openings: Openings, ours: Mapping[str, Matrix], theirs: Mapping[str, Matrix], pooled: Pooled, depth: int
) -> list[Scored]:
    import numpy as np

    columns = [n for n, seen in enumerate(openings.observations) if seen.evidence in theirs]
    rows = [n for n, target in enumerate(openings.targets) if target.item in ours]
    if not columns or not rows:
        return []
    matrices = [theirs[openings.observations[column].evidence] for column in columns]
    stacked = np.concatenate(matrices).T
    lengths = np.array([len(matrix) for matrix in matrices], dtype=np.intp)
    slots = _padded(lengths)
    found: dict[int, tuple[Spread, list[tuple[int, float]]]] = {}
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        own = [ours[openings.targets[row].item] for row in block]
        # The last column is what padding reads: -inf never counts among the best.
        nearness = np.full((sum(map(len, own)), stacked.shape[1] + 1), -np.inf, dtype=np.float32)
        np.matmul(np.concatenate(own), stacked, out=nearness[:, :-1])
        ends = np.cumsum([len(matrix) for matrix in own])
        for row, end, matrix in zip(block, ends, own, strict=True):
            usable = np.flatnonzero(openings.open[row, columns])
            if not usable.size:
                # None of this item's open observations has vectors.
                continue
            table = nearness[end - len(matrix) : end].T[slots[usable]].reshape(len(usable), -1)
            scores = np.full(len(columns), -np.inf)
            scores[usable] = pooled(table, lengths[usable] * len(matrix)).round(5)
            best = [(columns[place], float(scores[place])) for place in deepest(scores, depth)]
            found[row] = Spread.of(scores[usable]), best
    return standing_out(found)


def _padded(lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """Row ``j`` holds the positions of observation ``j``'s vectors in the stack, padded with -1."""
    import numpy as np

    table = np.full((len(lengths), lengths.max()), -1, dtype=np.intp)
    start = 0
    for number, length in enumerate(lengths):
        table[number, :length] = np.arange(start, start + length)
        start += length
    return table


def _best(table: Matrix, counts: NDArray[np.intp]) -> Exact:  # noqa: ARG001 - the best of however many
    import numpy as np

    highest: Exact = table.max(axis=1).astype(np.float64)
    return highest


def _unlikely(table: Matrix, counts: NDArray[np.intp]) -> Exact:
    """The negative log probability that the best of this many is this high by chance."""
    import numpy as np

    one = np.array([0.5 * math.erfc(highest / math.sqrt(2.0)) for highest in table.max(axis=1).tolist()])
    some = -np.expm1(counts * np.log1p(-np.minimum(one, ALMOST)))
    surprise: Exact = -np.log(np.maximum(some, IMPOSSIBLE))
    return surprise


def _best_three(table: Matrix, counts: NDArray[np.intp]) -> Exact:
    """The mean of the three best, or of as many as there are. Taking the maximum three times is faster than sorting."""
    import numpy as np

    rows = np.arange(len(table))
    total = np.zeros(len(table))
    for taken in range(min(BEST, table.shape[1])):
        place = table.argmax(axis=1)
        total += np.where(counts > taken, table[rows, place], 0.0)
        table[rows, place] = -np.inf
    mean: Exact = total / np.minimum(counts, BEST)
    return mean

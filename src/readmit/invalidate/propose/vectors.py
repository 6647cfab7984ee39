"""Exact search over vectors of length one.

Texts of one workspace share a tone, and the shared part drowns what tells them apart: a chat looks like a chat.
``Center`` is that shared part. Taking it away before comparing is what lets a statement find the statement that
changes its premise among unrelated conversations (docs/adr/0010-default-embedder.md has the measurement).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# A mean over a handful of texts is mostly the texts themselves; this many imagined ones at the origin hold it back.
PRIOR = 8.0

# Shorter than this, what is left of a row is rounding error.
NOTHING = 1e-6


@dataclass(frozen=True)
class Center:
    """The running sum of all vectors of a kind: grows with each observation, never recomputed."""

    total: NDArray[np.float64]
    count: int

    @classmethod
    def of(cls, matrix: Matrix) -> Center:
        import numpy as np

        return cls(total=matrix.sum(axis=0, dtype=np.float64), count=len(matrix))

    def plus(self, matrix: Matrix) -> Center:
        more = Center.of(matrix)
        return Center(total=self.total + more.total, count=self.count + more.count)

    @property
    def point(self) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = self.total / (self.count + PRIOR)
        return mean


def centered(matrix: Matrix, center: Center | None) -> Matrix:
    """Rows without their shared part, of length one again; a row that is all shared part becomes zero."""
    import numpy as np

    rows = matrix.astype(np.float64)
    if center is not None:
        rows = rows - center.point
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    result: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > NOTHING).astype(np.float32)
    return result


def deepest(scores: NDArray[np.float64], depth: int) -> NDArray[np.intp]:
    """Positions of the ``depth`` best finite scores of a row, best first; equal scores go to the later position."""
    import numpy as np

    usable = np.flatnonzero(np.isfinite(scores))[::-1]
    order = np.argsort(-scores[usable], kind="stable")
    return usable[order[:depth]]

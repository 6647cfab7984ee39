"""Exact search over vectors of length one.

Texts of one workspace share a tone, which hides their differences: a chat looks like a chat. ``Center`` is that shared
part, and it is subtracted before comparing. Scores also account for how near each text is to its neighbors, so that
generic texts score low (docs/adr/0010-default-embedder.md has the measurement).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Exact = NDArray[np.float64]

# The mean of a few texts is mostly those texts, so it is shrunk toward the origin by this many virtual ones.
PRIOR = 8.0
# Sample size for a set of rows: a larger one costs more and changes little.
SAMPLE = 512

# A remainder shorter than this is rounding error.
NOTHING = 1e-6


@dataclass(frozen=True)
class Center:
    """The part that all vectors of a kind have in common."""

    point: Exact

    @classmethod
    def of(cls, matrix: Matrix) -> Center:
        import numpy as np

        return cls(matrix.sum(axis=0, dtype=np.float64) / (len(matrix) + PRIOR))


def centered(matrix: Matrix, center: Center | None) -> Matrix:
    """Rows without their shared part, of length one again; a row that is all shared part becomes zero."""
    import numpy as np

    rows = matrix.astype(np.float64)
    if center is not None:
        rows = rows - center.point
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    result: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > NOTHING).astype(np.float32)
    return result


def sampled(matrix: Matrix) -> Matrix:
    """At most ``SAMPLE`` rows, evenly chosen."""
    import numpy as np

    return matrix[np.unique(np.linspace(0, len(matrix) - 1, SAMPLE).round().astype(np.intp))]


def deepest(scores: Exact, depth: int) -> NDArray[np.intp]:
    """Positions of the ``depth`` best finite scores of a row, best first; equal scores go to the later position."""
    import numpy as np

    usable = np.flatnonzero(np.isfinite(scores))[::-1]
    order = np.argsort(-scores[usable], kind="stable")
    return usable[order[:depth]]

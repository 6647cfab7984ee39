"""Signals that compare vectors of texts. Preparations use them, and ``readmit eval`` measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.rules.invalidate.propose import Center, Embeddings, ImpliedFacts, Passages, passages, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from readmit.text.nearness import VectorRows

    Matrix = NDArray[np.float32]


def near_texts(vectors: VectorRows, items: Mapping[str, str], observations: Mapping[str, str]) -> Embeddings:
    """Nearness of whole items and observations."""
    return Embeddings(*_near(vectors, items, observations, windows))


def near_sentences(vectors: VectorRows, items: Mapping[str, str], observations: Mapping[str, str]) -> Passages:
    """Nearness of single sentences of items and observations."""
    return Passages(*_near(vectors, items, observations, passages))


def near_implications(
    vectors: VectorRows, premises: Mapping[str, tuple[str, ...]], facts: Mapping[str, tuple[str, ...]]
) -> ImpliedFacts:
    """Nearness of items' premises to the facts that observations imply."""
    later = vectors.rows(facts)
    return ImpliedFacts(vectors.rows(premises), later, _center(later))


def _near(
    vectors: VectorRows,
    items: Mapping[str, str],
    observations: Mapping[str, str],
    cut: Callable[[str], tuple[str, ...]],
) -> tuple[dict[str, Matrix], dict[str, Matrix], Center | None]:
    later = vectors.rows({name: cut(text) for name, text in observations.items()})
    return vectors.rows({name: cut(text) for name, text in items.items()}), later, _center(later)


def _center(matrices: Mapping[str, Matrix]) -> Center | None:
    """The mean vector of the observations. It is subtracted: a direction that all texts share tells no pairs apart."""
    import numpy as np

    rows = [matrix for matrix in matrices.values() if len(matrix)]
    return Center.of(np.concatenate(rows)) if rows else None

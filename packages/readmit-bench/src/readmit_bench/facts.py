"""Ranking a history by the facts that it states: words and vectors fused by rank, without duplicates.

A session of twenty turns may say one thing about the user, and a question may share no word with it. So each fact is
ranked: a sentence in which users speak about themselves, give an instruction or end something (``reading.facts``).
Three rankings are fused by reciprocal rank: how near a fact is to the query; how near it is to the query combined with
its nearest facts, which adds the user's own words to the query; and how well its conversation matches the query's
words. Every other sentence is found by words alone.

Two facts are the same if their words are, ignoring case and punctuation. Nearness alone is not duplication: "I walk
5,000 steps" is as near to "I walk 4,000 steps" as a repetition is, and replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.lab import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from readmit.models import Embedder

    Matrix = NDArray[np.float32]

FLAT = 60
"""The usual constant of reciprocal rank fusion (Cormack et al. 2009)."""
NEAREST, SHARE = 5, 0.5
"""How many facts are taken into the query, and how much they weigh in it."""


class Facts:
    """Facts at their places in time, embedded once and asked by every query."""

    def __init__(self, stated: Iterable[tuple[int, str]], embedder: Embedder) -> None:
        """``stated`` are facts with the place of what states them; one place may state several."""
        self._stated = tuple(stated)
        self._keys = [tuple(words_of(text)) for _, text in self._stated]
        self._embedder = embedder
        self._vectors: Matrix | None = None
        self._asked: dict[str, Matrix] = {}
        self._orders: dict[str, list[int]] = {}

    def ranked(self, query: str, better: Callable[[int], int], within: Callable[[int], bool]) -> list[int]:
        """The places within that state something, the best first; those that say nothing new after all that do.

        ``better`` says of a place how many match the query's words better. Of facts that are the same, the newest
        counts: what was taken up again is what holds.
        """
        if query not in self._orders:
            self._orders[query] = self._fused(query, better) if self._stated else []
        found = [(self._keys[at], self._stated[at][0]) for at in self._orders[query] if within(self._stated[at][0])]
        newest: dict[tuple[str, ...], int] = {}
        for key, place in found:
            newest[key] = max(place, newest.get(key, place))
        return list(dict.fromkeys((*(newest[key] for key, _ in found), *(place for _, place in found))))

    def _fused(self, query: str, better: Callable[[int], int]) -> list[int]:
        import numpy as np

        near = self._near(query)
        by_words = -np.array([better(place) for place, _ in self._stated])
        scores = np.zeros(len(self._stated))
        for one in (near, self._near_with_company(query, near), by_words):
            # How many are strictly better: facts that are equally good share a rank, whatever order they came in.
            scores += 1 / (FLAT + np.searchsorted(np.sort(-one), -one))
        return [int(at) for at in np.argsort(-scores, kind="stable")]

    def _near(self, query: str) -> Matrix:
        vectors = self._embedded()
        if query not in self._asked:
            self._asked[query] = self._embedder.embed([query])[0]
        near: Matrix = vectors @ self._asked[query]
        return near

    def _near_with_company(self, query: str, near: Matrix) -> Matrix:
        import numpy as np

        vectors = self._embedded()
        company: dict[tuple[str, ...], int] = {}
        for at in np.argsort(-near, kind="stable"):
            company.setdefault(self._keys[at], int(at))
            if len(company) == NEAREST:
                break
        together = (1 - SHARE) * self._asked[query] + SHARE * vectors[list(company.values())].mean(axis=0)
        result: Matrix = vectors @ together
        return result

    def _embedded(self) -> Matrix:
        import numpy as np

        if self._vectors is None:
            distinct = {text: None for _, text in self._stated}
            number = {text: at for at, text in enumerate(distinct)}
            # Rounded, so that floating-point differences between processors do not reorder facts.
            made = np.round(self._embedder.embed(list(distinct)), 5)
            self._vectors = made[[number[text] for _, text in self._stated]]
        return self._vectors

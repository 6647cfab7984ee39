"""How near statements are to a need: by shared words, and by vectors if there is an embedder."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

SHARED = 0.4
COSINE = 0.6
"""The share of a need's words, or the cosine, from which a statement is near. Statements about the same person have
near vectors whatever they say, so the cosine must be high.
"""

_WORD = re.compile(r"[^\W_]+")
# Words without a subject, and words that describe needs ("which", "current", "user").
_EMPTY = frozenset(
    _WORD.findall(
        "a about after all also an and any are as at be been before being but by can could currently current did do "
        "does each for from had has have he her his how i if in into is it its kind last latest like may me might "
        "more most my need needed needs no not now of on one or other our out own person present she should so some "
        "such than that the their them then there these they this those to too up user us usual usually was we were "
        "what when where whether which who whom whose why will with would you your"
    )
)
_SHORTEST_PLURAL = 4


class VectorRows(Protocol):
    """Port of embedders: vectors of named texts."""

    def rows(self, texts: Mapping[str, tuple[str, ...]]) -> dict[str, Matrix]:
        """One matrix per name, a row per text."""
        ...


def content_words(text: str) -> frozenset[str]:
    """The content words of a text, in one form for singular and plural."""
    return frozenset(_stem(word) for word in _WORD.findall(text.casefold()) if word not in _EMPTY)


def name_words(name: str) -> tuple[str, ...]:
    """The words of a slot or dependency, however they are joined: ``hotel_name``, ``hotel.name``."""
    return tuple(_WORD.findall(name.casefold()))


def near(
    needs: Mapping[str, str], items: Mapping[str, str], vectors: VectorRows | None
) -> dict[str, list[tuple[float, str]]]:
    """For each need, every item with its nearness, nearest first, the later one on a tie. From 1 on it is near."""
    shared = _shared(needs, items)
    if vectors is not None and items:
        by_name = vectors.rows({**{f"n{name}": (text,) for name, text in needs.items()},
                                **{f"i{name}": (text,) for name, text in items.items()}})  # fmt: skip
        for need, row in shared.items():
            for item in row:
                cosine = float((by_name[f"n{need}"] @ by_name[f"i{item}"].T).max())
                row[item] = max(row[item], cosine / COSINE)
    places = {item: at for at, item in enumerate(items)}
    return {
        need: sorted(((score, item) for item, score in row.items()), key=lambda one: (-one[0], -places[one[1]]))
        for need, row in shared.items()
    }


def _shared(needs: Mapping[str, str], items: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The share of a need's words that an item has; rare words count more."""
    own = {item: content_words(text) for item, text in items.items()}
    having = Counter(word for words in own.values() for word in words)
    weight = {word: math.log(1 + len(items) / count) for word, count in having.items()}
    unknown = math.log(1 + len(items))
    found: dict[str, dict[str, float]] = {}
    for need, text in needs.items():
        wanted = content_words(text)
        # An exact sum, because the order of a set differs between processes.
        whole = math.fsum(weight.get(word, unknown) for word in wanted)
        found[need] = {
            item: math.fsum(weight[word] for word in wanted & words) / whole / SHARED if whole else 0.0
            for item, words in own.items()
        }
    return found


def _stem(word: str) -> str:
    return word[:-1] if len(word) >= _SHORTEST_PLURAL and word.endswith("s") and not word.endswith("ss") else word

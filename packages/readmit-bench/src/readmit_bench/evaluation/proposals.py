"""Proposal recall: is the true pair among the first k of its target, among the first n of a return, and judged at all?

It is judged if the return has few enough pairs to judge every one, or else if its score reaches the threshold. The
threshold was chosen on every other pair; ``halves`` shows both parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.inference import Settings, Signal
from readmit.lab import (
    CachedEmbedder,
    Scored,
    VectorsInMemory,
    near_implications,
    near_sentences,
    near_texts,
    open_pairs,
    propose,
    windows,
)
from readmit_bench.evaluation.development import implied_facts, memora_filler, official_filler, stale_pairs
from readmit_bench.evaluation.histories import PairHistory, histories, statements_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from readmit.lab import Openings, Scorer
    from readmit.models import Embedder
    from readmit_bench.evaluation.development import Filler, StalePair

    Matrix = NDArray[np.float32]

CUTOFFS = (1, 3, 5, 10, 20)
BUDGETS = (5, 10, 20, 28, 40, 60, 100)
PAPER_PAIRS = 28
"""What the paper's scan proposed per return on average: 5,610 pairs in 200 episodes."""
EVERYTHING = 100_000
ALL_PAIRS, NEAR, NEAR_STATED = Settings().all_pairs, Settings().near, Settings().near_stated
"""The product's own."""
THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""Of these, the product's were chosen."""

SignalSet = Literal["cosine", "embedding", "passage", "model_free", "implied_facts", "combined"]
"""``cosine`` is the plain baseline, ``model_free`` is all that needs no model's answer, ``combined`` is all."""
MODEL_FREE: tuple[SignalSet, ...] = ("cosine", "embedding", "passage", "model_free")
SIGNALS: tuple[SignalSet, ...] = (*MODEL_FREE, "implied_facts", "combined")


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """How often the true pair was within reach."""

    haystack: str
    signals: SignalSet
    histories: int
    at: dict[int, float]
    """Per target: share of true pairs among the first k."""
    budget: dict[int, float] = {}
    """Per return, over all targets: share of true pairs among the first n."""
    threshold: float = NEAR
    """The product's here: that of statements and of sessions with written facts, or that of other sessions."""
    judged: float | None = None
    """Per return: share of true pairs that a preparation puts to the verifier, with the product's defaults."""
    near: float | None = None
    """The same by the threshold alone, as if every return were too large to judge all of its pairs."""
    halves: tuple[float, float] | None = None
    """``near`` for every other pair, on which the threshold was chosen, and for the rest."""
    by_threshold: dict[float, tuple[float, float, float]] = {}
    """Other thresholds alone: recall on the half of the pairs on which one was chosen, on the rest, and pairs."""
    asked: float = 0.0
    """Pairs that a preparation puts to the verifier in a return, on average."""
    ranked: float = 0.0
    """Pairs that reach the threshold in a return, on average."""
    open: float = 0.0
    """Open pairs in a return, on average."""
    ranks: tuple[int, ...] = ()
    """The true pair's rank per target, history by history; 0 if it was not proposed."""


@dataclass(frozen=True)
class PlainCosine:
    """The baseline: the best cosine of two windows, targets taking turns. It shares no code with the signals."""

    windows: Mapping[str, Matrix]

    signal = Signal.EMBEDDING

    def score(self, openings: Openings, depth: int) -> list[Scored]:
        found: list[Scored] = []
        for row, target in enumerate(openings.targets):
            near = {
                column: round(float((self.windows[target.item] @ self.windows[seen.evidence].T).max()), 5)
                for column, seen in enumerate(openings.observations)
                if openings.open[row, column]
            }
            ranked = sorted(near, key=lambda column: (-near[column], -column))
            # A rank outweighs any cosine, so that every target's first pair comes before any target's second.
            found += [Scored(row, column, near[column] - 3 * rank) for rank, column in enumerate(ranked[:depth])]
        return found


class Vectorizer:
    """Vectors of texts, each text embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        """Keep vectors for as long as the measurement runs."""
        self._embedder = CachedEmbedder(embedder, VectorsInMemory())
        self._matrices: dict[tuple[str, ...], Matrix] = {}

    def rows(self, texts: Mapping[str, tuple[str, ...]]) -> dict[str, Matrix]:
        """One matrix per name, a row per text."""
        for own in texts.values():
            if own not in self._matrices:
                self._matrices[own] = self._embedder.embed(own)
        return {name: self._matrices[own] for name, own in texts.items()}


def scorers_for(history: PairHistory, openings: Openings, vectors: Vectorizer, chosen: SignalSet) -> list[Scorer]:
    """The signals of one set, as a preparation builds them. Slots and declared premises have nothing to read here."""
    items = {target.item: history.items[target.item] for target in openings.targets}
    later = {seen.evidence: history.later[seen.evidence] for seen in openings.observations}
    old, new = ({name: one.text for name, one in each.items()} for each in (items, later))
    found: list[Scorer] = []
    if chosen == "cosine":
        texts = {**old, **new}
        found.append(PlainCosine(vectors.rows({name: windows(text) for name, text in texts.items()})))
    if chosen in ("embedding", "model_free", "combined"):
        found.append(near_texts(vectors, old, new))
    if chosen in ("passage", "model_free", "combined"):
        found.append(near_sentences(vectors, old, new))
    if chosen in ("implied_facts", "combined"):
        premises = {name: one.premises for name, one in items.items()}
        found.append(near_implications(vectors, premises, {name: one.facts for name, one in later.items()}))
    return found


def measure(
    haystack: str, cases: Sequence[PairHistory], vectors: Vectorizer, signals: SignalSet, *, returns: bool = True
) -> Recall:
    """Rank the true pair in every history. ``returns`` also ranks it against the pairs of all other targets."""
    ranks = [_rank(history, vectors, signals, alone=True).place for history in cases]
    found = [_rank(history, vectors, signals, alone=False) for history in cases] if returns else []
    alone = Recall(
        haystack=haystack,
        signals=signals,
        histories=len(cases),
        at={k: _share(ranks, k) for k in CUTOFFS},
        ranks=tuple(ranks),
    )
    if not found:
        return alone
    order = {uid: number for number, uid in enumerate(dict.fromkeys(case.uid for case in cases))}
    halves = [[one for case, one in zip(cases, found, strict=True) if order[case.uid] % 2 == half] for half in (0, 1)]

    def alone_at(threshold: float) -> tuple[float, float, float]:
        one, other = (_mean(place.reaches(threshold) for place in half) for half in halves)
        return one, other, _mean(place.reaching(threshold) for place in found)

    near = NEAR_STATED if cases[0].statements or signals in ("implied_facts", "combined") else NEAR
    return msgspec.structs.replace(
        alone,
        budget={n: _share([one.place for one in found], n) for n in BUDGETS},
        threshold=near,
        judged=_mean(one.open <= ALL_PAIRS or one.reaches(near) for one in found),
        near=_mean(one.reaches(near) for one in found),
        halves=alone_at(near)[:2],
        by_threshold={threshold: alone_at(threshold) for threshold in THRESHOLDS},
        asked=_mean(one.open if one.open <= ALL_PAIRS else one.reaching(near) for one in found),
        ranked=_mean(one.reaching(near) for one in found),
        open=_mean(one.open for one in found),
    )


class _Place(msgspec.Struct, frozen=True):
    """Where the true pair of one history ended."""

    place: int
    """Its rank; 0 if no signal scored it."""
    score: float
    scores: tuple[float, ...]
    """Of every pair that a signal scored."""
    open: int

    def reaches(self, threshold: float) -> bool:
        """Whether the true pair is proposed."""
        return self.place > 0 and self.score >= threshold

    def reaching(self, threshold: float) -> int:
        """How many pairs are."""
        return sum(score >= threshold for score in self.scores)


def _rank(history: PairHistory, vectors: Vectorizer, chosen: SignalSet, *, alone: bool) -> _Place:
    openings = open_pairs(history.targets(alone=alone), history.observations())
    stated = history.later.keys() if history.statements else ()
    scorers = scorers_for(history, openings, vectors, chosen)
    found = propose(openings, scorers, near=None, stated=frozenset(stated), depth=EVERYTHING).kept
    scores = {proposal.pair: proposal.score for proposal in found}
    place = next((n for n, pair in enumerate(scores, start=1) if pair == history.true), 0)
    return _Place(place, scores.get(history.true, 0.0), tuple(scores.values()), len(openings))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / max(1, len(found))


def _share(ranks: Sequence[int], k: int) -> float:
    return sum(0 < rank <= k for rank in ranks) / max(1, len(ranks))


class Haystack(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of history that proposals are measured in."""

    name: str
    cases: Callable[[], list[PairHistory]]
    facts: bool = True
    """Whether implied facts were written for all of it."""
    returns: bool = True
    """Whether it has several targets to rank across."""


def haystacks(data: Path, seeds: Sequence[int]) -> list[Haystack]:
    """All with Type II pairs. First the hard one: a remark inside a session, among the benchmark's own sessions."""
    pairs = stale_pairs(data, "T2")
    written = implied_facts(data)
    known = [pair for pair in pairs if pair.uid in written]

    def filled(
        subject: Sequence[StalePair], filler: Sequence[Filler], *, rivals: int = 0, buried: bool = False
    ) -> list[PairHistory]:
        return [
            case
            for seed in seeds
            for case in histories(subject, written, filler, seed=seed, rivals=rivals, buried=buried)
        ]

    memora, official = memora_filler(data), official_filler(data)
    return [
        Haystack(name="STALE's own, buried", cases=lambda: filled(pairs, official, buried=True), facts=False),
        Haystack(name="STALE's own sessions", cases=lambda: filled(pairs, official), facts=False),
        Haystack(name="substitute, buried", cases=lambda: filled(pairs, memora, buried=True), facts=False),
        Haystack(name="substitute, buried, with facts", cases=lambda: filled(known, memora, buried=True)),
        Haystack(name="substitute, all pairs", cases=lambda: filled(pairs, memora), facts=False),
        Haystack(name="substitute", cases=lambda: filled(known, memora)),
        Haystack(name="substitute, statements", cases=lambda: [one.stated() for one in filled(known, memora)]),
        Haystack(name="substitute, 12 rival changes", cases=lambda: filled(known, memora, rivals=12)),
        Haystack(name="80 changes", cases=lambda: statements_only(known, written), returns=False),
    ]


def measure_all(data: Path, embedder: Embedder, seeds: Sequence[int]) -> list[Recall]:
    """Every haystack with every signal that has something to read in it."""
    vectors = Vectorizer(embedder)
    return [
        measure(haystack.name, cases, vectors, signals, returns=haystack.returns)
        for haystack in haystacks(data, seeds)
        for cases in [haystack.cases()]
        if cases
        for signals in (SIGNALS if haystack.facts else MODEL_FREE)
    ]

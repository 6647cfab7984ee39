"""Chooses pairs to judge: all of them while they are few, else those that the signals find near.

A pair that a signal could not score because a model failed is not cleared, and is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.inference import derive as deriving
from readmit.inference.prepared import ProposedPair
from readmit.log.derived_texts import DerivedTexts
from readmit.models.protocols import Embedder, Model
from readmit.models.stages.imply import IMPLIED, PREMISES
from readmit.models.stages.scan import Later, TargetLook
from readmit.models.structured import RequestRound
from readmit.records.verdicts import Pair
from readmit.rules.invalidate.propose import (
    Center,
    DeclaredPremises,
    Embeddings,
    ImpliedFacts,
    Passages,
    SameSlot,
    Scanned,
    Signal,
    Tally,
    open_pairs,
    passages,
    plan_scan,
    propose,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from readmit.inference.baseline import Baseline
    from readmit.inference.settings import RequestBudgets, Settings
    from readmit.rules.invalidate.propose import Openings, Scorer
    from readmit.text.nearness import VectorRows

    Matrix = NDArray[np.float32]


class FoundPairs(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs to judge, and the pairs that no signal could score."""

    pairs: tuple[ProposedPair, ...] = ()
    open: int = 0
    """Open pairs altogether."""
    observations: int = 0
    """Observations with at least one open pair."""
    tallies: Mapping[Signal, Tally] = {}
    """Counts per signal; none if every pair is judged."""
    unseen: tuple[Pair, ...] = ()
    """Open pairs that a failed answer hid from some signal, and that no signal proposed."""
    faults: tuple[str, ...] = ()
    """Messages about failures."""


class Readers(msgspec.Struct, frozen=True, kw_only=True):
    """The models that produce the signals' inputs."""

    derived: DerivedTexts
    workspace: str
    implier: Model | None
    scanner: Model | None
    embedder: Embedder | None
    extracted: str = ""
    """The extractor, as derived texts name it."""


def find_pairs(
    baseline: Baseline,
    judged: Mapping[str, frozenset[str]],
    readers: Readers,
    settings: Settings,
    passed: Mapping[str, int] | None = None,
) -> FoundPairs:
    """Choose among the open pairs: those not judged, and not skipped by an earlier look."""
    openings = open_pairs(baseline.targets(passed), baseline.observations(), judged)
    if len(openings) <= settings.all_pairs:
        every = tuple(ProposedPair(pair=pair) for pair in _every(openings))
        return FoundPairs(pairs=every, open=len(openings), observations=len(openings.observations))
    work = _Work(baseline, openings, readers)
    scorers: list[Scorer] = []
    together = RequestRound()
    for signal in settings.signals:
        with together:
            scorers.append(work.scorer(signal, settings))
    together.close()
    found = propose(
        openings,
        scorers,
        near=settings.near,
        stated=baseline.stated.keys(),
        implying=work.implying,
        near_stated=settings.near_stated,
    )
    proposed = {one.pair: tuple(sorted(map(str, one.signals))) for one in found.kept}
    return FoundPairs(
        pairs=tuple(ProposedPair(pair=pair, signals=signals) for pair, signals in proposed.items()),
        open=found.open,
        observations=len(openings.observations),
        tallies=found.tallies,
        unseen=tuple(pair for pair in work.unseen() if pair not in proposed),
        faults=tuple(dict.fromkeys(work.faults)),
    )


def _every(openings: Openings) -> Iterator[Pair]:
    """All open pairs, those of critical items first: a token budget may end before the last."""
    rows = sorted(range(len(openings.targets)), key=lambda row: not openings.targets[row].critical)
    for row in rows:
        for column, seen in enumerate(openings.observations):
            if openings.open[row, column]:
                yield Pair(item=openings.targets[row].item, evidence=seen.evidence)


class _Work:
    """The signals of one preparation."""

    def __init__(self, baseline: Baseline, openings: Openings, readers: Readers) -> None:
        self._standing = baseline
        self._openings = openings
        self._readers = readers
        self._items = {target.item: baseline.held[target.item].item.text for target in openings.targets}
        self._texts = {seen.evidence: baseline.texts[seen.evidence] for seen in openings.observations}
        self._shown = {seen.evidence: baseline.shown(seen.evidence) for seen in openings.observations}
        self._blind_items: set[str] = set()
        self._blind_evidence: set[str] = set()
        self._blind_pairs: set[Pair] = set()
        self.implying: frozenset[str] = frozenset()
        self.faults: list[str] = []

    def scorer(self, signal: Signal, settings: Settings) -> Scorer:
        match signal:
            case Signal.DECLARED_PREMISE:
                return DeclaredPremises()
            case Signal.SAME_SLOT:
                return SameSlot()
            case Signal.EMBEDDING:
                return near_texts(self._vectors(), self._items, self._shown)
            case Signal.PASSAGE:
                return near_sentences(self._vectors(), self._items, self._shown)
            case Signal.IMPLIED_FACTS:
                return self._facts(settings.budgets)
            case Signal.SCAN:
                return self._scan(settings)

    def unseen(self) -> Iterator[Pair]:
        """Open pairs that a failure hid from a signal."""
        if not (self._blind_items or self._blind_evidence or self._blind_pairs):
            return
        for row, target in enumerate(self._openings.targets):
            for column, seen in enumerate(self._openings.observations):
                pair = Pair(item=target.item, evidence=seen.evidence)
                hidden = target.item in self._blind_items or seen.evidence in self._blind_evidence
                if self._openings.open[row, column] and (hidden or pair in self._blind_pairs):
                    yield pair

    def _vectors(self) -> deriving.StoredVectors:
        readers = self._readers
        assert readers.embedder is not None  # noqa: S101 - InferenceModels.require has seen to it
        return deriving.StoredVectors(readers.embedder, readers.derived)

    def _facts(self, budgets: RequestBudgets) -> ImpliedFacts:
        readers = self._readers
        assert readers.implier is not None  # noqa: S101 - InferenceModels.require has seen to it
        together = RequestRound()
        both: list[deriving.DerivedLines] = []
        for kind, texts in ((PREMISES, self._items), (IMPLIED, self._texts)):
            with together:
                both.append(
                    deriving.derive_lines(
                        readers.derived,
                        kind,
                        readers.implier,
                        texts.values(),
                        readers.workspace,
                        budgets=budgets,
                        extracted=readers.extracted,
                    )
                )
        together.close()
        rests, says = both
        self._blind_items |= {name for name, text in self._items.items() if text in rests.failed}
        self._blind_evidence |= {name for name, text in self._texts.items() if text in says.failed}
        self.faults += [f"{why.usage.stage}: {why.message}" for one in both for why in one.failed.values()]
        premises = {name: rests.lines.get(text, ()) for name, text in self._items.items()}
        facts = {name: says.lines.get(text, ()) for name, text in self._texts.items()}
        self.implying = frozenset(name for name, lines in facts.items() if lines)
        return near_implications(self._vectors(), premises, facts)

    def _scan(self, settings: Settings) -> Scanned:
        readers, baseline = self._readers, self._standing
        assert readers.scanner is not None  # noqa: S101 - InferenceModels.require has seen to it
        looks = [
            TargetLook(
                item=call.item,
                text=self._items[call.item],
                later=tuple(
                    Later(evidence=name, text=self._texts[name], at=baseline.observed[name].at)
                    for name in call.evidence
                ),
            )
            for call in plan_scan(self._openings, settings.scan_per_call)
        ]
        found = deriving.scanned(readers.derived, readers.scanner, looks, readers.workspace, settings)
        self._blind_pairs |= found.failed.keys()
        self.faults += [f"{why.usage.stage}: {why.message}" for why in found.failed.values()]
        return Scanned(found.named)


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

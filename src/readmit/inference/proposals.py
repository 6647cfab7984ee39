"""Proposes pairs to judge: prepares the signals' inputs, runs them, and reports the rest.

A pair that a signal could not score because a model failed is not cleared: such pairs are reported beside those that
the limits cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference import derive as deriving
from readmit.inference import signals
from readmit.log.derived_texts import DerivedTexts
from readmit.models.protocols import Embedder, Model
from readmit.models.stages.imply import IMPLIED, PREMISES
from readmit.models.stages.scan import Later, TargetLook
from readmit.records.error_types import PendingAnswers
from readmit.records.verdicts import Pair
from readmit.rules.invalidate.propose import (
    DeclaredPremises,
    ImpliedFacts,
    Proposals,
    SameSlot,
    Scanned,
    Signal,
    open_pairs,
    plan_scan,
    propose,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from readmit.inference.baseline import Baseline
    from readmit.inference.settings import RequestBudgets, Settings
    from readmit.rules.invalidate.propose import Openings, Scorer

    Matrix = NDArray[np.float32]


class FoundPairs(msgspec.Struct, frozen=True):
    """The proposed pairs, and the pairs that no signal could score."""

    proposals: Proposals
    unseen: tuple[Pair, ...]
    """Open pairs that a failed answer hid from some signal, and that no signal proposed."""
    faults: tuple[str, ...]
    """Messages about failures."""
    observations: int
    """Observations with at least one open pair."""


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
    """Propose open pairs: those not judged, and not skipped by an earlier look."""
    openings = open_pairs(baseline.targets(passed), baseline.observations(), judged)
    work = _Work(baseline, openings, readers)
    scorers: list[Scorer] = []
    pending: PendingAnswers | None = None
    for signal in settings.signals:
        try:
            if len(openings):
                scorers.append(work.scorer(signal, settings))
        except PendingAnswers as waiting:
            # The other signals' requests go out in the same round.
            pending = waiting
    if pending is not None:
        raise pending
    proposals = propose(openings, scorers, settings.limits)
    proposed = {proposal.pair for proposal in (*proposals.kept, *proposals.cut)}
    return FoundPairs(
        proposals,
        tuple(pair for pair in work.unseen() if pair not in proposed),
        tuple(dict.fromkeys(work.faults)),
        len(openings.observations),
    )


class _Work:
    """The signals of one preparation."""

    def __init__(self, baseline: Baseline, openings: Openings, readers: Readers) -> None:
        self._standing = baseline
        self._openings = openings
        self._readers = readers
        self._items = {target.item: baseline.held[target.item].item.text for target in openings.targets}
        self._texts = {seen.evidence: baseline.texts[seen.evidence] for seen in openings.observations}
        self._blind_items: set[str] = set()
        self._blind_evidence: set[str] = set()
        self._blind_pairs: set[Pair] = set()
        self.faults: list[str] = []

    def scorer(self, signal: Signal, settings: Settings) -> Scorer:
        match signal:
            case Signal.DECLARED_PREMISE:
                return DeclaredPremises()
            case Signal.SAME_SLOT:
                return SameSlot()
            case Signal.EMBEDDING:
                return signals.near_texts(self._vectors(), self._items, self._texts)
            case Signal.PASSAGE:
                return signals.near_sentences(self._vectors(), self._items, self._texts)
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
        return deriving.StoredVectors(readers.embedder, readers.derived, readers.workspace)

    def _facts(self, budgets: RequestBudgets) -> ImpliedFacts:
        readers = self._readers
        assert readers.implier is not None  # noqa: S101 - InferenceModels.require has seen to it
        pending: PendingAnswers | None = None
        both: list[deriving.DerivedLines] = []
        for kind, texts in ((PREMISES, self._items), (IMPLIED, self._texts)):
            try:
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
            except PendingAnswers as waiting:
                pending = waiting
        if pending is not None:
            raise pending
        rests, says = both
        self._blind_items |= {name for name, text in self._items.items() if text in rests.failed}
        self._blind_evidence |= {name for name, text in self._texts.items() if text in says.failed}
        self.faults += [f"{why.usage.stage}: {why.message}" for one in both for why in one.failed.values()]
        premises = {name: rests.lines.get(text, ()) for name, text in self._items.items()}
        facts = {name: says.lines.get(text, ()) for name, text in self._texts.items()}
        return signals.near_implications(self._vectors(), premises, facts)

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

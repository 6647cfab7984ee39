"""Pairs of a departure statement and a later session that may change its premise, and their verdicts.

Our way to propose: premises of the statement against facts that the session implies, with nearness of texts and equal
slots as further signals. (``observed`` is the paper's.) The verifier is the same for both: one score per pair, both
quotes looked up by the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from readmit.bench.episodes import Finding
from readmit.bench.methods.state import sessions
from readmit.models.stages import imply
from readmit.models.stages.verify import Case, Verifier
from readmit.ports.models import Failure
from readmit.records.verdicts import Ruling, ruling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.bench.episodes import Checkpoint
    from readmit.bench.methods.state import Statement
    from readmit.invalidate.propose import Scorer
    from readmit.ports.models import Embedder, Model
    from readmit.records.policy import Policy
    from readmit.records.verdicts import Pair, Verdict

Proposing = Literal["scan", "implied"]

# What the paper's scan proposed per return on average: 5,610 pairs in 200 episodes.
PAIRS_PER_RETURN = 28


@dataclass(frozen=True)
class Judged:
    """One pair, the signals that proposed it, and the verdict, or why there is none."""

    pair: Pair
    signals: tuple[str, ...]
    verdict: Verdict | Failure
    policy: Policy

    @property
    def confirmed(self) -> bool:
        """Whether the verdict takes the statement out, by the rules of the return itself."""
        if isinstance(self.verdict, Failure):
            return False
        found = bool(self.verdict.item_quote and self.verdict.evidence_quote)
        return ruling(self.verdict, self.policy, grounded=lambda: found) is Ruling.INVALID

    def finding(self) -> Finding:
        """For the report."""
        signals = self.signals
        if isinstance(self.verdict, Failure):
            note = f"{self.verdict.fault}: {self.verdict.message}"
            return Finding(row=self.pair.item, observation=self.pair.evidence, signals=signals, note=note)
        return Finding(
            row=self.pair.item,
            observation=self.pair.evidence,
            signals=signals,
            answer=str(self.verdict.answer),
            confidence=str(self.verdict.confidence),
            confirmed=self.confirmed,
            row_quote=self.verdict.item_quote,
            observation_quote=self.verdict.evidence_quote,
            note=self.verdict.note or self.verdict.premise,
        )


@dataclass(frozen=True)
class Later:
    """The sessions of the absence, and what they imply."""

    texts: Mapping[str, str]
    facts: Mapping[str, tuple[str, ...]]


def later_sessions(checkpoint: Checkpoint) -> dict[str, str]:
    """What was said in each session after the departure."""
    return sessions(row for row in checkpoint.heard if not row.departure)


def implied_by(model: Model, texts: Mapping[str, str], *, max_tokens: int, max_chars: int) -> Later:
    """What each session implies about the present. A session that could not be read implies nothing here."""
    said = imply.implied(model, list(texts.values()), max_tokens=max_tokens, max_chars=max_chars)
    facts = {name: () if isinstance(one, Failure) else one for name, one in zip(texts, said, strict=True)}
    return Later(texts, facts)


def matched(
    model: Model,
    embedder: Embedder,
    targets: Sequence[Statement],
    later: Later,
    *,
    slots: Mapping[str, frozenset[str]],
    critical: frozenset[str],
    max_tokens: int,
    max_chars: int,
) -> dict[Pair, tuple[str, ...]]:
    """Our proposals: several independent signals, ranked together, as many as the paper's scan proposed.

    ``slots`` says what each session speaks about. Premises that extraction already wrote are not asked for again.
    """
    from readmit.invalidate.propose import Limits, Observation, SameSlot, Target, open_pairs, propose

    unknown = [target.text for target in targets if not target.row.premises]
    said = dict(zip(unknown, imply.premises(model, unknown, max_tokens=max_tokens, max_chars=max_chars), strict=True))
    premises = {target.id: target.row.premises or said.get(target.text, ()) for target in targets}
    order = {name: place for place, name in enumerate(later.texts, start=1)}
    openings = open_pairs(
        [Target(item=t.id, epoch=0, slot=t.slot, critical=t.id in critical) for t in targets],
        [Observation(evidence=name, epoch=place, slots=slots.get(name, frozenset())) for name, place in order.items()],
    )
    written = {name: lines for name, lines in premises.items() if not isinstance(lines, Failure)}
    scorers: list[Scorer] = [SameSlot(), *_near(embedder, targets, later, written)]
    found = propose(openings, scorers, Limits(per_return=PAIRS_PER_RETURN))
    return {one.pair: tuple(sorted(map(str, one.signals))) for one in found.kept}


def _near(
    embedder: Embedder, targets: Sequence[Statement], later: Later, premises: Mapping[str, tuple[str, ...]]
) -> list[Scorer]:
    import numpy as np

    from readmit.invalidate.propose import Center, Embeddings, ImpliedFacts, Passages, passages, windows

    def rows(texts: Mapping[str, tuple[str, ...]]) -> dict[str, np.ndarray]:
        return {name: embedder.embed(list(parts)) for name, parts in texts.items() if parts}

    scorers: list[Scorer] = []
    for kind, cut in ((Embeddings, windows), (Passages, passages)):
        seen = rows({name: cut(text) for name, text in later.texts.items() if text.strip()})
        if seen:
            own = rows({target.id: cut(target.text) for target in targets})
            scorers.append(kind(own, seen, Center.of(np.concatenate(list(seen.values())))))
    facts = rows(later.facts)
    if facts:
        scorers.append(ImpliedFacts(rows(premises), facts, Center.of(np.concatenate(list(facts.values())))))
    return scorers


def judged(
    model: Model,
    pairs: Mapping[Pair, tuple[str, ...]],
    earlier: Mapping[str, tuple[str, str]],
    later: Mapping[str, str],
    *,
    policy: Policy,
    max_tokens: int,
    max_chars: int,
) -> list[Judged]:
    """One verdict or failure per pair, in order. ``earlier`` holds each item's words and those it was drawn from."""
    cases = []
    for pair in pairs:
        words, source = earlier[pair.item]
        cases.append(Case(pair=pair, item_text=words, item_source=source, evidence_text=later[pair.evidence]))
    verifier = Verifier(model=model, suspect_at=policy.suspect_at, max_tokens=max_tokens, max_chars=max_chars)
    results = verifier.verify(cases)
    return [
        Judged(pair, signals, result, policy) for (pair, signals), result in zip(pairs.items(), results, strict=True)
    ]

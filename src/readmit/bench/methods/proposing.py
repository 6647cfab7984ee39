"""Pairs of a departure statement and a later session that may change its premise, and their verdicts.

Two ways to propose: the paper's scan (one target beside at most four later sessions, every pair looked at; settings can
widen that), and
ours (premises of the statement against facts that the session implies, with nearness of texts and equal slots as
further signals). The verifier is the same: one pair per call, both quotes looked up by the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from readmit.bench.episodes import Finding
from readmit.bench.methods.state import session_of, sessions
from readmit.models.fence import MAX_CHARS
from readmit.models.stages import imply, scan
from readmit.models.stages.scan_many import scan_many
from readmit.models.stages.verify import Case, Verifier
from readmit.ports.models import Failure
from readmit.records.verdicts import Pair, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.bench.episodes import Checkpoint
    from readmit.bench.methods.state import Statement
    from readmit.invalidate.propose import Scorer
    from readmit.ports.models import Embedder, Model

Proposing = Literal["scan", "implied"]

# What the paper's scan proposed per return on average: 5,610 pairs in 200 episodes.
PAIRS_PER_RETURN = 28


@dataclass(frozen=True)
class Judged:
    """One pair, the signals that proposed it, and the verdict, or why there is none."""

    pair: Pair
    signals: tuple[str, ...]
    verdict: Verdict | Failure

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
            row_quote=self.verdict.item_quote,
            observation_quote=self.verdict.evidence_quote,
            note=self.verdict.note or self.verdict.premise,
        )


@dataclass(frozen=True)
class Later:
    """The sessions of the absence, and what they imply where that was asked for."""

    texts: Mapping[str, str]
    facts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Looking:
    """How the scan looks: how many targets and later sessions share a request, and its budgets."""

    targets: int = 1
    observations: int = scan.PER_CALL
    max_tokens: int = scan.MAX_TOKENS
    max_chars: int = MAX_CHARS


def later_sessions(checkpoint: Checkpoint) -> dict[str, str]:
    """What was said in each session after the departure."""
    return sessions(row for row in checkpoint.heard if not row.departure)


def implied_by(model: Model, texts: Mapping[str, str], *, max_tokens: int, max_chars: int) -> Later:
    """What each session implies about the present. A session that could not be read implies nothing here."""
    said = imply.implied(model, list(texts.values()), max_tokens=max_tokens, max_chars=max_chars)
    facts = {name: () if isinstance(one, Failure) else one for name, one in zip(texts, said, strict=True)}
    return Later(texts, facts)


def scanned(model: Model, targets: Sequence[Statement], later: Later, how: Looking) -> dict[Pair, tuple[str, ...]]:
    """The paper's proposals. A look that failed proposes all its pairs: a scan may cost, never hide."""
    names = list(later.texts)
    parts = [
        tuple(scan.Later(evidence=name, text=later.texts[name]) for name in names[start : start + how.observations])
        for start in range(0, len(names), how.observations)
    ]
    groups = [
        # An extracted statement says by itself what its words may leave to their context.
        [scan.Look(item=one.id, text=one.row.statement or one.text, later=part) for one in some]
        for some in (targets[start : start + how.targets] for start in range(0, len(targets), how.targets))
        for part in parts
    ]
    pairs: dict[Pair, tuple[str, ...]] = {}
    for group, results in zip(groups, _looked(model, groups, how), strict=True):
        for look, result in zip(group, results, strict=True):
            if isinstance(result, Failure):
                pairs |= {Pair(item=look.item, evidence=one.evidence): ("scan failed",) for one in look.later}
            else:
                pairs |= dict.fromkeys(result, ("scan",))
    return pairs


def _looked(
    model: Model, groups: Sequence[Sequence[scan.Look]], how: Looking
) -> Sequence[Sequence[tuple[Pair, ...] | Failure]]:
    if how.targets == 1 and how.observations <= scan.PER_CALL:
        looks = [look for (look,) in groups]
        return [[one] for one in scan.scan(model, looks, max_tokens=how.max_tokens, max_chars=how.max_chars)]
    return scan_many(model, groups, max_tokens=how.max_tokens, max_chars=how.max_chars)


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
    """Our proposals: several independent signals, fused by rank, as many as the paper's scan proposed.

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
    targets: Sequence[Statement],
    texts: Mapping[str, str],
    *,
    before: Mapping[str, str],
    max_tokens: int,
    max_chars: int,
) -> list[Judged]:
    """One verdict or failure per pair, in order. ``before`` holds the sessions that targets were drawn from."""
    known = {target.id: target for target in targets}
    cases = [
        Case(
            pair=pair,
            item_text=known[pair.item].text,
            item_source=before[session_of(known[pair.item].row)],
            evidence_text=texts[pair.evidence],
        )
        for pair in pairs
    ]
    results = Verifier(model=model, max_tokens=max_tokens, max_chars=max_chars).verify(cases)
    return [Judged(pair, signals, result) for (pair, signals), result in zip(pairs.items(), results, strict=True)]

"""Judge labelled pairs: how often a verifier is right, and how well it knows.

The documented format is one JSON object per line: ``id``, ``old`` and ``new`` (the two texts), ``invalidates`` (true
or false), and optionally ``use`` (what the item is needed for), ``old_at`` and ``new_at`` (times as text).
STALE records and defeasible NLI rows are recognized by their own fields.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.evaluation import scores
from readmit.evaluation.development import StalePair, read_lines
from readmit.records.errors import RecordError
from readmit.records.verdicts import Answer

if TYPE_CHECKING:
    from pathlib import Path


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two statements, and whether the later one invalidates the older one."""

    id: str
    old: str
    new: str
    invalidates: bool
    use: str = ""
    old_at: str = ""
    new_at: str = ""


class Judgment(msgspec.Struct, frozen=True, kw_only=True):
    """What a verifier says of one case, and what asking took."""

    answer: Answer
    confidence: float
    tokens: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"confidence: {self.confidence} must lie between 0 and 1")

    @property
    def chance(self) -> float:
        """The probability of *invalidates* that the answer amounts to."""
        match self.answer:
            case Answer.INVALIDATES:
                return self.confidence
            case Answer.COMPATIBLE:
                return 1.0 - self.confidence
            case Answer.UNSURE:
                return 0.5


Verifier = Callable[[Sequence[Case]], Sequence[Judgment | None]]
"""One judgment per case, in order; None where there is no usable answer."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One case and what became of it."""

    case: Case
    judgment: Judgment | None
    confirmed: bool
    """Whether the verifier's answer would take the item out."""

    @property
    def right(self) -> bool:
        return self.confirmed == self.case.invalidates


class PairReport(msgspec.Struct, frozen=True, kw_only=True):
    """A verifier's figures on a set of labelled pairs, each with its interval."""

    cases: int
    positives: int
    threshold: float
    unsure: int
    unanswered: int
    tpr: scores.Estimate
    fpr: scores.Estimate
    auc: scores.Estimate
    ece: float
    reliability: tuple[scores.Bin, ...]
    tokens_per_pair: float
    seed: int
    judged: tuple[Judged, ...]


def evaluate(
    cases: Sequence[Case], verifier: Verifier, *, threshold: float = 0.0, seed: int = 0, resamples: int = 1_000
) -> PairReport:
    """Judge every case once. An answer below ``threshold``, or none at all, confirms nothing.

    For ranking and calibration, no answer counts as even odds: it says nothing either way.
    """
    positives = sum(case.invalidates for case in cases)
    if not 0 < positives < len(cases):
        raise RecordError(f"cases: {positives} of {len(cases)} invalidate; both kinds are needed to measure anything")
    answers = verifier(cases)
    if len(answers) != len(cases):
        raise RecordError(f"verifier: gave {len(answers)} judgments for {len(cases)} cases; one for each is needed")
    judged = tuple(
        Judged(case=case, judgment=judgment, confirmed=_confirms(judgment, threshold))
        for case, judgment in zip(cases, answers, strict=True)
    )
    chances = [0.5 if judgment is None else judgment.chance for judgment in answers]
    labels = [case.invalidates for case in cases]
    rates = scores.estimate_rates([entry.confirmed for entry in judged], labels, seed=seed, resamples=resamples)
    bins = scores.reliability(chances, labels)
    return PairReport(
        cases=len(cases),
        positives=positives,
        threshold=threshold,
        unsure=sum(judgment is not None and judgment.answer is Answer.UNSURE for judgment in answers),
        unanswered=sum(judgment is None for judgment in answers),
        tpr=rates[0],
        fpr=rates[1],
        auc=scores.estimate_auc(chances, labels, seed=seed, resamples=resamples),
        ece=scores.calibration_error(bins),
        reliability=bins,
        tokens_per_pair=sum(judgment.tokens for judgment in answers if judgment is not None) / len(cases),
        seed=seed,
        judged=judged,
    )


def _confirms(judgment: Judgment | None, threshold: float) -> bool:
    return judgment is not None and judgment.answer is Answer.INVALIDATES and judgment.confidence >= threshold


class Loaded(NamedTuple):
    """Cases of one file, and how many of its rows hold no case."""

    cases: list[Case]
    skipped: int


class _DefeasibleRow(msgspec.Struct):
    premise: str | None = msgspec.field(name="Premise")
    hypothesis: str | None = msgspec.field(name="Hypothesis")
    update: str | None = msgspec.field(name="Update")
    update_type: str = msgspec.field(name="UpdateType")


def load_cases(path: Path, *, seed: int = 0) -> Loaded:
    """Cases from any of the three formats, told apart by the first row's fields."""
    rows = read_lines(path, dict[str, Any])
    first = rows[0] if rows else {}
    if "M_old" in first:
        return Loaded(stale_cases(read_lines(path, StalePair), seed=seed), 0)
    if "UpdateType" in first:
        return _defeasible(path)
    return Loaded(read_lines(path, Case), 0)


def stale_cases(pairs: Sequence[StalePair], *, seed: int = 0) -> list[Case]:
    """Every pair, and as many crossed ones: each old statement beside the new statement of another pair.

    Crossing stays within a type. STALE has no negatives of its own; a crossed pair can by chance be a true one.
    """
    found: list[Case] = []
    for kind in ("T1", "T2"):
        own = [pair for pair in pairs if pair.type == kind]
        partners = _partners(own, random.Random(f"{seed}:{kind}"))  # noqa: S311 - a seeded experiment
        for pair, partner in zip(own, partners, strict=True):
            found.append(Case(id=f"{pair.uid}", old=pair.old, new=pair.new, invalidates=True))
            if partner is not None:
                found.append(Case(id=f"{pair.uid}×{partner.uid}", old=pair.old, new=partner.new, invalidates=False))
    return found


def _partners(pairs: Sequence[StalePair], generator: random.Random) -> list[StalePair | None]:
    """Each pair's partner: the next one in a shuffled circle, so that none is its own and each serves once."""
    circle = list(range(len(pairs)))
    generator.shuffle(circle)
    after = {circle[at]: circle[(at + 1) % len(circle)] for at in range(len(circle))}
    return [pairs[after[at]] if after[at] != at else None for at in range(len(pairs))]


def _defeasible(path: Path) -> Loaded:
    """A weakener invalidates the hypothesis that was drawn from the premise; a strengthener does not."""
    cases: list[Case] = []
    rows = read_lines(path, _DefeasibleRow)
    for number, row in enumerate(rows, start=1):
        if row.premise and row.hypothesis and row.update and row.update_type in ("weakener", "strengthener"):
            old = f"{row.premise} So: {row.hypothesis}"
            weakens = row.update_type == "weakener"
            cases.append(Case(id=f"{path.stem}:{number}", old=old, new=row.update, invalidates=weakens))
    return Loaded(cases, len(rows) - len(cases))


class _StoredJudgment(msgspec.Struct):
    old_uid: str
    new_uid: str
    true_pair: bool
    invalidates: bool
    confidence: float


def stored_judgments(data: Path) -> tuple[list[Case], Verifier]:
    """The cases that a strong model judged, and a verifier that repeats what it said."""
    pairs = {pair.uid: pair for pair in read_lines(data / "stale" / "pairs.jsonl", StalePair)}
    cases: list[Case] = []
    said: dict[str, Judgment] = {}
    for row in read_lines(data / "stale" / "pair_judgments.jsonl", _StoredJudgment):
        name = f"{row.old_uid}×{row.new_uid}"
        cases.append(Case(id=name, old=pairs[row.old_uid].old, new=pairs[row.new_uid].new, invalidates=row.true_pair))
        answer = Answer.INVALIDATES if row.invalidates else Answer.COMPATIBLE
        said[name] = Judgment(answer=answer, confidence=row.confidence)
    return cases, lambda asked: [said.get(case.id) for case in asked]

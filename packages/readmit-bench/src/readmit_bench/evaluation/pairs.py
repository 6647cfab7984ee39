"""Judge labelled pairs: how often a verifier is right, and how well it is calibrated.

The documented format is one JSON object per line: ``id``, ``old`` and ``new`` (the two texts), ``invalidates`` (true
or false), and optionally ``old_at`` and ``new_at`` (times as text).
STALE records, defeasible NLI rows and stored judgments (``stored_judgments``) are recognized by their own fields.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit import Answer, Policy, Verdict
from readmit.errors import RecordError
from readmit.lab import Ruling, ruling
from readmit_bench.evaluation import scores
from readmit_bench.evaluation.development import StalePair, read_lines

if TYPE_CHECKING:
    from pathlib import Path


class LabelledPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two statements, and whether the later one invalidates the older one."""

    id: str
    old: str
    new: str
    invalidates: bool
    old_at: str = ""
    new_at: str = ""


class PairJudgment(msgspec.Struct, frozen=True, kw_only=True):
    """What a verifier says of one case, and what asking took."""

    verdict: Verdict
    """Holds only quotes that were found: without both it is not grounded."""
    tokens: int = 0

    @property
    def chance(self) -> float:
        """The probability of *invalidates* that the judgment implies."""
        if self.verdict.stale is not None:
            return float(self.verdict.stale)
        confidence = float(self.verdict.confidence)
        match self.verdict.answer:
            case Answer.INVALIDATES:
                return confidence
            case Answer.COMPATIBLE:
                return 1.0 - confidence
            case Answer.UNSURE:
                return 0.5

    def ruling(self, policy: Policy) -> Ruling:
        """What a return decides from it."""
        found = bool(self.verdict.item_quote and self.verdict.evidence_quote)
        return ruling(self.verdict, policy, grounded=lambda: found)


PairVerifier = Callable[[Sequence[LabelledPair]], Sequence[PairJudgment | None]]
"""One judgment per case, in order; None where there is no usable answer."""


class JudgedPair(msgspec.Struct, frozen=True, kw_only=True):
    """One case and its outcome. A case without a usable answer is as open as in a return."""

    case: LabelledPair
    judgment: PairJudgment | None
    ruling: Ruling

    @property
    def right(self) -> bool:
        return (self.ruling is Ruling.INVALID) == self.case.invalidates


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """True and false positive rates at a threshold."""

    at: str
    tpr: scores.IntervalEstimate
    fpr: scores.IntervalEstimate


class PairReport(msgspec.Struct, frozen=True, kw_only=True):
    """A verifier's figures on a set of labeled pairs under one rule, each with its interval."""

    rule: str
    cases: int
    positives: int
    taken_out: Rates
    """Rates of pairs that take their item out."""
    withheld: Rates
    """Rates of pairs that withhold a critical item: these, and those that are doubtful or open."""
    open: int
    unanswered: int
    auc: scores.IntervalEstimate
    ece: float
    reliability: tuple[scores.Bin, ...]
    tokens_per_pair: float
    seed: int
    judged: tuple[JudgedPair, ...]


class Rule(msgspec.Struct, frozen=True):
    """Which part of a judgment decides, and at which threshold."""

    name: str
    taken_out: str
    withheld: str


def one_score(policy: Policy) -> Rule:
    """The score and the policy's two thresholds."""
    return Rule("one score", f"score ≥ {policy.evidence.invalid_at}", f"score ≥ {policy.evidence.suspect_at}")


def three_answers(policy: Policy) -> Rule:
    """The answer and the least confidence, as for verdicts without a score."""
    least = policy.paper.min_confidence
    return Rule("three answers", f"invalidates ≥ {least}", f"not compatible ≥ {least}")


def evaluate(
    cases: Sequence[LabelledPair],
    verifier: PairVerifier,
    *,
    policy: Policy | None = None,
    rule: Rule | None = None,
    seed: int = 0,
    resamples: int = 1_000,
) -> PairReport:
    """Judge every case once, and decide as a return under this policy does. ``rule`` only names what decides.

    For ranking and calibration, no answer counts as even odds: it says nothing either way.
    """
    policy = Policy() if policy is None else policy
    rule = one_score(policy) if rule is None else rule
    positives = sum(case.invalidates for case in cases)
    if not 0 < positives < len(cases):
        raise RecordError(f"cases: {positives} of {len(cases)} invalidate; both kinds are needed to measure anything")
    answers = verifier(cases)
    if len(answers) != len(cases):
        raise RecordError(f"verifier: gave {len(answers)} judgments for {len(cases)} cases; one for each is needed")
    judged = tuple(
        JudgedPair(case=case, judgment=judgment, ruling=Ruling.OPEN if judgment is None else judgment.ruling(policy))
        for case, judgment in zip(cases, answers, strict=True)
    )
    chances = [0.5 if judgment is None else judgment.chance for judgment in answers]
    labels = [case.invalidates for case in cases]

    def rates(at: str, caught: list[bool]) -> Rates:
        tpr, fpr = scores.estimate_rates(caught, labels, seed=seed, resamples=resamples)
        return Rates(at=at, tpr=tpr, fpr=fpr)

    bins = scores.reliability(chances, labels)
    return PairReport(
        rule=rule.name,
        cases=len(cases),
        positives=positives,
        taken_out=rates(rule.taken_out, [one.ruling is Ruling.INVALID for one in judged]),
        withheld=rates(rule.withheld, [one.ruling is not Ruling.COMPATIBLE for one in judged]),
        open=sum(one.judgment is not None and one.ruling is Ruling.OPEN for one in judged),
        unanswered=sum(judgment is None for judgment in answers),
        auc=scores.estimate_auc(chances, labels, seed=seed, resamples=resamples),
        ece=scores.calibration_error(bins),
        reliability=bins,
        tokens_per_pair=sum(judgment.tokens for judgment in answers if judgment is not None) / len(cases),
        seed=seed,
        judged=judged,
    )


class Loaded(NamedTuple):
    """Cases of one file, and how many of its rows hold no case."""

    cases: list[LabelledPair]
    skipped: int


class _DefeasibleRow(msgspec.Struct):
    premise: str | None = msgspec.field(name="Premise")
    hypothesis: str | None = msgspec.field(name="Hypothesis")
    update: str | None = msgspec.field(name="Update")
    update_type: str = msgspec.field(name="UpdateType")


def load_cases(path: Path, *, seed: int = 0) -> Loaded:
    """Cases from any of the three formats, recognized by the first row's fields."""
    rows = read_lines(path, dict[str, Any])
    first = rows[0] if rows else {}
    if "M_old" in first:
        return Loaded(stale_cases(read_lines(path, StalePair), seed=seed), 0)
    if "UpdateType" in first:
        return _defeasible(path)
    return Loaded(read_lines(path, LabelledPair), 0)


def stale_cases(pairs: Sequence[StalePair], *, seed: int = 0) -> list[LabelledPair]:
    """Every pair, and as many crossed ones: each old statement beside the new statement of another pair.

    Crossing stays within a type. STALE has no negatives of its own; a crossed pair can by chance be a true one.
    """
    found: list[LabelledPair] = []
    for kind in ("T1", "T2"):
        own = [pair for pair in pairs if pair.type == kind]
        partners = _partners(own, random.Random(f"{seed}:{kind}"))  # noqa: S311 - a seeded experiment
        for pair, partner in zip(own, partners, strict=True):
            found.append(LabelledPair(id=f"{pair.uid}", old=pair.old, new=pair.new, invalidates=True))
            if partner is not None:
                found.append(
                    LabelledPair(id=f"{pair.uid}×{partner.uid}", old=pair.old, new=partner.new, invalidates=False)
                )
    return found


def _partners(pairs: Sequence[StalePair], generator: random.Random) -> list[StalePair | None]:
    """Each pair's partner: the next one in a shuffled circle, so that none is its own and each serves once."""
    circle = list(range(len(pairs)))
    generator.shuffle(circle)
    after = {circle[at]: circle[(at + 1) % len(circle)] for at in range(len(circle))}
    return [pairs[after[at]] if after[at] != at else None for at in range(len(pairs))]


def _defeasible(path: Path) -> Loaded:
    """A weakener invalidates the hypothesis that was drawn from the premise; a strengthener does not."""
    cases: list[LabelledPair] = []
    rows = read_lines(path, _DefeasibleRow)
    for number, row in enumerate(rows, start=1):
        if row.premise and row.hypothesis and row.update and row.update_type in ("weakener", "strengthener"):
            old = f"{row.premise} So: {row.hypothesis}"
            weakens = row.update_type == "weakener"
            cases.append(LabelledPair(id=f"{path.stem}:{number}", old=old, new=row.update, invalidates=weakens))
    return Loaded(cases, len(rows) - len(cases))

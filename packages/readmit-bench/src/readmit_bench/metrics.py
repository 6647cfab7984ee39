"""Every metric the paper reports (appendix "Metric definitions"), from one outcome per episode.

Scores are exact fractions in [0, 1]: identities such as IIR ≤ min(SR, PR) hold without a tolerance.
``percent`` turns one into the unit of the tables. An episode that failed is an outcome with every
judgment false, never a missing row, so that the denominator stays what was planned.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar

from readmit.errors import RecordError
from readmit.events import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Condition = Literal["old-valid", "old-stale"]
OLD_VALID: Condition = "old-valid"
OLD_STALE: Condition = "old-stale"


class StaleOutcome(Record, frozen=True, kw_only=True):
    """The three binary judgments of one STALE episode."""

    episode: str
    sr: bool
    pr: bool
    ipa: bool


class MemoraOutcome(Record, frozen=True, kw_only=True):
    """The judgments of one question's criteria: true where the criterion is satisfied."""

    episode: str
    presence: tuple[bool, ...]
    forgetting: tuple[bool, ...]

    def __post_init__(self) -> None:
        if not self.presence or not self.forgetting:
            raise RecordError(
                f"episode {self.episode}: presence and forgetting need at least one criterion each "
                f"(got {len(self.presence)} and {len(self.forgetting)}); leave the question out of the case set"
            )


class ManBenchOutcome(Record, frozen=True, kw_only=True):
    """Which of the two candidates entered the view, and whether the final answer was right.

    ``correct`` is None where no answer was asked for: admission is then scored without Overall and RSR.
    """

    episode: str
    condition: Condition
    valid_admitted: bool
    invalid_admitted: bool
    correct: bool | None = None


@dataclass(frozen=True)
class StaleScores:
    """SR, PR and IPA are the tables' Dim1 to Dim3; VIA is IPA."""

    overall: Fraction
    sr: Fraction
    pr: Fraction
    ipa: Fraction
    via: Fraction
    iir: Fraction
    wsar: Fraction
    ls: Fraction


@dataclass(frozen=True)
class MemoraScores:
    """VIA and IIR are the mean P and F, the presence and forgetting accuracies; ``w`` is the mean weight."""

    overall: Fraction
    via: Fraction
    iir: Fraction
    wsar: Fraction
    fama: Fraction
    w: Fraction


@dataclass(frozen=True)
class ManBenchScores:
    """``rsr`` is defined on Old-Valid alone; ``overall`` needs answers."""

    via: Fraction
    iir: Fraction
    wsar: Fraction
    overall: Fraction | None
    rsr: Fraction | None


@dataclass(frozen=True)
class Criteria:
    """P, F and w of one Memora question."""

    p: Fraction
    f: Fraction
    w: Fraction

    @property
    def pooled(self) -> Fraction:
        """The share of all criteria satisfied: (1 − w)·P + w·F."""
        return (1 - self.w) * self.p + self.w * self.f

    @property
    def fama(self) -> Fraction:
        """Memora's native score: the remembered share, less the share that should have been forgotten."""
        return max(Fraction(0), self.p - self.w * (1 - self.f))


def criteria(outcome: MemoraOutcome) -> Criteria:
    """Count one question's criteria."""
    presence, forgetting = outcome.presence, outcome.forgetting
    return Criteria(
        p=Fraction(sum(presence), len(presence)),
        f=Fraction(sum(forgetting), len(forgetting)),
        w=Fraction(len(forgetting), len(presence) + len(forgetting)),
    )


def stale_values(outcome: StaleOutcome) -> dict[str, Fraction]:
    """Each metric's value in one episode. Conjunctions are taken here, within the episode."""
    s, p, i = outcome.sr, outcome.pr, outcome.ipa
    return {
        "overall": Fraction(s + p + i, 3),
        "sr": Fraction(s),
        "pr": Fraction(p),
        "ipa": Fraction(i),
        "via": Fraction(i),
        "iir": Fraction(s and p),
        "wsar": 1 - Fraction(s and p),
        "ls": Fraction(s and p and i),
    }


def memora_values(outcome: MemoraOutcome) -> dict[str, Fraction]:
    """Each metric's value in one question."""
    of = criteria(outcome)
    return {"overall": of.pooled, "via": of.p, "iir": of.f, "wsar": 1 - of.f, "fama": of.fama, "w": of.w}


def manbench_values(outcome: ManBenchOutcome) -> dict[str, Fraction]:
    """Each metric's value in one episode; RSR only where the question is unchanged."""
    values = {
        "via": Fraction(outcome.valid_admitted),
        "iir": Fraction(not outcome.invalid_admitted),
        "wsar": Fraction(outcome.invalid_admitted),
    }
    if outcome.correct is not None:
        values["overall"] = Fraction(outcome.correct)
        if outcome.condition == OLD_VALID:
            values["rsr"] = Fraction(not outcome.correct)
    return values


def score_stale(outcomes: Sequence[StaleOutcome]) -> StaleScores:
    """One stratum's scores."""
    return StaleScores(**_mean_of("STALE", [stale_values(o) for o in outcomes]))


def score_memora(outcomes: Sequence[MemoraOutcome]) -> MemoraScores:
    """One departure point's scores."""
    return MemoraScores(**_mean_of("Memora", [memora_values(o) for o in outcomes]))


def score_manbench(outcomes: Sequence[ManBenchOutcome]) -> ManBenchScores:
    """One condition's scores; the mean over both conditions is ``average``."""
    if len({o.condition for o in outcomes}) > 1:
        raise RecordError("condition: a ManBench block holds one condition; score Old-Valid and Old-Stale apart")
    answered = {o.correct is not None for o in outcomes}
    if len(answered) > 1:
        raise RecordError("correct: some episodes of the block have no answer; count an unanswered episode as false")
    means = _mean_of("ManBench", [manbench_values(o) for o in outcomes])
    return ManBenchScores(
        via=means["via"], iir=means["iir"], wsar=means["wsar"], overall=means.get("overall"), rsr=means.get("rsr")
    )


def _mean_of(what: str, values: Sequence[dict[str, Fraction]]) -> dict[str, Fraction]:
    if not values:
        raise RecordError(f"{what}: the block holds no episode; drop the empty stratum or fix the case selection")
    return {name: sum((v[name] for v in values), Fraction(0)) / len(values) for name in values[0]}


S = TypeVar("S", StaleScores, MemoraScores, ManBenchScores)


def pooled(blocks: Mapping[str, tuple[S, int]]) -> S:
    """Aggregate with each block weighted by its episode count (Qwen on STALE: 64, 64, 72)."""
    total = sum(count for _, count in blocks.values())
    empty = [name for name, (_, count) in blocks.items() if count < 1]
    if empty or not total:
        raise RecordError(f"blocks: {empty or 'none given'} hold no episode; drop the empty stratum")
    return _weighted([(scores, Fraction(count, total)) for scores, count in blocks.values()])


def average(blocks: Mapping[str, S]) -> S:
    """Aggregate with equal weights (Memora, ManBench, and Gemini and DeepSeek on STALE)."""
    if not blocks:
        raise RecordError("blocks: nothing to average; give at least one block")
    return _weighted([(scores, Fraction(1, len(blocks))) for scores in blocks.values()])


def _weighted(parts: Sequence[tuple[S, Fraction]]) -> S:
    kind = type(parts[0][0])
    merged: dict[str, Fraction | None] = {}
    for field in fields(kind):
        column = [(getattr(scores, field.name), weight) for scores, weight in parts]
        # A metric that one block does not define (RSR on Old-Stale) has no aggregate: the tables say n/a.
        absent = any(value is None for value, _ in column)
        merged[field.name] = None if absent else sum((value * weight for value, weight in column), Fraction(0))
    return kind(**merged)  # type: ignore[arg-type]  # field names come from the class itself


def percent(value: Fraction, digits: int = 2) -> float:
    """The table's unit, rounded half to even on the exact value."""
    return float(round(value * 100, digits))


def harmonic_mean(via: Fraction, iir: Fraction) -> Fraction:
    """Retention and rejection at once: zero as soon as one of them is."""
    return 2 * via * iir / (via + iir) if via + iir else Fraction(0)

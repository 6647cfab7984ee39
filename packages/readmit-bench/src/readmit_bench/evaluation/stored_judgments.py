"""Judgments that a model gave earlier, read from a file and decided again.

One JSON object per line: ``old``, ``new``, ``invalidates`` (the label), and a score (``stale`` or ``mistaken``), or an
``answer`` with its ``confidence``, or both; optionally ``id``, ``use``, ``item_quote``, ``evidence_quote`` and
``premise``. Quotes are looked up as in a return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from readmit import Answer, Pair, Verdict
from readmit.lab import Judgment, PairCase, digest, grounded, share, verdict_of
from readmit_bench.evaluation.development import StalePair, read_lines
from readmit_bench.evaluation.pairs import LabelledPair, PairJudgment, Rule, one_score, three_answers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit import Policy
    from readmit_bench.evaluation.pairs import PairVerifier

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class StoredJudgment(msgspec.Struct, frozen=True, kw_only=True):
    """One line. Fields that are not read are ignored."""

    old: str
    new: str
    invalidates: bool
    id: str = ""
    use: str = ""
    stale: Share | None = None
    mistaken: Share | None = None
    """The score, under the name of the prompt that asked for it."""
    answer: Answer | None = None
    confidence: Share = 0.0
    item_quote: str = ""
    evidence_quote: str = ""
    premise: str = ""

    @property
    def score(self) -> float | None:
        return self.mistaken if self.stale is None else self.stale


class StoredJudgments(NamedTuple):
    """The cases of some files, and the judgments on them by deciding rule."""

    cases: list[LabelledPair]
    said: list[tuple[Rule, PairVerifier]]


def holds_judgments(path: Path) -> bool:
    """Whether a file is in this format, judging by its first row."""
    rows = read_lines(path, dict[str, Any])
    return bool(rows) and "old" in rows[0] and not {"stale", "mistaken", "answer"}.isdisjoint(rows[0])


def load_stored(paths: Sequence[Path], policy: Policy) -> StoredJudgments:
    """Every line as a case, with verifiers that repeat the stored scores and answers."""
    rows = {
        _case(row, f"{path.stem}:{number}"): row
        for path in paths
        for number, row in enumerate(read_lines(path, StoredJudgment), start=1)
    }
    said: list[tuple[Rule, PairVerifier]] = []
    if any(row.score is not None for row in rows.values()):
        said.append((one_score(policy), lambda asked: [_scored(case, rows[case], policy) for case in asked]))
    if any(row.answer is not None for row in rows.values()):
        said.append((three_answers(policy), lambda asked: [_answered(case, rows[case]) for case in asked]))
    return StoredJudgments(list(rows), said)


def _case(row: StoredJudgment, name: str) -> LabelledPair:
    return LabelledPair(id=row.id or name, old=row.old, new=row.new, invalidates=row.invalidates)


def _scored(case: LabelledPair, row: StoredJudgment, policy: Policy) -> PairJudgment | None:
    if row.score is None:
        return None
    judgment = Judgment(
        statement=1, item_quote=row.item_quote, evidence_quote=row.evidence_quote, premise=row.premise, stale=row.score
    )
    shown = PairCase(pair=_pair(case), item_text=case.old, evidence_text=case.new)
    return PairJudgment(verdict=verdict_of(shown, judgment, suspect_at=policy.evidence.suspect_at))


def _answered(case: LabelledPair, row: StoredJudgment) -> PairJudgment | None:
    if row.answer is None:
        return None
    return PairJudgment(
        verdict=Verdict(
            pair=_pair(case),
            answer=row.answer,
            confidence=share(row.confidence),
            item_quote=grounded(row.item_quote, case.old),
            evidence_quote=grounded(row.evidence_quote, case.new),
        )
    )


def _pair(case: LabelledPair) -> Pair:
    return Pair(item=digest(case.id), evidence=digest(case.new))


class _EarlyJudgment(msgspec.Struct):
    old_uid: str
    new_uid: str
    true_pair: bool
    invalidates: bool
    confidence: float


def stored_judgments(data: Path) -> tuple[list[LabelledPair], PairVerifier]:
    """Development cases that a strong model judged without quotes, and a verifier that repeats its judgments."""
    pairs = {pair.uid: pair for pair in read_lines(data / "stale" / "pairs.jsonl", StalePair)}
    cases: list[LabelledPair] = []
    said: dict[str, PairJudgment] = {}
    for row in read_lines(data / "stale" / "pair_judgments.jsonl", _EarlyJudgment):
        old, new = pairs[row.old_uid].old, pairs[row.new_uid].new
        case = LabelledPair(id=f"{row.old_uid}×{row.new_uid}", old=old, new=new, invalidates=row.true_pair)
        cases.append(case)
        verdict = Verdict(
            pair=_pair(case),
            answer=Answer.INVALIDATES if row.invalidates else Answer.COMPATIBLE,
            confidence=share(row.confidence),
            # It was not asked for quotes, so its judgments count as quoting the whole texts.
            item_quote=old,
            evidence_quote=new,
        )
        said[case.id] = PairJudgment(verdict=verdict)
    return cases, lambda asked: [said.get(case.id) for case in asked]

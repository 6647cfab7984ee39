"""Scoring a view itself, without any model: which valid and which stale statements are in it.

Memora's rubric values and STALE's statements are literal strings, so availability and rejection follow from
their presence in the view, case-folded and with white space collapsed. Paraphrase goes unseen: ``ceiling``
says what a view holding the whole history would score, so that a figure can be read against it. ManBench
candidates are scored by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.bench.datasets.stale import StaleLabels
from readmit.bench.metrics import ManBenchOutcome, MemoraOutcome
from readmit.bench.notes import text
from readmit.bench.wording import fold_typeset

if TYPE_CHECKING:
    from readmit.bench.datasets.manbench import ManBenchLabels
    from readmit.bench.datasets.memora import MemoraLabels
    from readmit.bench.episodes import Case, Checkpoint, View


def statements(labels: MemoraLabels | StaleLabels) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What holds at return and what does not: (valid, stale)."""
    if isinstance(labels, StaleLabels):
        return (labels.new,), (labels.old,)
    return labels.valid, labels.stale


def score_view(case: Case[MemoraLabels] | Case[StaleLabels], view: View, checkpoint: Checkpoint) -> MemoraOutcome:
    """Presence of each valid statement and absence of each stale one."""
    return _score(case, text(view, checkpoint))


def ceiling(case: Case[MemoraLabels] | Case[StaleLabels]) -> MemoraOutcome:
    """The score of the user's whole history: what literal matching can see at all."""
    turns = (turn.text for s in case.episode.sessions for turn in s.turns if turn.speaker == "user")
    return _score(case, "\n".join(turns))


def score_candidates(case: Case[ManBenchLabels], view: View) -> ManBenchOutcome:
    """Which of the two candidates the view admits."""
    return ManBenchOutcome(
        episode=case.episode.id,
        condition=case.labels.condition,
        valid_admitted=case.labels.valid in view.rows,
        invalid_admitted=case.labels.invalid in view.rows,
    )


def _score(case: Case[MemoraLabels] | Case[StaleLabels], text: str) -> MemoraOutcome:
    folded = fold_typeset(text)
    valid, stale = statements(case.labels)
    return MemoraOutcome(
        episode=case.episode.id,
        presence=tuple(fold_typeset(statement) in folded for statement in valid),
        forgetting=tuple(fold_typeset(statement) not in folded for statement in stale),
    )

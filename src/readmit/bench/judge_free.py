"""Scoring a view itself, without any model: which valid and which stale statements are in it.

Memora's rubric values and STALE's statements are literal strings, so availability and rejection follow from their
presence in the view, case-folded and with white space collapsed. A part of a statement that an extractor drew from the
very turn that says it counts as the statement, where it holds and where it ended. Paraphrase goes unseen: ``ceilings``
says what a view of the whole history would score, so that a figure can be read against it. ManBench candidates are
scored by their ids.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from readmit.bench.datasets.stale import StaleLabels
from readmit.bench.metrics import ManBenchOutcome, MemoraOutcome, percent, score_memora
from readmit.bench.notes import handed, text
from readmit.bench.wording import fold_typeset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.bench.datasets.manbench import ManBenchLabels
    from readmit.bench.datasets.memora import MemoraLabels
    from readmit.bench.episodes import Case, Checkpoint, Episode, View


def statements(labels: MemoraLabels | StaleLabels) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What holds at return and what does not: (valid, stale)."""
    if isinstance(labels, StaleLabels):
        return (labels.new,), (labels.old,)
    return labels.valid, labels.stale


def score_view(case: Case[MemoraLabels] | Case[StaleLabels], view: View, checkpoint: Checkpoint) -> MemoraOutcome:
    """Presence of each valid statement and absence of each stale one."""
    return _score(case, fold_typeset(text(view, checkpoint)), _parts(view, checkpoint))


def ceiling(case: Case[MemoraLabels] | Case[StaleLabels]) -> MemoraOutcome:
    """The score of everything that the user said: what literal matching can see at all."""
    return _score(case, _whole(case.episode))


def ceilings(cases: Sequence[Case[Any]]) -> tuple[str, ...]:
    """For each benchmark with histories, that score over all its cases, as a note."""
    found: dict[str, list[MemoraOutcome]] = {}
    histories = [case for case in cases if case.episode.benchmark != "manbench"]
    for _, shared in groupby(histories, key=lambda case: id(case.episode.sessions)):
        same = list(shared)
        whole = _whole(same[0].episode)
        found.setdefault(same[0].episode.benchmark, []).extend(_score(case, whole) for case in same)
    notes = []
    for benchmark, outcomes in found.items():
        most = score_memora(outcomes)
        notes.append(
            f"Literal matching sees no paraphrase: a view of everything that the user said would score VIA "
            f"{percent(most.via):.2f} and IIR {percent(most.iir):.2f} on {benchmark}."
        )
    return tuple(notes)


def score_candidates(case: Case[ManBenchLabels], view: View) -> ManBenchOutcome:
    """Which of the two candidates the view admits."""
    return ManBenchOutcome(
        episode=case.episode.id,
        condition=case.labels.condition,
        valid_admitted=case.labels.valid in view.rows,
        invalid_admitted=case.labels.invalid in view.rows,
    )


def _whole(episode: Episode) -> str:
    return fold_typeset("\n".join(turn.text for s in episode.sessions for turn in s.turns if turn.speaker == "user"))


def _parts(view: View, checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """What is handed over of turns that statements were drawn from: the words, and the whole turn."""
    turns = {row.id: row.text for row in checkpoint.observations}
    rows = {row.id: row.turn for row in checkpoint.rows if row.turn is not None}
    return [
        (fold_typeset(words), fold_typeset(turns[rows[name]]))
        for name, words in handed(view, checkpoint).items()
        if name in rows
    ]


def _score(
    case: Case[MemoraLabels] | Case[StaleLabels], folded: str, parts: Sequence[tuple[str, str]] = ()
) -> MemoraOutcome:
    def shown(statement: str) -> bool:
        wanted = fold_typeset(statement)
        return wanted in folded or any(wanted in turn and words in wanted for words, turn in parts)

    valid, stale = statements(case.labels)
    return MemoraOutcome(
        episode=case.episode.id,
        presence=tuple(shown(statement) for statement in valid),
        forgetting=tuple(not shown(statement) for statement in stale),
    )

"""Scores a view itself, without any model: which valid and which stale statements are in it.

Memora's rubric values and STALE's statements are literal strings, so availability and rejection follow from their
presence in the view, case-folded and with white space collapsed. A value is counted by what is said of it
(``polarity``): what is to be avoided has to be spoken against, and "I no longer like X" neither makes X available nor
hands it over as if it held. STALE's statements are whole sentences and are compared as they are. A part of a statement
that an extractor drew from the very turn that says it counts as the statement, where it holds and where it ended.

Paraphrase is not recognized. ``ceiling`` says what the whole history would score, and ``reach`` what any view drawn
from the checkpoint could, so that a figure can be read against what was possible. ManBench candidates are scored by
their ids.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from readmit_bench.episodes import View
from readmit_bench.metrics import ManBenchOutcome, MemoraOutcome, percent, score_memora
from readmit_bench.notes import handed, text
from readmit_bench.polarity import Spoken
from readmit_bench.spellings import fold_typeset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit_bench.datasets.manbench_cases import ManBenchLabels
    from readmit_bench.episodes import Case, Checkpoint, Episode, Wanted


def score_view(case: Case[Any], view: View, checkpoint: Checkpoint) -> MemoraOutcome:
    """Presence of each valid statement and absence of each stale one."""
    return _score(case, Spoken(text(view, checkpoint)), _parts(view, checkpoint))


def reach(case: Case[Any], checkpoint: Checkpoint) -> MemoraOutcome:
    """The most that a view drawn from the checkpoint could score: every valid statement that some row says.

    An upper bound: one row for each statement need not fit the budget, and a row may say something stale as well. Ended
    statements can always be left out.
    """
    rows = tuple(row.id for row in (*checkpoint.observations, *checkpoint.rows))
    everything = score_view(case, View(method="", rows=rows), checkpoint)
    return msgspec.structs.replace(everything, forgetting=(True,) * len(everything.forgetting))


def ceiling(case: Case[Any]) -> MemoraOutcome:
    """The score of everything that the user said, which is the most that literal matching can find."""
    return _score(case, _whole(case.episode))


def ceilings(cases: Sequence[Case[Any]]) -> tuple[str, ...]:
    """For each benchmark with histories, that score over all its cases, as a note."""
    found: dict[str, list[MemoraOutcome]] = {}
    histories = [case for case in cases if case.episode.sessions]
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


def _whole(episode: Episode) -> Spoken:
    return Spoken("\n".join(turn.text for s in episode.sessions for turn in s.turns if turn.speaker == "user"))


def _parts(view: View, checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """The handed-over words of turns that statements were drawn from, each with its whole turn."""
    turns = {row.id: row.text for row in checkpoint.observations}
    rows = {row.id: row.turn for row in checkpoint.rows if row.turn is not None}
    return [
        (fold_typeset(words), fold_typeset(turns[rows[name]]))
        for name, words in handed(view, checkpoint).items()
        if name in rows
    ]


def _score(case: Case[Any], spoken: Spoken, parts: Sequence[tuple[str, str]] = ()) -> MemoraOutcome:
    def shown(statement: Wanted) -> bool:
        if statement.polarity is not None:
            return statement.polarity in spoken.polarities(statement.text)
        wanted = fold_typeset(statement.text)
        return wanted in spoken.folded or any(wanted in turn and words in wanted for words, turn in parts)

    valid, stale = case.labels.statements()
    return MemoraOutcome(
        episode=case.episode.id,
        presence=tuple(shown(statement) for statement in valid),
        forgetting=tuple(not shown(statement) for statement in stale),
    )

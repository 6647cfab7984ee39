"""A view as the returning agent reads it: notes in time order, each with its date, or the product's brief form.

Every memory store knows when something was stored, so every method's view shows it; otherwise the reader could not see
which of two statements is later. An extracted row is shown by the extractor's sentence where the words that it rests on
carry it, as the product would record it; otherwise with those words, which alone are often no sentence ("Not really,
just mornings"), while the sentence alone would be the extractor's word. A row is not repeated beside its whole turn.
ManBench's candidates carry their own task version and keep their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.lab import EndedNote, StandingNote, brief_lines, worded
from readmit_bench.retrieval import CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit_bench.episodes import Checkpoint, Row, View
    from readmit_bench.settings import ActorForm


def handed(view: View, checkpoint: Checkpoint) -> dict[str, str]:
    """The handed-over words of each row, in the view's order."""
    rows = _rows(checkpoint)
    return {name: view.excerpts.get(name, rows[name].text) for name in view.rows}


def text(view: View, checkpoint: Checkpoint) -> str:
    """Everything that the view says, a note a line, without when: what the judge-free score looks at."""
    return "\n".join((*(_said(row, words) for row, words in _noted(view, checkpoint)), *view.memories))


def notes(view: View, checkpoint: Checkpoint, *, form: ActorForm = "notes", asked: str = "") -> str:
    """The same as the agent reads it, and what it is reminded of as withdrawn. ``asked`` is the task that it is for."""
    if form == "brief":
        return "\n".join(_brief(view, checkpoint, asked)).strip()
    dates = {session.index: session.at for session in checkpoint.history}
    lines = [_dated(row, dates) + _said(row, words) for row, words in _noted(view, checkpoint)]
    return "\n".join((*lines, *view.memories, *_withdrawn(view, checkpoint)))


def _brief(view: View, checkpoint: Checkpoint, asked: str) -> Iterator[str]:
    """As the product renders it: what supports a planned need first, then the rest, each in time order."""
    dates = {session.index: session.at for session in checkpoint.history}
    rows, words = _rows(checkpoint), handed(view, checkpoint)
    noted = sorted(_noted(view, checkpoint), key=lambda one: one[0].id not in view.linked)
    new = ("new since you left",)
    standing = [StandingNote(_said(row, said), _when(row, dates), () if row.departure else new) for row, said in noted]
    ended = []
    for one in view.withdrawn:
        instead = rows.get(one.instead)
        said, since = ("", "") if instead is None else (_said(instead, words[instead.id]), _when(instead, dates))
        ended.append(EndedNote(text=_said(rows[one.row], one.text), since=since, instead=said))
    kept = [StandingNote(text) for text in view.memories]
    return brief_lines({"Holds now": standing, "Own experiences": kept}, ended, asked=asked)


def _withdrawn(view: View, checkpoint: Checkpoint) -> Iterator[str]:
    rows, words = _rows(checkpoint), handed(view, checkpoint)
    for one in view.withdrawn:
        instead = f"; instead: {_said(rows[one.instead], words[one.instead])}" if one.instead else ""
        yield f"No longer holds: {_said(rows[one.row], one.text)}{instead}"


def _rows(checkpoint: Checkpoint) -> dict[str, Row]:
    return {row.id: row for row in (*checkpoint.observations, *checkpoint.rows)}


def _noted(view: View, checkpoint: Checkpoint) -> list[tuple[Row, str]]:
    rows, words = _rows(checkpoint), handed(view, checkpoint)
    listed = [(rows[name], said) for name, said in words.items() if said not in words.get(rows[name].turn or "", "")]
    return sorted(listed, key=lambda one: one[0].at) if checkpoint.history else listed


def _said(row: Row, words: str) -> str:
    if not row.statement:
        return words
    found = worded(row.statement, words, words)
    return row.statement if found is not None and found[0] == row.statement else f"{row.statement} (“{words}”)"


def _when(row: Row, dates: dict[int, str]) -> str:
    return dates.get(row.at // CLOCK, "")


def _dated(row: Row, dates: dict[int, str]) -> str:
    when = _when(row, dates)
    return "" if not when else f"[{when}, {'before you left' if row.departure else 'while you were away'}] "

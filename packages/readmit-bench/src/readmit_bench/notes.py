"""A view as the returning agent reads it: notes in time order, each with its date.

Every memory store knows when something was stored, so every method's view shows it; otherwise the reader could not see
which of two statements is later. An extracted row is shown by the extractor's sentence with the words that it rests on:
the words alone are often no sentence ("Not really, just mornings"), and the sentence alone would be the extractor's
word. A row is not repeated beside its whole turn. ManBench's candidates carry their own task
version and keep their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.retrieval import CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit_bench.episodes import Checkpoint, Row, View


def handed(view: View, checkpoint: Checkpoint) -> dict[str, str]:
    """What is handed over of each row, in its own words, in the view's order."""
    rows = _rows(checkpoint)
    return {name: view.excerpts.get(name, rows[name].text) for name in view.rows}


def text(view: View, checkpoint: Checkpoint) -> str:
    """Everything that the view says, a note a line, without when: what the judge-free score looks at."""
    return "\n".join((*(_said(row, words) for row, words in _noted(view, checkpoint)), *view.memories))


def notes(view: View, checkpoint: Checkpoint) -> str:
    """The same as the agent reads it, and what it is reminded of as withdrawn."""
    dates = {session.index: session.at for session in checkpoint.history}
    lines = [_dated(row, dates) + _said(row, words) for row, words in _noted(view, checkpoint)]
    return "\n".join((*lines, *view.memories, *_withdrawn(view, checkpoint)))


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
    return f"{row.statement} (“{words}”)" if row.statement else words


def _dated(row: Row, dates: dict[int, str]) -> str:
    when = dates.get(row.at // CLOCK)
    return "" if when is None else f"[{when}, {'before you left' if row.departure else 'while you were away'}] "

"""The returning agent's answers: the view as notes, and each task as a message or a question to choose on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from readmit.errors import RecordError
from readmit.models import Failure, Reply
from readmit_bench.notes import notes
from readmit_bench.prompt_requests import request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Ask, Model
    from readmit_bench.episodes import Checkpoint, View
    from readmit_bench.settings import ActorForm

NOTHING = "(no notes)"

_CHOICE = re.compile(r"^\(([A-Z])\) (.*)$", re.MULTILINE)


def respond(
    actor: Model, checkpoint: Checkpoint, view: View, *, form: ActorForm = "notes", max_tokens: int
) -> tuple[str, ...]:
    """One answer per task, all asked at once."""
    given = [notes(view, checkpoint, form=form, asked=task) or NOTHING for task in checkpoint.tasks]
    asks = [
        request("respond@1", "answer", [("notes", shown), ("message", task)], max_tokens=max_tokens)
        for shown, task in zip(given, checkpoint.tasks, strict=True)
    ]
    return tuple(texts(actor, asks))


def choose(actor: Model, question: str, given: str, *, max_tokens: int, stage: str = "answer") -> str:
    """The choice the actor takes, as it is printed; its own words if they match no choice."""
    sections = [("question", question), *([("notes", given)] if given else [])]
    (said,) = texts(actor, [request("choose@1", stage, sections, max_tokens=max_tokens)])
    return chosen(said, choices_in(question))


def choices_in(question: str) -> tuple[tuple[str, str], ...]:
    """The lettered choices that a question prints."""
    return tuple((letter, text.strip()) for letter, text in _CHOICE.findall(question))


def chosen(said: str, choices: Sequence[tuple[str, str]]) -> str:
    """The one choice that an answer names by letter or text; the answer itself if it names none or several."""
    plain = said.strip().strip(".'\"* ")
    # Compare as printed first: two choices may differ in case alone.
    for _, text in choices:
        if said.split() == text.split():
            return text
    for letter, text in choices:
        if plain.casefold() in (text.casefold(), letter.casefold(), f"({letter})".casefold()):
            return text
    lettered = re.match(r"\(?([A-Z])[).:]", plain)
    if lettered is not None:
        return next((text for letter, text in choices if letter == lettered[1]), plain)
    # "Not X" holds "X" as well: the longest choice that occurs is the intended one.
    held = [text for _, text in choices if text.casefold() in plain.casefold()]
    longest = max(held, key=len, default=plain)
    return longest if all(text.casefold() in longest.casefold() for text in held) else plain


class Staged:
    """A model whose requests are counted under another stage, because not every answer is the returning agent's."""

    def __init__(self, model: Model, stage: str) -> None:
        self.name = model.name
        self._model, self._stage = model, stage

    def ask(self, asks: Sequence[Ask]) -> Sequence[Reply | Failure]:
        return self._model.ask([msgspec.structs.replace(ask, stage=self._stage) for ask in asks])


def texts(model: Model, asks: Sequence[Ask]) -> list[str]:
    """The answers, or an error that says why one is missing: the runner records it as a failure."""
    results = model.ask(asks)
    said = []
    for ask, result in zip(asks, results, strict=True):
        if isinstance(result, Failure):
            raise RecordError(f"{ask.stage}: no answer from {model.name}: {result.fault}: {result.message}")
        said.append(_spoken(result))
    return said


def _spoken(reply: Reply) -> str:
    """The answer without a leading block of thoughts."""
    text = reply.text.strip()
    return text.partition("</think>")[2].strip() if text.startswith("<think>") else text

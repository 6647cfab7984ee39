"""An independent answer to a disputed question (ManBench style).

The model answers the question by itself and never sees the parties' statements. A dispute is settled only if
the model gives exactly one party's answer with enough confidence; otherwise it stays open.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure
from readmit.models.stages.checks import AROUND, line, share, too_long
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed
from readmit.records.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.models.protocols import Ask, Model

PROMPT = "answer@1"
THRESHOLD = Decimal("0.65")
"""The paper's confidence threshold."""
MAX_TOKENS = 384
"""The larger of the paper's verifier budgets."""
AROUND_CHOICE = "".join(sign for sign in AROUND if sign not in "()[]")
"""Characters around a choice that do not change it."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A disputed question, without anyone's answer to it."""

    text: str
    choices: tuple[str, ...] = ()
    """If there are any, the answer is one of them."""
    context: str = ""
    """Evidence for the answer, besides what the model knows."""

    def key(self, model: str, *, workspace: str = "") -> str:
        """The key of a stored opinion."""
        return digest((workspace, model, PROMPT, self.text, self.choices, self.context))


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """A model's independent answer to a question, with its confidence."""

    answer: str | None
    """``None``: the question cannot be answered, or the answer is not among the choices."""
    confidence: Decimal
    model: str
    prompt: str = PROMPT


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer as the model writes it."""

    reason: str
    answerable: bool
    answer: str
    confidence: float


def opine(
    model: Model,
    questions: Sequence[Question],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[Opinion | Failure]:
    """One opinion or failure per question, in order."""
    sizes = [
        max(len(visible_text(text)) for text in (one.text, one.context, "\n".join(one.choices))) for one in questions
    ]
    fits = [size <= max_chars for size in sizes]
    asks = [_ask(one, workspace, max_tokens, max_chars) for one, fit in zip(questions, fits, strict=True) if fit]
    said = iter(ask_typed(model, asks, Said))
    return [
        _checked(one, next(said), model.name) if fit else too_long("answer", "the question", size, max_chars)
        for one, fit, size in zip(questions, fits, sizes, strict=True)
    ]


def position_of(
    opinion: Opinion | Failure,
    positions: Mapping[str, str],
    threshold: Decimal = THRESHOLD,
    *,
    exact: bool = False,
) -> str | None:
    """The name of the one position that the opinion agrees with; ``None`` if the dispute stays open.

    ``exact``: positions are choices, and one that differs in a bracket is another choice.
    """
    if isinstance(opinion, Failure) or opinion.answer is None or opinion.confidence < threshold:
        return None
    agrees = _equal if exact else same
    agreeing = [name for name, text in positions.items() if agrees(text, opinion.answer)]
    return agreeing[0] if len(agreeing) == 1 else None


def choice_named(said: str, choices: Sequence[str]) -> str | None:
    """The one choice that an answer names: exactly, or ignoring case and surrounding quotes or a full stop.

    Brackets count: they can be the answer to a question.
    """
    printed = [choice for choice in dict.fromkeys(choices) if _equal(choice, said)]
    named = printed or [choice for choice in dict.fromkeys(choices) if _bare(choice) == _bare(said)]
    return named[0] if len(named) == 1 else None


def same(one: str, other: str) -> bool:
    """Whether two answers are equal, ignoring case, white space and surrounding punctuation."""
    plain = _plain(one)
    return bool(plain) and plain == _plain(other)


def _equal(one: str, other: str) -> bool:
    """Whether two answers are equal, ignoring white space."""
    return one.split() == other.split()


def _bare(text: str) -> str:
    flat = " ".join(text.split()).casefold()
    return flat.strip(AROUND_CHOICE) or flat


def _plain(text: str) -> str:
    flat = " ".join(text.split()).casefold()
    return flat.strip(AROUND) or flat


def _ask(question: Question, workspace: str, max_tokens: int, max_chars: int) -> Ask:
    sections = [Section("question", question.text)]
    if question.choices:
        sections.append(Section("choices", "\n".join(question.choices)))
    if question.context:
        sections.append(Section("context", question.context))
    return request(PROMPT, sections, workspace=workspace, max_tokens=max_tokens, max_chars=max_chars)


def _checked(question: Question, said: Said | Failure, model: str) -> Opinion | Failure:
    if isinstance(said, Failure):
        return said
    text = line(said.answer)
    known = choice_named(text, question.choices) if question.choices else text or None
    return Opinion(answer=known if said.answerable else None, confidence=share(said.confidence), model=model)

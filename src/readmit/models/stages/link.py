"""Which statements are evidence for which needs.

A link quotes its statement, and the code checks the quote: links without one are dropped and counted. A link is a
draft. The policy decides whether it counts, and the gates whether the statement stands.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure
from readmit.models.stages.checks import grounded
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from readmit.models.protocols import Ask, Model

PROMPT = "link@1"
MOST_NEEDS = 24
MOST_STATEMENTS = 40
"""Most needs, and most statements, in one request: those of a whole return share one."""
MOST_LINKS = 320
NEEDS_ANSWERED = 8
MAX_TOKENS = 1_024
"""Most tokens of an answer about so many needs; about more, as many times that."""
# The overhead of a line: its number.
_LINE_CHARS = 6


class Candidate(msgspec.Struct, frozen=True):
    """A statement that may meet a need."""

    item: str
    text: str


class NeedLook(msgspec.Struct, frozen=True):
    """One need in words, and the statements that may meet it, the likeliest first."""

    need: str
    text: str
    candidates: tuple[Candidate, ...]


class LinkQuestion(msgspec.Struct, frozen=True):
    """One request: every need is compared with every statement."""

    needs: tuple[tuple[str, str], ...]
    """Names and texts."""
    candidates: tuple[Candidate, ...]


class Tie(msgspec.Struct, frozen=True):
    """A statement, a need that it meets, and the quote that shows it."""

    need: str
    item: str
    quote: str


class LinkDrop(StrEnum):
    """Why a proposed link was dropped."""

    QUOTE_NOT_FOUND = "quote_not_found"
    """The statement does not contain its quote."""
    NOT_SHOWN = "not_shown"
    """The link names a need or a statement that was not in the request."""
    REPEATED = "repeated"
    """An earlier link joins the same statement to the same need."""


class Linking(msgspec.Struct, frozen=True):
    """The links of one request, and the dropped ones."""

    links: tuple[Tie, ...] = ()
    dropped: tuple[LinkDrop, ...] = ()

    def counts(self) -> Mapping[LinkDrop, int]:
        """How many were dropped, per reason."""
        return Counter(self.dropped)


class LinkClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One link as the model proposes it."""

    need: int
    statement: int
    quote: str


class LinkClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to one linking request."""

    links: Annotated[list[LinkClaim], msgspec.Meta(max_length=MOST_LINKS)]


def packed(looks: Sequence[NeedLook], *, max_chars: int = MAX_CHARS) -> Iterator[LinkQuestion]:
    """Pack needs and statements into as few requests as fit. A statement too long for a request is left out."""
    needs: dict[str, str] = {}
    shown: dict[str, Candidate] = {}
    for look in looks:
        rest = list(look.candidates)
        while rest:
            room = max_chars - _size(needs.values()) - _size([look.text]) - _size(one.text for one in shown.values())
            added = _fitting(rest, shown, room)
            # A need that no longer fits beside the others starts a new request.
            if len(needs) == MOST_NEEDS or (needs and len(added) < len(rest)):
                yield LinkQuestion(tuple(needs.items()), tuple(shown.values()))
                needs, shown = {}, {}
                continue
            if added:
                needs[look.need] = look.text
                shown |= {one.item: one for one in added}
            taken = {one.item for one in added}
            kept = [one for one in rest if one.item not in taken]
            # Too long even alone: it cannot be shown whole, so it is not asked about.
            rest = kept if added else []
    if needs:
        yield LinkQuestion(tuple(needs.items()), tuple(shown.values()))


def ask_links(
    model: Model,
    questions: Sequence[LinkQuestion],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[Linking | Failure]:
    """The links of each request, in order."""
    asks = [_ask(one, workspace, max_tokens, max_chars) for one in questions]
    said = ask_typed(model, asks, LinkClaims)
    return [
        one if isinstance(one, Failure) else _checked(question, one.links)
        for question, one in zip(questions, said, strict=True)
    ]


def _size(texts: Iterable[str]) -> int:
    return sum(len(_flat(text)) + _LINE_CHARS for text in texts)


def _fitting(candidates: Sequence[Candidate], shown: Mapping[str, Candidate], room: int) -> list[Candidate]:
    """The ones already shown, and as many others as fit."""
    found: list[Candidate] = []
    count = len(shown)
    for one in candidates:
        if one.item not in shown:
            size = _size([one.text])
            if count == MOST_STATEMENTS or size > room:
                continue
            room -= size
            count += 1
        found.append(one)
    return found


def _flat(text: str) -> str:
    """One line, so that no text can forge a number."""
    return " ".join(visible_text(text).split())


def _ask(question: LinkQuestion, workspace: str, max_tokens: int, max_chars: int) -> Ask:
    if not 1 <= len(question.needs) <= MOST_NEEDS or not 1 <= len(question.candidates) <= MOST_STATEMENTS:
        raise ModelError(f"link: a request takes 1 to {MOST_NEEDS} needs and 1 to {MOST_STATEMENTS} statements")
    sections = [
        Section("needs", _numbered(text for _, text in question.needs)),
        Section("statements", _numbered(one.text for one in question.candidates)),
    ]
    tokens = max_tokens * ceil(len(question.needs) / NEEDS_ANSWERED)
    return request(PROMPT, sections, workspace=workspace, max_tokens=tokens, max_chars=max_chars)


def _numbered(texts: Iterable[str]) -> str:
    return "\n".join(f"{number}: {_flat(text)}" for number, text in enumerate(texts, start=1))


def _checked(question: LinkQuestion, claims: Sequence[LinkClaim]) -> Linking:
    needs = dict(enumerate((name for name, _ in question.needs), start=1))
    shown = dict(enumerate(question.candidates, start=1))
    links: dict[tuple[str, str], Tie] = {}
    dropped: list[LinkDrop] = []
    for claim in claims:
        need, statement = needs.get(claim.need), shown.get(claim.statement)
        if need is None or statement is None:
            dropped.append(LinkDrop.NOT_SHOWN)
        elif not (quote := grounded(claim.quote, statement.text)):
            dropped.append(LinkDrop.QUOTE_NOT_FOUND)
        elif (need, statement.item) in links:
            dropped.append(LinkDrop.REPEATED)
        else:
            links[need, statement.item] = Tie(need, statement.item, quote)
    return Linking(tuple(links.values()), tuple(dropped))

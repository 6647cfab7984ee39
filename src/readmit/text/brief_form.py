"""The brief form of a view: one line a statement, in an order that a small model can follow.

First what the reader is asked about and has ended, found by shared words without a model; then what holds, in the
caller's order; then what no longer holds, as a block of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.text.escapes import inline_code, one_line, shorten_quote
from readmit.text.nearness import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SHARED_WORDS = 2
"""A question that shares this many content words with an ended statement is taken to ask about it. Set on every other
development record of STALE: of questions that presuppose the ended statement 96 % or more share them, of questions and
unrelated statements 6 % or less."""
MOST_ASKED = 3
"""Most ended statements named at the top: those that share the most words."""
ENDED, DOUBTED = "No longer holds", "In doubt"


class StandingNote(NamedTuple):
    """A statement that stands, with its date and its remarks."""

    text: str
    since: str = ""
    remarks: tuple[str, ...] = ()


class EndedNote(NamedTuple):
    """A statement that ended, or one in doubt."""

    text: str = ""
    """Its words, if they are handed over."""
    name: str = ""
    """A name for it, if they are not."""
    about: str = ""
    """Further words that a question about it may have: its slot's."""
    since: str = ""
    instead: str = ""
    """The words of what replaced it."""


def asked_about(question: str, ended: Iterable[EndedNote]) -> list[EndedNote]:
    """The ended statements that a question may presuppose, the nearest first."""
    asked = content_words(question)
    shared = [(len(asked & content_words(f"{one.text} {one.about}")), one) for one in ended]
    found = [pair for pair in shared if pair[0] >= SHARED_WORDS]
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])[:MOST_ASKED]]


def brief_lines(
    standing: Mapping[str, Sequence[StandingNote]],
    ended: Sequence[EndedNote] = (),
    doubted: Sequence[EndedNote] = (),
    *,
    asked: str = "",
) -> Iterator[str]:
    """The lines of the form. ``standing`` has the statements that stand by heading."""
    for one in asked_about(asked, ended):
        yield f"You may be asked about {_short(one)}: that {_ended_on(one)}"
    blocks = {heading: [_standing_line(one) for one in group] for heading, group in standing.items()}
    blocks[ENDED] = [f"{_said(one)}: {_ended_on(one)}" for one in ended]
    blocks[DOUBTED] = [_said(one) for one in doubted]
    for heading, lines in blocks.items():
        if lines:
            yield from ("", f"## {heading}", "", *(f"- {line}" for line in lines))


def _standing_line(one: StandingNote) -> str:
    dated = f"{one.since}: " if one.since else ""
    beside = f" ({'; '.join(one.remarks)})" if one.remarks else ""
    return f"{dated}{_quoted(one.text)}{beside}"


def _quoted(text: str) -> str:
    """A text as a quote on one line. White space is not kept."""
    return inline_code(one_line(text) or " ")


def _said(one: EndedNote) -> str:
    return _quoted(one.text) if one.text else one.name


def _short(one: EndedNote) -> str:
    return _quoted(shorten_quote(one.text)) if one.text else one.name


def _ended_on(one: EndedNote) -> str:
    words = f"ended on {one.since}" if one.since else "no longer holds"
    return f"{words}; instead: {_quoted(shorten_quote(one.instead))}" if one.instead else words

"""What a hook's context says, read as a reader of the request would read it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_BYTES = 9_500
NOT_CHECKED = "memory was not checked; treat it as unverified"
HEAD = "What readmit remembers about this repository."
OUT = "No longer holds"
QUOTING = (OUT, "In doubt", "Owed", "Holds", "New since you left")
"""Sections whose entries are texts that somebody wrote."""
_SPAN = re.compile(r"(?<!`)(`+)(?!`)( ?)(.+?)\2(?<!`)\1(?!`)")
_PARTS = re.compile(r"- @(?: \(@\))?(?:: @)?(?:; instead: @)?")
_COUNTED = re.compile(r"- \d+ more, not named here")


class Section(NamedTuple):
    """A heading of a context, and its lines."""

    title: str
    lines: list[str]


def contexts_of(texts: Iterable[str]) -> list[str]:
    """The contexts of readmit in the texts of a request, in order."""
    return [context for text in texts for context in _contexts(text)]


def _contexts(text: str) -> Iterator[str]:
    for part in re.split(f"(?={re.escape(HEAD)})", text)[1:]:
        lines = part.partition("</hook_context>")[0].split("\n")  # Gemini's frame
        end = next((at for at, line in enumerate(lines) if not line), len(lines))
        while end + 1 < len(lines) and lines[end + 1].startswith(tuple(f"## {one}" for one in (*QUOTING, "Nobody"))):
            end = next((at for at in range(end + 1, len(lines)) if not lines[at]), len(lines))
        yield "\n".join(lines[:end])


def sections_of(context: str) -> list[Section]:
    parts = context.split("\n\n")
    assert parts[0].startswith(HEAD), context
    found = [Section(one.partition("\n")[0].removeprefix("## "), one.split("\n")[1:]) for one in parts[1:]]
    assert all(one.startswith("## ") for one in parts[1:]), context
    return found


def withdrawn_in(texts: Iterable[str]) -> set[str]:
    """The statements that some context in the texts names as no longer holding."""
    return {
        span[3]
        for context in contexts_of(texts)
        for section in sections_of(context)
        if section.title.startswith(OUT)
        for line in section.lines
        if (span := _SPAN.match(line, 2))
    }


def is_fenced(context: str) -> bool:
    """Whether every text that somebody wrote stands as code on one line, beside readmit's own words alone."""
    if context in ("", NOT_CHECKED):
        return True
    return all(
        _PARTS.fullmatch(_SPAN.sub("@", line)) or _COUNTED.fullmatch(line)
        for section in sections_of(context)
        if section.title.startswith(QUOTING)
        for line in section.lines
    )

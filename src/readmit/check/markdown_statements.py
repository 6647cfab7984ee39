"""Statements of a Markdown text, with the code spans, links and words in them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from readmit.check.check_values import StatementPlace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SHELLS = {"", "sh", "bash", "shell", "console", "zsh", "shell-session"}
"""Languages of blocks whose lines are commands. Without a language, lines that begin with ``$`` are."""
LONGEST_STATEMENT = 400
"""Most characters of a paragraph that is one statement. A longer one is several, of whole sentences."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*\"(\[])")
_LONGEST = 300
_MOST_READ = 100_000
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


class MemorySpan(NamedTuple):
    """A piece of a memory file: a code span, a link, words, a command, or a block of code."""

    kind: str
    """``code``, ``link``, ``words``, ``command`` or ``block``."""
    text: str
    place: StatementPlace
    language: str = ""
    """Language of a block."""

    def moved(self, line: int) -> MemorySpan:
        """A copy of the piece at another line."""
        return self._replace(place=replace(self.place, line=line))


class MemoryStatement(NamedTuple):
    """A list entry, a row of a table, a paragraph or a part of it, a command of a block, or a block of other code."""

    file: str
    first: int
    last: int
    heading: str
    """The headings that it stands under, the highest first."""
    text: str
    """In one line, without the mark of a list; empty for a heading."""
    spans: tuple[MemorySpan, ...]


def headings(text: str) -> dict[str, str]:
    """The anchors of a Markdown file, as GitHub writes them, each with the words of its heading."""
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    tokens = _parsed(text)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            said = "".join(one.content for one in inside.children or () if one.type in {"text", "code_inline"})
            slug = re.sub(r"[^\w\- ]", "", said.strip().lower()).replace(" ", "-")
            again = counts.get(slug, 0)
            counts[slug] = again + 1
            found[slug if not again else f"{slug}-{again}"] = inside.content
    given = (*re.findall(r"<a\s+(?:name|id)=[\"']([^\"']+)", text), *re.findall(r"\{#([\w-]+)\}", text))
    return found | {name: name for name in given}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _parsed(text: str) -> list[Token]:
    return _parser().parse(text)


def statements_in(file: str, text: str) -> Iterator[MemoryStatement]:
    """The statements of a text, in order."""
    if front := _FRONT.match(text):
        text = "\n" * front[0].count("\n") + text[front.end() :]
    above: dict[str, str] = {}
    for kind, tokens, first, last in _pieces(_parsed(text)):
        heading = " / ".join(above.values())
        match kind:
            case "code":
                yield from _block(file, tokens[0], first, heading)
            case "tr":
                yield _row(file, tokens, first + 1, heading)
            case "text":
                yield from _paragraph(file, tokens[0], first + 1, heading)
            case level:
                spans, _ = _inline(file, tokens[0], first + 1)
                yield MemoryStatement(file, first + 1, last, heading, "", tuple(spans))
                higher = {at: said for at, said in above.items() if at < level}
                above = {**higher, level: " ".join(tokens[0].content.split())}


def _pieces(tokens: list[Token]) -> Iterator[tuple[str, list[Token], int, int]]:
    """Blocks of code, rows of tables, headings by their level (``h2``), and other texts, each with its lines."""
    first, last = 0, 0
    kind, row = "text", tokens[:0]
    for token in tokens:
        if token.map is not None:
            first, last = token.map
        if token.type in {"heading_open", "tr_open"}:
            kind, row = token.tag, []
        elif token.type in {"heading_close", "tr_close"}:
            yield kind, row, first, last
            kind = "text"
        elif token.type in {"fence", "code_block"}:
            yield "code", [token], first, last
        elif token.type == "inline" and kind != "text":
            row.append(token)
        elif token.type == "inline" and token.content.strip():
            yield "text", [token], first, last


def _row(file: str, cells: list[Token], line: int, heading: str) -> MemoryStatement:
    spans = tuple(span for cell in cells for span in _inline(file, cell, line)[0])
    said = " | ".join(" ".join(cell.content.split()) for cell in cells)
    return MemoryStatement(file, line, line, heading, said, spans)


def _block(file: str, token: Token, first: int, heading: str) -> Iterator[MemoryStatement]:
    """The lines of a block of commands, each a statement; or a whole block of other code."""
    language = token.info.strip().partition(" ")[0].lower()
    start = first + (2 if token.type == "fence" else 1)
    lines = token.content.splitlines()
    if language in SHELLS and (language or re.search(r"^\s*\$ ", token.content, re.MULTILINE)):
        for number, line in enumerate(lines, start):
            said = line.strip().removeprefix("$ ").strip()
            if said and not said.startswith("#") and (language or line.lstrip().startswith("$ ")):
                span = MemorySpan("command", said, StatementPlace(file, number, said[:_LONGEST]), language)
                yield MemoryStatement(file, number, number, heading, said, (span,))
    elif lines:
        place = StatementPlace(file, start, token.content.strip().partition("\n")[0][:_LONGEST])
        span = MemorySpan("block", token.content, place, language)
        yield MemoryStatement(file, start, start + len(lines) - 1, heading, token.content.strip(), (span,))


def _paragraph(file: str, token: Token, first: int, heading: str) -> Iterator[MemoryStatement]:
    spans, sentences = _inline(file, token, first)
    for start, stop in sentences.groups(LONGEST_STATEMENT):
        inside = tuple(span for span, at in zip(spans, sentences.met, strict=True) if start <= at < stop)
        said = token.content[start:stop].rstrip()
        lines = first + sentences.line(start), first + sentences.line(start + len(said))
        yield MemoryStatement(file, *lines, heading, " ".join(said.split()), inside)


def _inline(file: str, token: Token, line: int) -> tuple[list[MemorySpan], _Sentences]:
    content, at = token.content, 0
    sentences = _Sentences(content)
    spans: list[MemorySpan] = []
    for child in token.children or ():
        kind, said = _said(child)
        if not said:
            continue
        found = content.find(said, at)
        here = found if found >= 0 else at
        place = StatementPlace(file, line + sentences.line(here), sentences.at(here))
        spans.append(MemorySpan(kind, said, place))
        sentences.met.append(here)
        # A link's address stands behind its words, which come next.
        at = here if kind == "link" else here + len(said)
    return spans, sentences


def _said(child: Token) -> tuple[str, str]:
    match child.type:
        case "code_inline":
            return "code", child.content
        case "link_open":
            return "link", str(child.attrs.get("href", ""))
        case "text":
            return "words", child.content
    return "", ""


class _Sentences:
    """The sentences of a text, found once for all names in it."""

    def __init__(self, content: str) -> None:
        ends = list(_SENTENCE.finditer(content))
        self._starts = [0, *(found.end() for found in ends)]
        self._lines = [found.start() for found in re.finditer("\n", content)]
        self._stops = [*(found.start() for found in ends), len(content)]
        self._said = [
            " ".join(content[start : min(stop, start + _MOST_READ)].split())[:_LONGEST]
            for start, stop in zip(self._starts, self._stops, strict=True)
        ]
        self.met: list[int] = []
        """Positions at which the pieces of the text begin."""

    def at(self, place: int) -> str:
        """The sentence around a position, on one line."""
        return self._said[bisect_right(self._starts, place) - 1]

    def line(self, place: int) -> int:
        return bisect_left(self._lines, place)

    def groups(self, longest: int) -> Iterator[tuple[int, int]]:
        """Whole sentences one after the other, as many as fit; all of them if they do."""
        start = 0
        for stop, end in zip(self._starts[1:], self._stops[1:], strict=True):
            if end - start > longest:
                yield start, stop
                start = stop
        yield start, self._stops[-1] + 1

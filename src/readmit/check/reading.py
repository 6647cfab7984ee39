"""Reads memory files: Markdown with its code spans, links and blocks, or a JSON list of statements."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.check.values import StatementPlace
from readmit.records.canonical import without_mark
from readmit.records.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*\"(\[])")
_LONGEST = 300
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TEXTS = ("text", "statement", "memory", "content", "fact", "value")


class MemorySpan(NamedTuple):
    """A piece of a memory file: a code span, a link, words, or a block of code."""

    kind: str
    """``code``, ``link``, ``words`` or ``block``."""
    text: str
    place: StatementPlace
    language: str = ""
    """Of a block."""


def read_memory(file: str, data: bytes) -> tuple[list[MemorySpan], int]:
    """The pieces of a file, and how many statements it makes."""
    try:
        text = without_mark(data).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise RecordError(f"{file}: not UTF-8 text (byte {error.start}); convert it first") from None
    if not file.endswith(".json"):
        return _markdown(file, text, 1)
    spans: list[MemorySpan] = []
    statements = 0
    for line, said in _listed(file, text):
        found, _ = _markdown(file, said, line, lines=False)
        spans += found
        statements += 1
    return spans, statements


def headings(text: str) -> set[str]:
    """The anchors of a Markdown file, as GitHub writes them."""
    found: set[str] = set()
    counts: dict[str, int] = {}
    tokens = _parsed(text)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            said = "".join(one.content for one in inside.children or () if one.type in {"text", "code_inline"})
            slug = re.sub(r"[^\w\- ]", "", said.strip().lower()).replace(" ", "-")
            again = counts.get(slug, 0)
            counts[slug] = again + 1
            found.add(slug if not again else f"{slug}-{again}")
    found.update(re.findall(r"<a\s+(?:name|id)=[\"']([^\"']+)", text))
    found.update(re.findall(r"\{#([\w-]+)\}", text))
    return found


def _parsed(text: str) -> list[Token]:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(text)


def _markdown(file: str, text: str, first: int, *, lines: bool = True) -> tuple[list[MemorySpan], int]:
    if front := _FRONT.match(text):
        text = "\n" * front[0].count("\n") + text[front.end() :]
    spans: list[MemorySpan] = []
    statements = 0
    line = 0
    for token in _parsed(text):
        line = token.map[0] if token.map is not None else line
        if token.type in {"fence", "code_block"}:
            start = token.content.strip().partition("\n")[0][:_LONGEST]
            place = StatementPlace(file, first + (line + 1 if lines else 0), start)
            spans.append(MemorySpan("block", token.content, place, token.info.strip().partition(" ")[0].lower()))
        elif token.type == "inline":
            statements += bool(token.content.strip())
            spans += _inline(file, token, first + line if lines else first, lines=lines)
    return spans, statements


def _inline(file: str, token: Token, line: int, *, lines: bool) -> Iterator[MemorySpan]:
    content, at = token.content, 0
    for child in token.children or ():
        kind, said = _said(child)
        if not said:
            continue
        found = content.find(said, at)
        here = found if found >= 0 else at
        place = StatementPlace(file, line + (content.count("\n", 0, here) if lines else 0), sentence_at(content, here))
        yield MemorySpan(kind, said, place)
        # A link's address stands behind its words, which come next.
        at = here if kind == "link" else here + len(said)


def _said(child: Token) -> tuple[str, str]:
    match child.type:
        case "code_inline":
            return "code", child.content
        case "link_open":
            return "link", str(child.attrs.get("href", ""))
        case "text":
            return "words", child.content
    return "", ""


def sentence_at(content: str, at: int) -> str:
    """The sentence around a position, on one line."""
    start = 0
    for found in _SENTENCE.finditer(content):
        if found.end() > at:
            return " ".join(content[start : found.start()].split())[:_LONGEST]
        start = found.end()
    return " ".join(content[start:].split())[:_LONGEST]


def _listed(file: str, text: str) -> Iterator[tuple[int, str]]:
    """The statements of a JSON list, each with its line."""
    decoder = json.JSONDecoder()
    at = len(text) - len(text.lstrip())
    if not text[at:].startswith("["):
        raise RecordError(f'{file}: not a JSON list of statements; write ["…", …] or [{{"text": "…"}}, …]')
    at += 1
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\n\r,"))
        line = text.count("\n", 0, at) + 1
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise RecordError(f"{file}, line {line}: not JSON: {error}") from None
        yield line, _text_of(value, f"{file}, line {line}")


def _text_of(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in _TEXTS:
            if isinstance(value.get(name), str):
                return str(value[name])
    raise RecordError(f"{where}: neither a text nor an object with one of {', '.join(_TEXTS)}")

"""Reads memory files: Markdown with its code spans, links and blocks, or a JSON list of statements."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.check.check_values import StatementPlace
from readmit.check.working_tree import WorkTree, repository_of
from readmit.records.canonical import without_mark
from readmit.records.error_types import CheckLimitError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*\"(\[])")
_LONGEST = 300
_MOST_READ = 100_000
MOST_NAMES = 20_000
"""Most names, or statements of a list, in one check."""
_GAP = re.compile(r"[ \t\n\r,]*")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TEXTS = ("text", "statement", "memory", "content", "fact", "value")


USUAL = (
    "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", ".cursor/rules",
    ".github/copilot-instructions.md", "memory-bank",
)  # fmt: skip
"""Where coding agents keep their memory."""
_ENDINGS = {".md", ".mdc", ".markdown", ".json", ".txt"}
_LARGEST = 5_000_000


class MemorySpan(NamedTuple):
    """A piece of a memory file: a code span, a link, words, or a block of code."""

    kind: str
    """``code``, ``link``, ``words`` or ``block``."""
    text: str
    place: StatementPlace
    language: str = ""
    """Of a block."""


def memory_files(paths: Sequence[Path]) -> list[Path]:
    """The files that some paths name; of a folder, all below it that may be memory."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and one.suffix in _ENDINGS)
            if not inside:
                raise RecordError(f"{path}: no memory files there; they end in {', '.join(sorted(_ENDINGS))}")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise RecordError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


class MemoryFiles(NamedTuple):
    """Memory files that were read, and the tree that they are about."""

    tree: WorkTree
    files: dict[str, Path]
    """By their names from the root."""
    spans: tuple[MemorySpan, ...]
    statements: int


def read_memories(paths: Sequence[Path], root: Path | None = None) -> MemoryFiles:
    """The memory files at some paths, and the tree below ``root``, by default the repository they are in."""
    files = memory_files(paths)
    top = (root or repository_of(files[0])).resolve()
    named_ = {_relative(file, top): file for file in files}
    spans: list[MemorySpan] = []
    statements = 0
    for name, file in named_.items():
        if file.stat().st_size > _LARGEST:
            raise RecordError(f"{file}: larger than {_LARGEST} bytes; this is no memory file")
        found, count = read_memory(name, file.read_bytes())
        spans += found
        statements += count
    return MemoryFiles(WorkTree(top, list(named_)), named_, tuple(spans), statements)


def _relative(file: Path, root: Path) -> str:
    real = file.resolve()
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else str(file)


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
        if statements > MOST_NAMES:
            raise CheckLimitError(f"{file}, line {line}: more than {MOST_NAMES:,} statements; check fewer at once")
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


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _parsed(text: str) -> list[Token]:
    return _parser().parse(text)


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
    sentences = _Sentences(content)
    for child in token.children or ():
        kind, said = _said(child)
        if not said:
            continue
        found = content.find(said, at)
        here = found if found >= 0 else at
        place = StatementPlace(file, line + (sentences.line(here) if lines else 0), sentences.at(here))
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


class _Sentences:
    """The sentences of a text, found once for all names in it."""

    def __init__(self, content: str) -> None:
        ends = list(_SENTENCE.finditer(content))
        self._starts = [0, *(found.end() for found in ends)]
        self._lines = [found.start() for found in re.finditer("\n", content)]
        stops = [*(found.start() for found in ends), len(content)]
        self._said = [
            " ".join(content[start : min(stop, start + _MOST_READ)].split())[:_LONGEST]
            for start, stop in zip(self._starts, stops, strict=True)
        ]

    def at(self, place: int) -> str:
        """The sentence around a position, on one line."""
        return self._said[bisect_right(self._starts, place) - 1]

    def line(self, place: int) -> int:
        return bisect_left(self._lines, place)


def _listed(file: str, text: str) -> Iterator[tuple[int, str]]:
    """The statements of a JSON list, each with its line."""
    decoder = json.JSONDecoder()
    at = len(text) - len(text.lstrip())
    line, counted = 1, 0
    if not text[at:].startswith("["):
        raise RecordError(f'{file}: not a JSON list of statements; write ["…", …] or [{{"text": "…"}}, …]')
    at += 1
    while True:
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise RecordError(f"{file}, line {line}: not JSON: {error}") from None
        except RecursionError:
            raise CheckLimitError(f"{file}, line {line}: nested too deeply to be read") from None
        yield line, _text_of(value, f"{file}, line {line}")


def _text_of(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in _TEXTS:
            if isinstance(value.get(name), str):
                return str(value[name])
    raise RecordError(f"{where}: neither a text nor an object with one of {', '.join(_TEXTS)}")

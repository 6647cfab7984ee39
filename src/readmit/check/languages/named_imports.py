"""Imports that a statement or a block of code in it writes down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.check.check_values import Mention, NameKind, StatementPlace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.markdown_statements import MemorySpan

_SCRIPTS = {"js", "jsx", "javascript", "ts", "tsx", "typescript", "mjs"}
LANGUAGES = {*_SCRIPTS, "go", "golang", "rust", "rs"}
_SCRIPT = re.compile(
    r"^[ \t]*(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,?\s*)?(?:\{([^{}]{0,2000})\}|\*\s+as\s+\w+)?"
    r"\s*from\s*[\"']([^\"'\n]+)[\"']"
    r"|^[ \t]*import\s*[\"']([^\"'\n]+)[\"']|\brequire\([\"']([^\"'\n]+)[\"']\)",
    re.MULTILINE,
)
_GO = re.compile(r"^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?\"([\w.~-]+(?:/[\w.~-]+)+)\"[ \t]*$", re.MULTILINE)
_RUST = re.compile(r"^[ \t]*(?:pub\s+)?use\s+([^;{}]{1,500}?)(?:\{([^;{}]{0,2000})\})?;", re.MULTILINE)


def python_imports(span: MemorySpan) -> Iterator[Mention]:
    """The modules that a block of Python imports, with the names it takes from them."""
    for number, line in enumerate(span.text.splitlines()):
        place = StatementPlace(span.place.file, span.place.line + number, line.strip())
        if found := re.match(r"\s*from ([\w.]+) import \(?([\w, ]+)\)?\s*(?:#.*)?$", line):
            for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", found[2]):
                yield Mention(place, NameKind.MODULE, found[1], name)
        elif found := re.match(r"\s*import ([\w.]+)", line):
            yield Mention(place, NameKind.MODULE, found[1])


def other_imports(span: MemorySpan) -> Iterator[Mention]:
    """Imports in JavaScript, TypeScript, Go and Rust. A code span has to say what it is by itself."""
    anywhere = span.kind == "code"
    if anywhere or span.language in _SCRIPTS:
        for found in _SCRIPT.finditer(span.text):
            module = found[2] or found[3] or found[4]
            names = re.findall(r"(?:^|,)\s*(?:type\s+)?(\w+)", found[1] or "")
            yield from (_taken(span, found.start(2 if found[2] else 0), module, name) for name in names or [""])
    if span.language in {"go", "golang"}:
        yield from (_taken(span, found.start(1), found[1], "") for found in _GO.finditer(span.text))
    if anywhere or span.language in {"rust", "rs"}:
        for found in _RUST.finditer(span.text):
            base = found[1].strip()
            names = re.findall(r"(?:^|,)\s*(\w+(?:::\w+)*)", found[2] or "")
            paths = [base + name for name in names if name != "self"] or [base]
            for path in paths:
                bare = re.sub(r"\s+as\s+\w+$", "", path).rstrip(":* ")
                if "::" in bare and re.fullmatch(r"\w+(?:::\w+)+", bare):
                    yield _taken(span, found.start(1), bare, "")


def _taken(span: MemorySpan, at: int, module: str, name: str) -> Mention:
    lines = span.text.count("\n", 0, at)
    said = span.text.splitlines()[lines].strip()
    return Mention(StatementPlace(span.place.file, span.place.line + lines, said), NameKind.MODULE, module, name)

"""Syntax trees of JavaScript, TypeScript, Go and Rust, by tree-sitter if it is installed. A file may be hostile."""

from __future__ import annotations

import time
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node

_SCRIPT = ("tree_sitter_javascript", "language")
_TYPED = ("tree_sitter_typescript", "language_typescript")
_GRAMMARS = {
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), _SCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPED),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
}
SCRIPTS = tuple(ending for ending, (package, _) in _GRAMMARS.items() if "script" in package)
_CHUNK = 512
"""Bytes that the parser is given at once. Between two pieces it can be stopped; nothing else stops it."""
_SECONDS = 1.0
"""Longest time for one file. A malformed one can take a time that grows with the square of its size."""


def grammar_of(path: str) -> str:
    """The ending of a file that a grammar can read; empty for others."""
    dot = path.rfind(".")
    return path[dot:] if dot > 0 and path[dot:] in _GRAMMARS else ""


def syntax(path: str, text: str) -> Node | None:
    """The root of a file's syntax tree; none if there is no grammar for it, or it takes too long."""
    language = _language(*_GRAMMARS[grammar_of(path)])
    if language is None:
        return None
    from tree_sitter import Parser

    data, last = text.encode(), time.monotonic() + _SECONDS
    is_late = is_parsed = False

    def piece(at: int, _: object) -> bytes:
        nonlocal is_late
        # Nodes are asked for their texts later, and those are read here too.
        is_late = is_late or (not is_parsed and time.monotonic() > last)
        return b"" if is_late else data[at : at + _CHUNK]

    root = Parser(language).parse(piece).root_node
    is_parsed = True
    return None if is_late else root


@cache
def _language(package: str, name: str) -> Language | None:
    try:
        from tree_sitter import Language

        return Language(getattr(import_module(package), name)())
    except ImportError:
        return None


def inside(node: Node, *kinds: str) -> Iterator[Node]:
    """The nodes of some kinds below a node, at any depth."""
    left = [node]
    while left:
        for one in left.pop().named_children:
            if one.type in kinds:
                yield one
            left.append(one)


def said(node: Node | None) -> str:
    """The text of a node; empty if there is none."""
    return node.text.decode(errors="replace") if node is not None and node.text else ""

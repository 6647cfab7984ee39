"""Finds the fenced code blocks of a Markdown file, and whether one is exempt from running."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from pathlib import Path

NOT_RUN = re.compile(r"<!--\s*not run:(?P<reason>.*?)-->", re.DOTALL)
OUTPUT = re.compile(r"<!--\s*output\s*-->")


class DocumentationError(AssertionError):
    """A code block does not do what the page says."""


@dataclass(frozen=True)
class Block:
    """A fenced block. ``line`` is the 1-based line of its first line of content."""

    path: Path
    line: int
    language: str
    text: str
    not_run: bool = False
    is_output: bool = False

    @property
    def place(self) -> str:
        return f"{self.path.name}:{self.line}"


def blocks_of(path: Path) -> list[Block]:
    """The blocks in order. Indented code is refused, since it names no language and would never run."""
    found: list[Block] = []
    comment, comment_end = "", -1
    for token in MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8")):
        if token.map is None:
            continue
        start, end = token.map
        if token.type == "html_block":
            comment, comment_end = token.content, end
        elif token.type == "code_block":
            raise DocumentationError(f"{path.name}:{start + 1}: indented code; write a fenced block with a language")
        elif token.type == "fence":
            above = comment if start - comment_end <= 1 else ""
            exemption = NOT_RUN.search(above)
            if exemption and not exemption["reason"].strip():
                raise DocumentationError(f"{path.name}:{start + 1}: the exemption gives no reason")
            found.append(
                Block(
                    path=path,
                    line=start + 2,
                    language=token.info.strip(),
                    text=token.content,
                    not_run=exemption is not None,
                    is_output=OUTPUT.search(above) is not None,
                )
            )
    return found

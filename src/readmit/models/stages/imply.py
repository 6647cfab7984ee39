"""Premises of an item, and facts that an observation implies. Each is written once and reused.

Each text is read alone, so the lines about it can be stored under its digest and serve every later return. Matching
premises against implied facts proposes pairs; it decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from readmit.models.fence import MAX_CHARS, pieces
from readmit.models.protocols import Failure
from readmit.models.stages.checks import distinct_lines
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Model

MAX_LINES = 8
"""Most lines kept per text, or per piece of a text that is too long for one request."""
MAX_TOKENS = 512


class LineKind(NamedTuple):
    """Lines that a model writes about one sort of text."""

    stored: str
    """The name under which they are stored."""
    prompt: str
    label: str
    """The name of the text in the request."""


PREMISES = LineKind("premises", "premises@2", "statement")
"""Conditions under which a statement is current: several short lines."""
IMPLIED = LineKind("facts", "implied@1", "observation")
"""Facts about the present state that an observation states or makes likely: several short lines, or none."""


class WrittenLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about one text, or one piece of it."""

    lines: Annotated[list[str], msgspec.Meta(max_length=24)]


def write_lines(
    model: Model,
    kind: LineKind,
    texts: Sequence[str],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[tuple[str, ...] | Failure]:
    """The lines about each text, in order. Blank texts are skipped, and equal texts share a request."""
    shown = {text: pieces(text, max_chars) if text.strip() else [] for text in texts}
    asks = [
        request(
            kind.prompt, [Section(kind.label, piece)], workspace=workspace, max_tokens=max_tokens, max_chars=max_chars
        )
        for parts in shown.values()
        for piece in parts
    ]
    said = iter(ask_typed(model, asks, WrittenLines))
    read = {text: _merged([next(said) for _ in parts]) for text, parts in shown.items()}
    return [read[text] for text in texts]


def _merged(said: Sequence[WrittenLines | Failure]) -> tuple[str, ...] | Failure:
    merged: list[str] = []
    for one in said:
        if isinstance(one, Failure):
            return one
        merged += distinct_lines(one.lines, MAX_LINES)
    return tuple(dict.fromkeys(merged))

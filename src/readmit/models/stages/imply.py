"""Premises of an item, and facts that an observation implies. Each is written once and reused.

Each text is read alone, so what is written about it can be stored under its digest and serves every later
return. Matching premises against implied facts proposes pairs; it decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS
from readmit.models.protocols import Failure
from readmit.models.stages.checks import lines
from readmit.models.stages.pieces import pieces
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Model

PREMISES = "premises@2"
IMPLIED = "implied@1"
MAX_LINES = 8
"""Most lines kept per text, or per piece of a text that is too long for one request."""
MAX_TOKENS = 512


class Lines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model wrote about one text."""

    lines: Annotated[list[str], msgspec.Meta(max_length=24)]


def premises(
    model: Model,
    texts: Sequence[str],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[tuple[str, ...] | Failure]:
    """What must hold for each statement to be current: several short lines each."""
    return _written(
        model, PREMISES, "statement", texts, workspace=workspace, max_tokens=max_tokens, max_chars=max_chars
    )


def implied(
    model: Model,
    texts: Sequence[str],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[tuple[str, ...] | Failure]:
    """What each observation says or makes likely about the present state: several short lines each, or none."""
    return _written(
        model, IMPLIED, "observation", texts, workspace=workspace, max_tokens=max_tokens, max_chars=max_chars
    )


def _written(
    model: Model, prompt: str, label: str, texts: Sequence[str], *, workspace: str, max_tokens: int, max_chars: int
) -> list[tuple[str, ...] | Failure]:
    # Blank texts are skipped, and equal texts are asked about once.
    shown = {text: pieces(text, max_chars) if text.strip() else [] for text in texts}
    asks = [
        request(prompt, [Section(label, piece)], workspace=workspace, max_tokens=max_tokens, max_chars=max_chars)
        for parts in shown.values()
        for piece in parts
    ]
    said = iter(answer(model, asks, Lines))
    read = {text: _merged([next(said) for _ in parts]) for text, parts in shown.items()}
    return [read[text] for text in texts]


def _merged(said: Sequence[Lines | Failure]) -> tuple[str, ...] | Failure:
    merged: list[str] = []
    for one in said:
        if isinstance(one, Failure):
            return one
        merged += lines(one.lines, MAX_LINES)
    return tuple(dict.fromkeys(merged))

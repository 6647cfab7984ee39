"""Keeping record text apart from instructions.

Text from a workspace is put between two lines with a mark. The mark is derived from the texts of the request, so the
same request has the same bytes and its stored answer is found again. The code checks that no text contains the mark of
its request.

Fencing lowers the chance that a model obeys what it reads. Safety does not depend on it: an answer can only take an
item out (I6), is typed, and its quotes are looked up in the texts.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from readmit.records.error_types import RecordError
from readmit.text.hidden import replace_hidden

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARS = 24_000
"""Most characters of one text in a prompt, by default."""

_MARK_CHARS = 16


class Fenced(msgspec.Struct, frozen=True, kw_only=True):
    """Some texts, each between marked lines."""

    mark: str
    """The code in every marked line. Prompts name it, so that the model knows where data ends."""
    texts: tuple[str, ...]
    """The fenced texts, in the order given."""
    cut: tuple[str, ...] = ()
    """Labels of the texts that were too long. The part that was cut is not judged."""


def fence(sections: Sequence[tuple[str, str]], *, max_chars: int = MAX_CHARS) -> Fenced:
    """Fence ``(label, text)`` sections of one request under one mark."""
    for label, _ in sections:
        if not label.replace("_", "").replace("-", "").replace(" ", "").isalnum() or not label.isascii():
            raise RecordError(f"label {label!r}: use letters, digits, spaces, - and _; a label is never record text")
    visible = [(label, visible_text(text)) for label, text in sections]
    mark = mark_for([text for _, text in visible])
    cut = tuple(label for label, text in visible if len(text) > max_chars)
    texts = tuple(
        f"--- {label} [{mark}] begins ---\n{_shortened(text, max_chars)}\n--- {label} [{mark}] ends ---"
        for label, text in visible
    )
    return Fenced(mark=mark, texts=texts, cut=cut)


def mark_for(texts: Sequence[str]) -> str:
    """A code that none of the texts contains, the same for the same texts."""
    seed = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        seed.update(len(data).to_bytes(8, "big") + data)
    while True:
        mark = seed.hexdigest()[:_MARK_CHARS]
        if not any(mark in text.lower() for text in texts):
            return mark
        seed.update(b"again")


def visible_text(text: str) -> str:
    r"""The text with every character visible: control and hidden ones become ``\u{…}``, CR LF becomes LF."""
    return replace_hidden(text.replace("\r\n", "\n"), lambda character: rf"\u{{{ord(character):x}}}")


def _shortened(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n[{len(text) - max_chars} more characters left out]"


_BREAKS = ("\n\n", "\n", ". ", " ")


def pieces(text: str, max_chars: int) -> list[str]:
    """Parts that are shown whole; joined, they give the text."""
    parts: list[str] = []
    rest = text
    while True:
        size = _fitting(rest, max_chars)
        if size == len(rest):
            return [*parts, rest]
        parts.append(rest[:size])
        rest = rest[size:]


def _fitting(text: str, max_chars: int) -> int:
    if len(visible_text(text)) <= max_chars:
        return len(text)
    # Hidden characters take more space when shown.
    size = max_chars
    while size > 1 and len(visible_text(text[:size])) > max_chars:
        size //= 2
    for mark in _BREAKS:
        at = text.rfind(mark, size // 2, size)
        if at > 0:
            return at + len(mark)
    return size

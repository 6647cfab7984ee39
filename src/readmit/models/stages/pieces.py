"""Cuts a long text at the best boundaries, so that every part of it is read."""

from __future__ import annotations

from readmit.models.fence import visible_text

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

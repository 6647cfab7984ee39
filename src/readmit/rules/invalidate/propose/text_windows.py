"""Cut a text into windows that fit an embedder, and into sentences that state something."""

from __future__ import annotations

import re

# About 150 tokens of English: well inside the embedder's 256, also for text that splits into many pieces.
WINDOW = 600

_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")


def windows(text: str, size: int = WINDOW) -> tuple[str, ...]:
    """Whole sentences, packed up to ``size`` characters; a longer sentence is cut. Never empty."""
    if size < 1:
        raise ValueError(f"size: {size} holds no text; use at least 1")
    packed: list[str] = []
    for sentence in _BREAK.split(text):
        for start in range(0, len(sentence), size):
            piece = sentence[start : start + size].strip()
            if piece and packed and len(packed[-1]) + 1 + len(piece) <= size:
                packed[-1] = f"{packed[-1]} {piece}"
            elif piece:
                packed.append(piece)
    return tuple(packed) or (text,)


def passages(text: str) -> tuple[str, ...]:
    """Single sentences, so that a remark is not lost in the surrounding text.

    A question states nothing that could change a premise, so questions are left out where anything else is said.
    """
    sentences = [sentence for part in _BREAK.split(text) if part.strip() for sentence in windows(part)]
    return tuple(sentence for sentence in sentences if not sentence.endswith("?")) or tuple(sentences) or (text,)

"""When a quote counts: it occurs in the text, ignoring differences in white space."""

from __future__ import annotations


def quoted(quote: str, text: str) -> bool:
    """Whether the quote is part of the text once white space is collapsed in both. An empty quote never is."""
    wanted = " ".join(quote.split())
    return bool(wanted) and wanted in " ".join(text.split())

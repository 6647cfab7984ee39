"""When two spellings are the same words: for eligibility and for scoring without a judge."""

from __future__ import annotations

import unicodedata

# A straight and a curly apostrophe are the same word to a reader: releases mix both within one record.
_TYPESET = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"})  # noqa: RUF001


def fold(text: object) -> str:
    """Case-folded, white space collapsed."""
    return " ".join(str(text).casefold().split())


def fold_typeset(text: object) -> str:
    """Also blind to curly quotes, dashes and compatibility forms."""
    return fold(unicodedata.normalize("NFKC", str(text)).translate(_TYPESET))

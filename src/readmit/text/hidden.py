"""Invisible characters and those that reorder text: a reader, a terminal or a model would take them in unseen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Explicit ranges, not Unicode categories: those change with the interpreter, and equal inputs must give equal
# bytes. In order: C0 and C1 controls except tab and line feed (ANSI escapes begin with one), soft hyphen, grapheme
# joiner, bidirectional and invisible format characters, Hangul fillers and inherent vowels that show nothing,
# Mongolian selectors, line and paragraph separators, variation selectors, byte order mark and annotations, shorthand
# and musical marks, tags and supplementary variation selectors (text smuggled past the reader), lone surrogates,
# private use. Together they hold every default-ignorable character but the joiners U+200C and U+200D, which Persian,
# Indic scripts and emoji need.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\uf8ff\U000f0000-\U0010ffff]"
)
# A selector where it changes how one visible character looks: after a symbol or an emoji, within a keycap, after a
# Mongolian letter. A second one in a row, or one after any other character, would carry hidden text.
_SELECTOR = re.compile(
    "(?<=[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
    "|(?<=[#*0-9])\ufe0f(?=\u20e3)|(?<=[\u1820-\u1878\u1880-\u18aa])[\u180b-\u180d\u180f]"
)


def replace_hidden(text: str, spelled: Callable[[str], str]) -> str:
    """The text with each hidden character spelled out. Line feeds and tabs stay."""
    # Most texts are plain ASCII, and this is three times as fast as the search. ``isprintable`` is stable for ASCII.
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(lambda found: found[0] if _selects(found) else spelled(found[0]), text)


def _selects(found: re.Match[str]) -> bool:
    return _SELECTOR.match(found.string, found.start()) is not None

"""Names as parts of a record's id: readable, in few bytes, and back again.

Only characters that would make an id ambiguous or unreadable are escaped: ``/``, ``%``, and unprintable ones. Letters
of any script stay as they are, so an id is about as long as the names in it.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, unquote

_ERRORS = "surrogatepass"


def escape_id(text: str) -> str:
    """A text without slashes, spaces or control characters."""
    if text.isalnum() and text.isascii():
        return text
    # A text that normalization would change into another one must not depend on who normalizes it.
    is_normal = unicodedata.is_normalized("NFC", text)
    return "".join(
        letter
        if letter.isprintable() and letter not in "/% " and (is_normal or letter.isascii())
        else quote(letter, safe="", errors=_ERRORS)
        for letter in text
    )


def unescaped(text: str) -> str:
    """The original of an escaped text; any other text unchanged."""
    try:
        return unquote(text, errors=_ERRORS)
    except UnicodeDecodeError:
        return text

"""Names that a reader takes for one another: they differ in case, width, invisible characters, or look-alike letters.

A part of Unicode's rules for confusable names (UTS 39): what NFKC and case folding make equal, what is not displayed,
and the letters of other alphabets that look like those of ASCII.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# After case folding: a capital that looks like an ASCII one counts as well as a small letter.
_LETTERS = {
    "a": "\u0430\u03b1\u0251\u1d00", "b": "\u0432\u044c\u0185\u03b2\u0299", "c": "\u0441\u03f2\u1d04",
    "d": "\u0501\u1d05", "e": "\u0435\u03b5\u0454\u04bd\u1d07", "f": "\u03dd\ua730", "g": "\u050d\u0261\u0581\u0262",
    "h": "\u043d\u04bb\u0570\u029c", "j": "\u0458\u03f3\u0575\u1d0a", "k": "\u043a\u03ba\u1d0b",
    "l": "i1|\u0131\u0456\u03b9\u04cf\u0269\u01c0\u026a\u029f!", "m": "\u043c\u03bc\u1d0d",
    "n": "\u043f\u03b7\u0578\u057c\u0274", "o": "0\u043e\u03bf\u0585\u03c3\u1d0f", "p": "\u0440\u03c1\u1d18",
    "q": "\u051b\u0563\u0566", "r": "\u0433\u0280", "s": "\u0455\ua7315", "t": "\u0442\u03c4\u1d1b",
    "u": "\u03c5\u057d\u1d1c", "v": "\u03bd\u0475\u1d20", "w": "\u051d\u0461\u03c9\u0561\u1d21", "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u04af\u028f", "z": "\u03b6\u1d22",
}  # fmt: skip
_TO_ASCII = str.maketrans({letter: plain for plain, letters in _LETTERS.items() for letter in letters})
# Not displayed, though neither a control nor a format character: fillers, joiners and variation selectors.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u180b\u180c\u180d\u180f")


@lru_cache(maxsize=4096)
def lookalike(name: str, names: tuple[str, ...]) -> str | None:
    """The first of some names that a name looks like without being one of them."""
    if name in names:
        return None
    seen = _seen(name)
    return next((one for one in names if _alike(seen, _seen(one))), None)


def _alike(name: str, other: str) -> bool:
    """Whether two names look alike. A letter of another alphabet between ASCII letters may stand for any."""
    if name == other:
        return True
    foreign = [_is_foreign(one) for one in name]
    return (
        len(name) == len(other)
        and sum(foreign) * 2 < len(name)
        and all(strange or one == two for strange, one, two in zip(foreign, name, other, strict=True))
    )


def _is_foreign(letter: str) -> bool:
    """Whether it is of another alphabet with small and capital letters. A reader sees an accent."""
    cased = not letter.isascii() and letter.lower() != letter.upper()
    return cased and not unicodedata.name(letter, "").startswith("LATIN")


def _seen(name: str) -> str:
    """What a reader sees of a name, in small ASCII letters as far as it looks like them."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    shown = "".join(one for one in folded if not _is_invisible(one))
    return " ".join(shown.translate(_TO_ASCII).split()).replace("rn", "m").replace("vv", "w")


def _is_invisible(letter: str) -> bool:
    return (
        unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn")
        or letter in _INVISIBLE
        or "\ufe00" <= letter <= "\ufe0f"
        or "\U000e0000" <= letter <= "\U000e0fff"
    )

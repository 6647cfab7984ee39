"""Names that a reader takes for one another: they differ in case, width, invisible characters, or look-alike letters.

A part of Unicode's rules for confusable names (UTS 39): what NFKC and case folding make equal, what is not displayed,
letters in circles and squares, digits of other scripts, and the letters of other alphabets that look like ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# After case folding: a capital that looks like an ASCII one counts as well as a small letter. Lisu has capitals only.
_LETTERS = {
    "a": "\u0430\u03b1\u0251\u1d00\ua4ee\u13aa", "b": "\u0432\u044c\u0185\u03b2\u0299\ua4d0\u13f4",
    "c": "\u0441\u03f2\u1d04\ua4da", "d": "\u0501\u1d05\ua4d3\u13a0", "e": "\u0435\u03b5\u0454\u04bd\u1d07\ua4f0\u13ac",
    "f": "\u03dd\ua730\ua4dd", "g": "\u050d\u0261\u0581\u0262\ua4d6", "h": "\u043d\u04bb\u0570\u029c\ua4e7",
    "j": "\u0458\u03f3\u0575\u1d0a\ua4d9", "k": "\u043a\u03ba\u1d0b\ua4d7",
    "l": "i1|\u0131\u0456\u03b9\u04cf\u0269\u01c0\u026a\u029f!\ua4e1\ua4f2", "m": "\u043c\u03bc\u1d0d\ua4df\u13b7",
    "n": "\u043f\u03b7\u0578\u057c\u0274\ua4e0", "o": "0\u043e\u03bf\u0585\u03c3\u1d0f\ua4f3",
    "p": "\u0440\u03c1\u1d18\ua4d1", "q": "\u051b\u0563\u0566", "r": "\u0433\u0280\ua4e3\u13a1\u13d2",
    "s": "\u0455\ua7315\ua4e2\u13da", "t": "\u0442\u03c4\u1d1b\ua4d4\u13a2", "u": "\u03c5\u057d\u1d1c\ua4f4",
    "v": "\u03bd\u0475\u1d20\ua4e6", "w": "\u051d\u0461\u03c9\u0561\u1d21\ua4ea\u13b3\u13d4",
    "x": "\u0445\u03c7\ua4eb", "y": "\u0443\u03b3\u04af\u028f\ua4ec", "z": "\u03b6\u1d22\ua4dc",
}  # fmt: skip
_TO_ASCII = str.maketrans({letter: plain for plain, letters in _LETTERS.items() for letter in letters})
# Not displayed, though neither a control nor a format character: fillers, joiners, variation selectors, a blank.
_INVISIBLE = frozenset("\u2800\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u180b\u180c\u180d\u180f")
# The letter in a sign, with which the sign's name ends: in brackets, a circle or a square, or one of a flag's two.
_SIGN = re.compile(
    r".*(?:CIRCLED|SQUARED|PARENTHESIZED) LATIN (?:CAPITAL|SMALL) LETTER ([A-Z])"
    r"|REGIONAL INDICATOR SYMBOL LETTER ([A-Z])"
)
# They turn round the order in which letters are shown.
_TURNING = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


@lru_cache(maxsize=4096)
def lookalike(name: str, names: tuple[str, ...]) -> str | None:
    """The first of some names that a name looks like without being one of them."""
    if name in names:
        return None
    seen, is_turned = _seen(name), not _TURNING.isdisjoint(name)
    return next((one for one in names if _alike(seen, _seen(one), is_turned=is_turned)), None)


def _alike(name: str, other: str, *, is_turned: bool) -> bool:
    """Whether two names look alike. A letter of another alphabet between ASCII letters may stand for any."""
    if name == other or (is_turned and sorted(name) == sorted(other)):
        return True
    foreign = [_is_foreign(one) for one in name]
    return (
        len(name) == len(other)
        and sum(foreign) * 2 < len(name)
        and all(strange or one == two for strange, one, two in zip(foreign, name, other, strict=True))
    )


def _is_foreign(letter: str) -> bool:
    """Whether it is a letter of another alphabet. A reader sees an accent."""
    return not letter.isascii() and letter.isalpha() and not unicodedata.name(letter, "").startswith("LATIN")


def _seen(name: str) -> str:
    """The look of a name to a reader, in small ASCII letters as far as it resembles them."""
    plain = unicodedata.normalize("NFKC", "".join(map(_plain, name)))
    folded = unicodedata.normalize("NFKC", plain.casefold())
    shown = "".join(one for one in folded if not _is_invisible(one) and not one.isspace())
    return shown.translate(_TO_ASCII).replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _plain(letter: str) -> str:
    """The digit or letter that a digit of another script or a sign stands for, else the letter itself."""
    if letter.isascii():
        return letter
    if (digit := unicodedata.decimal(letter, None)) is not None:
        return str(digit)
    sign = _SIGN.fullmatch(unicodedata.name(letter, ""))
    return letter if sign is None else sign[1] or sign[2]


def _is_invisible(letter: str) -> bool:
    """Whether a reader does not see it as a character: one that shows nothing, or a stroke over another letter."""
    return (
        unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn", "Mn", "Me")
        or letter in _INVISIBLE
        or "\U000e0000" <= letter <= "\U000e0fff"
    )

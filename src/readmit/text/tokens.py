"""A text as tokens that two wordings of the same thing share.

Numbers, amounts and dates have one form each, "I" equals "the user", and a verb in the third person equals its base
form. Everything else stays as written, so that a difference in meaning stays a difference: a tense, a preposition, a
sign. A word that mixes alphabets equals nothing, itself included.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import NamedTuple

from readmit.text.english import straight, word_list

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
# "may" and "march" are also verbs, so only their capitals make them months.
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?|(?-i:Mar(?:ch)?|May))\.?"
)
_NUMBER = r"\d{1,3}(?:[, ']\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:[.:]\d+)*"
_PIECE = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})(?![^\W_])"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:])"
    rf"|(?P<number>(?:(?<![\w.])-)?(?:{_NUMBER})(?:(?:st|nd|rd|th)\b)?)(?P<unit>[^\W\d_]+)?"
    rf"|(?P<word>[^\W_]+(?:['-][^\W_]+)*(?:\.[^\W_])*)"
    r"|(?P<sign>[^\w\s.,;:!?\"'()\[\]{}…*_`-])",
    re.IGNORECASE,
)
_SMALL = {word: number for number, word in enumerate(word_list("small numbers"))}
_TENS = {word: 10 * number for number, word in enumerate(word_list("tens"), 1) if number > 1}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_CURRENCIES = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur", "eur": "eur", "euro": "eur",
    "euros": "eur", "£": "gbp", "gbp": "gbp", "¥": "jpy", "jpy": "jpy", "yen": "jpy", "₹": "inr", "inr": "inr",
    "chf": "chf", "cad": "cad", "aud": "aud", "cny": "cny",
}  # fmt: skip
_PERCENT = frozenset({"%", "percent"})
SELF, OWN = "<self>", "<own>"
_SAME = {
    **dict.fromkeys(("i", "me", "myself", "user"), SELF),
    **dict.fromkeys(("my", "mine", "user's", "users'"), OWN),
    **dict.fromkeys(("am", "is", "are"), "be"),
    **dict.fromkeys(("was", "were"), "was"),
    "has": "have", "does": "do", "p.m": "pm", "a.m": "am.", "am.": "am.",
}  # fmt: skip
_APOSTROPHES = {"n't": ("not",), "'m": ("be",), "'re": ("be",), "'ve": ("have",), "'ll": ("will",), "'d": ("would",)}
_WHOLE = {
    "cannot": ("can", "not"), "can't": ("can", "not"), "cant": ("can", "not"), "won't": ("will", "not"),
    "wont": ("will", "not"), "shan't": ("shall", "not"),
    **{f"{verb}nt": (verb, "not") for verb in
       ("do", "does", "did", "is", "are", "was", "were", "have", "has", "had", "would", "should", "could", "must")},
}  # fmt: skip
# Words that do not change the statement.
_EMPTY = frozenset(word_list("empty"))
_THEY, _THEIR = frozenset({"they", "them", "themselves"}), frozenset({"their", "theirs"})
_AUXILIARY = frozenset({"be", "was", "have", "do", "not"})
_LEAST_STEM = 3


class Token(NamedTuple):
    """One word, number, amount, day or sign."""

    form: str
    """The compared form. Empty: equal to nothing."""
    stem: str
    is_name: bool = False
    """Written with a capital inside a sentence."""

    def repeats(self, said: Token) -> bool:
        """Whether this token repeats another one, whether the person speaks or is spoken of."""
        if not self.form or not said.form:
            return False
        if self.form == said.form or (self.stem == said.stem and not self.is_name):
            return True
        # A writer may refer to the speaker as "they".
        return (self.form in _THEY and said.form == SELF) or (self.form in _THEIR and said.form == OWN)

    @property
    def key(self) -> str:
        """A search key that is equal wherever ``repeats`` holds."""
        return SELF if self.form in _THEY else OWN if self.form in _THEIR else self.stem

    @property
    def is_person(self) -> bool:
        """Whether it refers, or may refer, to the speaker."""
        return self.form in (SELF, OWN) or self.form in _THEY or self.form in _THEIR

    @property
    def has_content(self) -> bool:
        """Whether it has meaning by itself."""
        return bool(self.form) and not self.is_person and self.form not in _AUXILIARY


def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a sentence, without articles and fillers."""
    found: list[Token] = []
    for piece in _PIECE.finditer(straight(text)):
        match piece.lastgroup:
            case "iso":
                year, month, day = piece["iso"].split("-")
                found += [_plain(f"@{month}-{day}"), _plain(str(int(year)))]
            case "month":
                found.append(_day(piece["month"], piece["day"]))
            case "day2":
                found.append(_day(piece["month2"], piece["day2"]))
            case "number" | "unit":
                found.append(_plain(_figure(piece["number"]) + (piece["unit"] or "").casefold()))
            case "word":
                found += _words(piece["word"], is_first=not found)
            case _:
                found.append(_plain(piece["sign"]))
    return tuple(_amounts(_numbers([one for one in found if one.form not in _EMPTY])))


def _plain(form: str) -> Token:
    return Token(form, form)


def _day(month: str, day: str) -> Token:
    number = next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(month.casefold().rstrip(".")[:3]))
    return _plain(f"@{number:02}-{int(day):02}")


def _figure(written: str) -> str:
    bare = re.sub(r"(?:st|nd|rd|th)$", "", written.casefold())
    return re.sub(r"[, ']", "", bare)


def _words(written: str, *, is_first: bool) -> list[Token]:
    word = written.casefold()
    if not _one_script(word):
        return [Token("", "")]
    if "-" in word and all(part in _SMALL or part in _TENS for part in word.split("-")):
        return [_plain(part) for part in word.split("-")]
    if word in _WHOLE:
        return [_plain(_SAME.get(part, part)) for part in _WHOLE[word]]
    for ending, parts in _APOSTROPHES.items():
        if word.endswith(ending) and len(word) > len(ending):
            return [_word(word.removesuffix(ending)), *map(_plain, parts)]
    return [_word(word, is_name=written[0].isupper() and not is_first and word not in _SAME)]


def _word(word: str, *, is_name: bool = False) -> Token:
    if word in _SAME:
        return _plain(_SAME[word])
    bare = word.removesuffix("'s").removesuffix("'")
    # A possession is not the person.
    form = f"{bare}'s" if bare != word else bare
    return Token(form, form if bare != word else _stem(bare), is_name)


def _stem(word: str) -> str:
    """The base form of a third-person verb, the singular of a plural. Other endings stay: a tense has meaning."""
    if len(word) <= _LEAST_STEM or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")) else word[:-1]


def _one_script(word: str) -> bool:
    if word.isascii():
        return True
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter.isalpha()}
    return len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"}) <= 1 and (
        "LATIN" not in scripts or scripts <= {"LATIN", "MODIFIER", "FEMININE", "MASCULINE"}
    )


def _numbers(found: list[Token]) -> list[Token]:
    """Numbers in words, and with scales in words, as figures."""
    made: list[Token] = []
    at = 0
    while at < len(found):
        end, value = _counted(found, at)
        if value is None:
            made.append(found[at])
            at += 1
        else:
            made.append(_plain(f"{value.normalize():f}"))
            at = end
    return made


def _counted(found: list[Token], at: int) -> tuple[int, Decimal | None]:
    """The number that begins here, and where it ends."""
    total, group, begun = Decimal(0), None, at
    while at < len(found):
        form = found[at].form
        if form in _SCALES:
            scale = _SCALES[form]
            group = (Decimal(1) if group is None else group) * scale
            if scale > 100:  # noqa: PLR2004 - hundreds go on, thousands and more are done
                total, group = total + group, None
        elif form == "and" and at > begun and found[at - 1].form in _SCALES and at + 1 < len(found):
            if found[at + 1].form not in _SMALL and found[at + 1].form not in _TENS:
                break
        elif form in _TENS and (group is None or group % 100 == 0):
            group = (group or 0) + Decimal(_TENS[form])
        elif form in _SMALL and (group is None or group % 100 == 0 or (group % 10 == 0 and _SMALL[form] < 10)):  # noqa: PLR2004
            group = (group or 0) + Decimal(_SMALL[form])
        elif at == begun and re.fullmatch(r"-?\d+(?:\.\d+)?", form):
            if at + 1 == len(found) or found[at + 1].form not in _SCALES:
                return at, None
            group = Decimal(form)
        else:
            break
        at += 1
    return (at, total + (group or 0)) if at > begun else (at, None)


def _amounts(found: list[Token]) -> list[Token]:
    """A number and its currency or percent sign as one token, whichever comes first."""
    made: list[Token] = []
    at = 0
    while at < len(found):
        here, after = found[at].form, found[at + 1].form if at + 1 < len(found) else ""
        if here[-1:].isdigit() and after in _PERCENT:
            made.append(_plain(f"{here}%"))
        elif here[-1:].isdigit() and not here.startswith("@") and after in _CURRENCIES:
            made.append(_plain(f"{here}{_CURRENCIES[after]}"))
        elif here in _CURRENCIES and after[:1].isdigit():
            made.append(_plain(f"{after}{_CURRENCIES[here]}"))
        else:
            made.append(found[at])
            at -= 1
        at += 2
    return made

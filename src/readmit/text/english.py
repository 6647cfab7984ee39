"""English text by rules: normalized spelling, sentences, function words.

General English only; nothing is taken from a benchmark.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pkgutil import get_data
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A straight and a curly apostrophe make the same word.
_TYPESET = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-"})  # noqa: RUF001
_CONSONANT_Y = re.compile("[^aeiou]y$")
_BREAK = re.compile(r"\n[^\S\n]*\n\s*")


def straight(text: str) -> str:
    """The text in Unicode's compatibility form, with straight quotation marks and dashes, in its own case."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(_TYPESET)


def flat(text: str) -> str:
    """The text with every run of white space made one space."""
    return " ".join(text.split())


def paragraphs(text: str) -> Iterator[str]:
    """The parts of a text between empty lines."""
    return (part for part in _BREAK.split(text.replace("\r\n", "\n")) if part.strip())


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each sentence of a flat text."""
    start = 0
    for found in _END.finditer(text):
        yield start, found.end()
        start = found.end()
    if start < len(text):
        yield start, len(text)


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless there is one of it."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if _CONSONANT_Y.search(noun) else f"{number:,} {noun}s"


@cache
def common_words(*classes: str) -> frozenset[str]:
    """The function words of English, by the classes that grammars list them in, and no others: all, or some classes.

    Frequent words of a benchmark's conversations are not among them.
    """
    listed = _listed("common_words.txt")
    return frozenset(word for name in classes or listed for word in listed[name])


def word_list(name: str) -> tuple[str, ...]:
    """A list of ``word_lists.txt``, in its order."""
    return _listed("word_lists.txt")[name]


@cache
def _listed(file: str) -> dict[str, tuple[str, ...]]:
    # Not ``importlib.resources``, which imports archives and temporary files.
    text = get_data("readmit.records", file) or b""
    lines = (line.partition(":") for line in text.decode("utf-8").splitlines())
    return {name: tuple(words.split()) for name, _, words in lines}


_NAMES = {"i", "i'm", "i've", "i'd", "i'll", "may", "will"}
_FIRST = "|".join(sorted(word.capitalize() for word in (common_words() | {"please", "thanks"}) - _NAMES))
# A question or an exclamation ends wherever it is marked. A full stop may belong to an abbreviation, which goes on in
# lower case or is one of a few titles; one of "p.m." ends a sentence before a word that has a capital only there. A
# line break ends nothing: letters and lists are wrapped in the middle.
_END = re.compile(
    r"""(?:[?!]+(?:[.?!…]*)["')\]*_]*\s+"""
    r"""|(?<!\b\w)(?<!\b(?:mr|ms|dr|st|vs|no))(?<!\b(?:mrs|e\.g|i\.e|etc))(?<!\bprof)[.…]+["')\]*_]*\s+(?!(?-i:[a-z]))"""
    rf"""|(?<=\b[ap]\.m)\.\s+(?=(?-i:{_FIRST})\b)"""
    r"""|[。！？]+)""",  # noqa: RUF001
    re.IGNORECASE,
)

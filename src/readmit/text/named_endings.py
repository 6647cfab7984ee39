"""The things that a text says have ended, and the earlier statements that it names by that.

General English only. A sentence is cut where a contrast begins. A clause *ends* something if it says so ("used to", "no
longer", "rather than", "change it from A to B"); the other clauses *state*. An ending names the earlier statements that
share its rarest run of content words, unless so many do that the run is a theme.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from readmit.text.english import common_words, flat, straight, word_list
from readmit.text.nearness import content_words, name_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Run = tuple[str, ...]

_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")  # noqa: RUF001
_CONTRAST = re.compile(
    r"(?:,\s*|\s+[–—-]+\s*|;\s*|\s+)(?=(?:but|however|yet|though|although|whereas|while)\b)|;\s+", re.IGNORECASE
)
ENDS = re.compile(
    r"\bused to\b|\bno longer\b|\bany ?more\b|\bany longer\b|\b(?:stopped|quit|gave up|given up|giving up)\b"
    r"|\b(?:moved|moving|grown|grew) (?:on|away|out|past)\b|\blost (?:my )?interest\b|\btired of\b"
    r"|\bgone off\b|\bno more\b|\btak(?:e|en|ing) (?:\w+ ){0,3}off\b|\b(?:changed|changing) my mind\b"
    r"|\b(?:cancel|call off|called off|remove|delete|drop|scrap|take off|undo)"
    r"(?:led|ed|d|ped|ling|ing)?\b|\bnever ?mind\b|\b(?:previously|formerly)\b|\brather than\b|\binstead of\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:already |actually |just |finally )*(?:finished|completed|wrapped up)\b",
    re.IGNORECASE,
)
_NEGATES = re.compile(r"\b(?:not|no|never|without|less)\b|n't\b", re.IGNORECASE)
# "Prefer A over B": what comes after is what A replaced.
_OVER = re.compile(r"\b(?:prefer\w*|chose|choos\w+|favou?r\w*)\b.{2,80}?\b(?:over|to)\b (?P<old>.{2,})", re.IGNORECASE)
_FROM_TO = re.compile(r"\bfrom (?P<old>.{2,80}?) (?:back )?to (?P<new>.{2,})", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:chang|updat|switch|revert|mov|rais|lower|increas|decreas|reduc|extend|adjust)\w*\b", re.IGNORECASE
)
_ADVERB = re.compile(r"\w{3,}ly")
_WORD = re.compile(r"[\w$#%&.]*\w(?:'\w+)?")
_PRONOUN = re.compile(r"\b(?:it|its|them|they|those|that|this|him|her|his|their)\b", re.IGNORECASE)


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text, each line at least one."""
    return filter(None, (part.strip() for part in _SENTENCE.split(text)))


def clauses_of(sentence: str) -> tuple[tuple[str, ...], tuple[Run, ...]]:
    """The clauses of a sentence that state something, and the runs of words whose state it says has ended."""
    moved = _moved(sentence)
    if moved is not None:
        return (moved["new"],), tuple(runs(moved["old"]))
    clauses = [clause for clause in _CONTRAST.split(sentence) if clause.strip()]
    ending = [clause for clause in clauses if ENDS.search(clause)]
    if not ending:
        return (sentence,), ()
    rest = [clause for clause in clauses if clause not in ending]
    # The words that say that something ended are not part of its name.
    gone = tuple(run for clause in ending for part in ENDS.split(clause) for run in runs(part))
    if not rest or all(_NEGATES.search(clause) for clause in rest):
        return (), gone
    if any(_PRONOUN.search(clause) for clause in rest):
        # The remaining clause refers to what the other one names, so they are kept together.
        return (sentence,), gone
    return tuple(rest), gone


def runs(text: str) -> Iterator[Run]:
    """Maximal runs of content words, folded."""
    common = common_words()
    run: list[str] = []
    for word in words_of(text):
        if word in common:
            if run:
                yield tuple(run)
            run = []
        else:
            run.append(word)
    if run:
        yield tuple(run)


def words_of(text: str) -> list[str]:
    """The folded words of a text, possessives without their ending."""
    return [word.removesuffix("'s") for word in _WORD.findall(flat(straight(text)).casefold())]


WIDEST = 8
"""A run that more statements than this share names a theme, not one thing that can end."""
WIDEST_WORD = 2
"""``WIDEST`` for a single word."""
MOST_RUNS = 2
"""Most runs that may name what ended; of more, none that is a single word does."""


def same_theme(one: str | None, other: str | None) -> bool:
    """Whether two slots have the same most general word. Names go from general to particular."""
    return one is not None and other is not None and name_words(one)[:1] == name_words(other)[:1]


def named_by(ending: str, statements: Mapping[str, str], *, about: str = "") -> tuple[str, ...]:
    """The statements of which a text says that they ended, by id: those that state what it names.

    Words of its slot, ``about``, and words of attitude ("love", "fan") name nothing: every statement
    about a taste has them. A text that does not say that something ended names nothing.
    """
    # The last word of a slot's name is the most particular one: with another it may name the thing, alone it does not.
    slot = [content_words(" ".join(words)) for words in (name_words(about), name_words(about)[:-1])]
    stated = {name: f" {' '.join(words_of(_stated(text)))} " for name, text in statements.items()}
    found: set[str] = set()
    for clause in _ended(ending):
        held = [
            (part, names)
            for part in _names_in(clause)
            if not content_words(" ".join(part)) <= slot[len(part) > 1]
            if (names := [name for name, text in stated.items() if f" {' '.join(part)} " in text])
        ]
        part, names = min(held, key=lambda one: (-len(one[0]), len(one[1])), default=((), []))
        found.update(names if len(names) <= (WIDEST if len(part) > 1 else WIDEST_WORD) else ())
    return tuple(name for name in statements if name in found)


def _ended(text: str) -> Iterator[str]:
    """The words of each clause of a text in which what it ends is named."""
    for sentence in sentences_of(text):
        if over := _OVER.search(sentence):
            yield over["old"]
        if moved := _moved(sentence):
            yield moved["old"]
            continue
        for clause in _CONTRAST.split(sentence):
            if ENDS.search(clause):
                before, *after = ENDS.split(clause)
                yield " ".join(after) if any(_plain_runs(" ".join(after))) else before


def _names_in(clause: str) -> Iterator[Run]:
    """Candidates for the name of the thing that a clause ends, the last first."""
    found = list(_plain_runs(clause))
    for run in reversed(found):
        # "Films by Ramsay" names Ramsay; of a longer list one word names nothing, nor does one that "his" refers.
        alone = run is found[-1] and len(found) <= MOST_RUNS and not _PRONOUN.search(clause)
        yield from (
            part for part in _parts(run) if (len(part) > 1 and 2 * len(part) >= len(run)) or (run == part and alone)
        )


def _plain_runs(text: str) -> Iterator[Run]:
    """Runs of content words, cut at words of attitude and at adverbs, which name nothing."""
    for run in runs(text):
        for is_name, part in groupby(run, key=_may_name):
            if is_name:
                yield tuple(part)


def _may_name(word: str) -> bool:
    return bool(content_words(word) - _attitudes()) and not _ADVERB.fullmatch(word)


def _stated(text: str) -> str:
    """The part of a text that states something. One that only ends states that."""
    return " ".join(part for sentence in sentences_of(text) for part in clauses_of(sentence)[0]) or text


def _moved(sentence: str) -> re.Match[str] | None:
    return _FROM_TO.search(sentence) if _CHANGES.search(sentence) else None


def _parts(run: Run) -> Sequence[Run]:
    """The run and its contiguous parts, longest first."""
    return [run[start : start + length] for length in range(len(run), 0, -1) for start in range(len(run) - length + 1)]


@cache
def _attitudes() -> frozenset[str]:
    return content_words(" ".join(word_list("attitudes")))

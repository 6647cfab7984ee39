"""Reads the lifecycle from plain turns without a model: what a turn states, what it ends, and what it is about.

General English only, no word of any benchmark. A turn is cut into clauses. A clause *ends* something when it
says so ("used to", "no longer", "remove … from", "change it from A to B"); it *asks* when it is a question;
otherwise it *states*, above all where a speaker
speaks of themselves or gives an instruction. What a turn ends is
named by the rarest run of content words that an earlier statement shares: that run is the slot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit.lab import common_words
from readmit_bench.episodes import GAP
from readmit_bench.spellings import fold_typeset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from readmit_bench.episodes import Row

_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")  # noqa: RUF001
_CONTRAST = re.compile(
    r"(?:,\s*|\s+[–—-]+\s*|;\s*|\s+)(?=(?:but|however|yet|though|although|whereas|while)\b)|;\s+", re.IGNORECASE
)
_ENDS = re.compile(
    r"\bused to\b|\bno longer\b|\bany ?more\b|\bany longer\b|\b(?:stopped|quit|gave up|given up|giving up)\b"
    r"|\b(?:moved|moving|grown|grew) (?:on|away|out|past)\b|\blost (?:my )?interest\b|\btired of\b"
    r"|\bgone off\b|\bno more\b|\btak(?:e|en|ing) (?:\w+ ){0,3}off\b|\b(?:changed|changing) my mind\b"
    r"|\b(?:cancel|call off|called off|remove|delete|drop|scrap|take off|undo)"
    r"(?:led|ed|d|ped|ling|ing)?\b|\bnever ?mind\b|\b(?:previously|formerly)\b|\brather than\b|\binstead of\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:already |actually |just |finally )*(?:finished|completed|wrapped up)\b",
    re.IGNORECASE,
)
_NEGATES = re.compile(r"\b(?:not|no|never|without|less)\b|n't\b", re.IGNORECASE)
_FROM_TO = re.compile(r"\bfrom (?P<old>.{2,80}?) (?:back )?to (?P<new>.{2,})", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:chang|updat|switch|revert|mov|rais|lower|increas|decreas|reduc|extend|adjust)\w*\b", re.IGNORECASE
)
_SPEAKS = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|us)\b", re.IGNORECASE)
_INSTRUCTS = re.compile(
    r"^(?:(?:yes|ok|okay|sure|also|and|actually|now|oh)\b[,.!]?\s*)*(?:please|let's)\b", re.IGNORECASE
)
_WORD = re.compile(r"[\w$#%&.]*\w(?:'\w+)?")
_PRONOUN = re.compile(r"\b(?:it|its|them|they|those|that|this|him|her|his|their)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """One turn: the parts of it that state something, and the phrases whose state it says has ended.

    Parts are verbatim. ``own`` says that the speaker talks about themselves or gives an instruction in them; a turn
    without such a part still states what its other sentences say.
    """

    row: Row
    parts: tuple[str, ...]
    ended: tuple[tuple[str, ...], ...] = ()
    own: bool = True

    def named(self) -> dict[str, str]:
        """The parts under ids of their own; a single part is known by its row."""
        if len(self.parts) == 1:
            return {self.row.id: self.parts[0]}
        return {f"{self.row.id}#{number}": part for number, part in enumerate(self.parts, start=1)}


def read(row: Row) -> Reading:
    """Read one turn."""
    own: list[str] = []
    other: list[str] = []
    ended: list[tuple[str, ...]] = []
    for sentence in filter(None, (part.strip() for part in _SENTENCE.split(row.text))):
        if sentence.endswith("?"):
            continue
        kept, gone = _sentence(sentence)
        own += kept
        ended += gone
        if not kept and not gone:
            other.append(sentence)
    return Reading(row, tuple(own or ([] if ended else other)), tuple(dict.fromkeys(ended)), own=bool(own))


def facts(text: str) -> Iterator[str]:
    """The sentences in which the speaker talks about themselves, instructs or ends something; no questions."""
    for sentence in filter(None, (part.strip() for part in _SENTENCE.split(text))):
        if not sentence.endswith("?") and any(sign.search(sentence) for sign in (_SPEAKS, _INSTRUCTS, _ENDS)):
            yield sentence


def excerpt(text: str, parts: Iterable[str]) -> str:
    """The parts of a text that still hold, in order; the whole text if a part is not found verbatim."""
    spans = sorted((text.find(part), part) for part in set(parts))
    if not spans or spans[0][0] < 0:
        return text
    merged: list[tuple[int, int]] = []
    for start, part in spans:
        end = start + len(part)
        if merged and not text[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return GAP.join(text[start:end] for start, end in merged)


def _sentence(sentence: str) -> tuple[list[str], list[tuple[str, ...]]]:
    clauses = [clause for clause in _CONTRAST.split(sentence) if clause.strip()]
    ending = [clause for clause in clauses if _ENDS.search(clause)]
    moved = _FROM_TO.search(sentence) if _CHANGES.search(sentence) else None
    if moved is not None:
        return [moved["new"]], list(runs(moved["old"]))
    if not ending:
        speaks = _SPEAKS.search(sentence) or _INSTRUCTS.search(sentence)
        return ([sentence] if speaks else []), []
    rest = [clause for clause in clauses if clause not in ending]
    # The words that say that something ended are not part of its name.
    gone = [run for clause in ending for part in _ENDS.split(clause) for run in runs(part)]
    if not rest or all(_NEGATES.search(clause) for clause in rest):
        return [], gone
    if any(_PRONOUN.search(clause) for clause in rest):
        # The remaining clause refers to what the other one names, so they are kept together.
        return [sentence], gone
    return rest, gone


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Maximal runs of content words, folded."""
    common = common_words()
    run: list[str] = []
    for word in words(text):
        if word in common:
            if run:
                yield tuple(run)
            run = []
        else:
            run.append(word)
    if run:
        yield tuple(run)


def words(text: str) -> list[str]:
    """The folded words of a text, possessives without their ending."""
    return [word.removesuffix("'s") for word in _WORD.findall(fold_typeset(text))]


class Phrases:
    """Which statements of a history hold a phrase, by their ids."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._words = {name: f" {' '.join(words(part))} " for one in readings for name, part in one.named().items()}

    def holding(self, run: tuple[str, ...]) -> list[str]:
        """The ids of the statements in which the run stands as it is."""
        needle = f" {' '.join(run)} "
        return [row for row, text in self._words.items() if needle in text]

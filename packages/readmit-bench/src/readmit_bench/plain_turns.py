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

from readmit.lab import ENDS, clauses_of, sentences_of, words_of
from readmit_bench.episodes import GAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from readmit_bench.episodes import Row

_SPEAKS = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|us)\b", re.IGNORECASE)
_INSTRUCTS = re.compile(
    r"^(?:(?:yes|ok|okay|sure|also|and|actually|now|oh)\b[,.!]?\s*)*(?:please|let's)\b", re.IGNORECASE
)


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
    for sentence in sentences_of(row.text):
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
    for sentence in sentences_of(text):
        if not sentence.endswith("?") and any(sign.search(sentence) for sign in (_SPEAKS, _INSTRUCTS, ENDS)):
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
    kept, gone = clauses_of(sentence)
    speaks = gone or kept != (sentence,) or _SPEAKS.search(sentence) or _INSTRUCTS.search(sentence)
    return list(kept) if speaks else [], list(gone)


class Phrases:
    """Which statements of a history hold a phrase, by their ids."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._words = {name: f" {' '.join(words_of(part))} " for one in readings for name, part in one.named().items()}

    def holding(self, run: tuple[str, ...]) -> list[str]:
        """The ids of the statements in which the run stands as it is."""
        needle = f" {' '.join(run)} "
        return [row for row, text in self._words.items() if needle in text]

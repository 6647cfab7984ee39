"""Whether a model's quote carries the statement it wrote: the one rule for all drafts.

A quote is at least its whole sentence. With it go the neighbors that it cannot be understood without: the sentence
before, if it begins with a pronoun or a connective, and neighbors that deny, attribute or invent it from outside.

A statement is carried if each of its sentences repeats a quoted sentence, word by word. Only articles, fillers and the
person may change: "I am asleep by half past ten" becomes "the user is asleep by half past ten". It may leave out an
opening ("Well, …") and plain clauses that are joined by "and", "but" or a semicolon. It may leave out no word that
denies, doubts, conditions, defers, ends, reports or invents, no quotation mark, and no neighbor that does the same. A
question, a greeting or thanks carry nothing.

That is stricter than a reader: most paraphrases are refused, and the quoted sentences are recorded instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from readmit.text.context import clauses, frames, heads, is_tied, leans, meaning_marks, pastes, units
from readmit.text.english import common_words, flat, paragraphs
from readmit.text.sayings import states
from readmit.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST_QUOTE = 2_000
MOST_PLACES = 64
"""Most places at which a quote or stretch is checked. One that occurs more often is ambiguous."""
ASSISTANT = "assistant"
"""The speaker whose turns are a model's own words."""

# A conversation is stored as one or more paragraphs per turn, the first below its speaker's line.
_SPEAKER = re.compile(r"([^\s:][^\n:]{0,63}):\n(?=\S)")


class _Said(msgspec.Struct, frozen=True):
    """A paragraph or a sentence of evidence, and its position in the flat text."""

    start: int
    end: int
    text: str
    speaker: str
    turn: int
    is_framed: bool = False
    """Whether an earlier sentence of its paragraph may deny, attribute or invent it."""


def carried(statement: str, quote: str, evidence: str) -> bool:
    """Whether the quote carries the statement. One that is not found, or is not whole, carries nothing."""
    wanted = flat(quote)
    return any(whole == wanted and _carries(said, statement) for said, whole in _quoted(wanted, evidence))


def worded(statement: str, quote: str, evidence: str) -> tuple[str, str] | None:
    """The recordable text of a draft and its whole quote: the statement, else the quoted words, else the quote.

    None if the quote is not in the evidence, is too long when whole, or only asks or greets.
    """
    own = flat(quote)
    for said, whole in _quoted(own, evidence):
        for text in (statement, own, whole):
            if len(whole) <= LONGEST_QUOTE and _carries(said, text):
                return text, whole
    return None


def says_nothing(quote: str, evidence: str) -> bool:
    """Whether the quote is found, but only in questions, greetings or thanks."""
    found = [turn[first : last + 1] for turn, first, last in _touched(flat(quote), evidence)]
    return bool(found) and not any(states(one.text) for said in found for one in said)


def _quoted(wanted: str, evidence: str) -> Iterator[tuple[Sequence[_Said], str]]:
    """The sentences that the quote overlaps and their neighbors, and their text, for each occurrence that states."""
    text = _paragraphs(evidence)[1] if wanted else ""
    for turn, *(first, last) in _touched(wanted, evidence):
        if not any(states(one.text) for one in turn[first : last + 1]):
            continue
        while first > 0 and (leans(turn[first].text) or _needs(turn, first)):
            first -= 1
        while last + 1 < len(turn) and _needs(turn, last + 1):
            last += 1
        said = turn[first : last + 1]
        yield said, text[said[0].start : said[-1].end].strip()


def _needs(said: Sequence[_Said], at: int) -> bool:
    """Whether a sentence and the one before it are only understood together."""
    return said[at].is_framed or is_tied(said[at - 1].text, said[at].text)


def _touched(wanted: str, evidence: str) -> Iterator[tuple[tuple[_Said, ...], int, int]]:
    """The turn that holds the quote, and the first and last sentence that it overlaps, for each of its occurrences."""
    said, text = _paragraphs(evidence) if wanted else ((), "")
    for at in _places(wanted, text):
        end = at + len(wanted)
        turns = {one.turn for one in said if one.start < end and one.end > at}
        if len(turns) == 1:
            turn = _sentences(evidence, turns.pop())
            hit = [number for number, one in enumerate(turn) if one.start < end and one.end > at]
            yield turn, hit[0], hit[-1]


def _places(wanted: str, text: str) -> list[int]:
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0 and len(found) <= MOST_PLACES:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found if len(found) <= MOST_PLACES else []


@lru_cache(maxsize=16)
def _paragraphs(evidence: str) -> tuple[tuple[_Said, ...], str]:
    """The paragraphs of a text under their speakers, and the text once it is flat."""
    said: list[_Said] = []
    parts: list[str] = []
    length = turn = 0
    speaker = ""
    for paragraph in paragraphs(evidence):
        body = paragraph.lstrip()
        named = _SPEAKER.match(body)
        if named is not None and _is_name(named[1]):
            speaker = named[1].strip().casefold()
            turn += 1
            parts.append(label := flat(named[0]))
            length += len(label) + 1
            body = body[named.end() :]
        parts.append(line := flat(body))
        said.append(_Said(length, length + len(line), line, speaker, turn))
        length += len(line) + 1
    return tuple(said), " ".join(parts)


@lru_cache(maxsize=256)
def _is_name(heading: str) -> bool:
    """Whether a line names a speaker. One such as "Never:" or "In the film:" is part of the text below it."""
    return not meaning_marks(heading) and common_words().isdisjoint(heading.casefold().split())


@lru_cache(maxsize=64)
def _sentences(evidence: str, turn: int) -> tuple[_Said, ...]:
    """The sentences of a turn."""
    found: list[_Said] = []
    is_framed, is_pasted, begun = False, False, 0
    for said in _paragraphs(evidence)[0]:
        if said.turn != turn:
            continue
        # Of a paragraph that says more, only a last line that heads the next paragraph reaches it.
        is_framed = bool(found) and ((is_framed and len(found) == begun + 1) or heads(found[-1].text, said.text))
        begun = len(found)
        for start, end in units(said.text):
            text = said.text[start:end]
            found.append(_Said(said.start + start, said.start + end, text, said.speaker, turn, is_framed or is_pasted))
            is_framed, is_pasted = is_framed or frames(text), is_pasted or pastes(text)
    return tuple(found)


def _carries(said: Sequence[_Said], statement: str) -> bool:
    own = flat(statement)
    if not own:
        return False
    if own == flat(" ".join(one.text for one in said)):
        # Compare the sentences as they are, in any script.
        return any(states(one.text) for one in said)
    repeated: set[int] = set()
    for start, end in units(own):
        found = {at for at, one in enumerate(said) if _repeats(own[start:end], one)}
        if not found:
            return False
        repeated |= found
    pairs = ({at - 1, at} for at in range(1, len(said)) if _needs(said, at))
    return all(pair <= repeated or not pair & repeated for pair in pairs)


def _repeats(part: str, said: _Said) -> bool:
    new = tokens(part)
    if (
        not any(one.has_content for one in new)
        or meaning_marks(part) != meaning_marks(said.text)
        or not states(said.text)
    ):
        return False
    if said.speaker == ASSISTANT and any(one.is_person for one in new):
        # What an assistant says of itself is not about the user, and the words alone do not show the difference.
        return False
    for clause in clauses(said.text):
        old = tokens(clause)
        if len(new) == len(old) and all(one.repeats(other) for one, other in zip(new, old, strict=True)):
            return True
    return False

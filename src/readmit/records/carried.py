"""Whether a model's quote carries the statement it wrote: the one rule for all drafts.

A statement is carried if each of its sentences repeats a stretch of one quoted sentence, in the same order and without
a gap. Only articles, fillers and the person may change: "I am asleep by half past ten" becomes "the user is asleep by
half past ten". So every number, amount, date, name and other word of it is in the quoted sentence, beside the same
words. Words that deny, doubt, condition, defer, end or only report something must be in the statement as often as in
the quoted sentence: without its "not", a stretch says something else. A stretch does not begin after a "to" or stop at
an "or". A question, a greeting or thanks carry nothing.

That is stricter than a reader: most paraphrases are refused, and the quoted words are recorded instead.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from readmit.records.sayings import states
from readmit.records.tokens import tokens
from readmit.records.wording import flat, paragraphs, sentences, word_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.records.tokens import Token

LONGEST_QUOTE = 2_000
MOST_PLACES = 64
"""Most places at which a quote or stretch is checked. One that occurs more often is ambiguous."""
ASSISTANT = "assistant"
"""The speaker whose turns are a model's own words."""

# A conversation is stored as one or more paragraphs per turn, the first below its speaker's line.
_SPEAKER = re.compile(r"([^\s:][^\n:]{0,63}):\n(?=\S)")
# Words that reverse a sentence, or make it less than the speaker's own plain statement. For other languages, only plain
# denials.
_TURNING = frozenset(
    word for name in ("turning", "reporting", "turning in other languages") for word in word_list(name)
)


class _Said(msgspec.Struct, frozen=True):
    """A paragraph or a sentence of evidence, and its position in the flat text."""

    start: int
    end: int
    text: str
    speaker: str


def carried(statement: str, quote: str, evidence: str) -> bool:
    """Whether the quoted stretch of the evidence carries the statement. A quote that is not found carries nothing."""
    return any(_carries(said, statement) for said in _quoted(quote, evidence))


def worded(statement: str, quote: str, evidence: str) -> tuple[str, str] | None:
    """What may be recorded of a draft, and its quote: the statement, else the quote, else whole sentences.

    Nothing if the quote is not in the evidence, or only asks or greets.
    """
    own = flat(quote)
    for said in _quoted(own, evidence):
        whole = flat(" ".join(one.text for one in said))
        for text, resting in ((statement, own), (own, own), (statement, whole), (whole, whole)):
            if len(resting) <= LONGEST_QUOTE and carried(text, resting, evidence):
                return text, resting
    return None


def says_nothing(quote: str, evidence: str) -> bool:
    """Whether the quote is found, but only in questions, greetings or thanks."""
    found = list(_quoted(quote, evidence))
    return bool(found) and not any(states(one.text) for said in found for one in said)


def _quoted(quote: str, evidence: str) -> Iterator[tuple[_Said, ...]]:
    """The sentences that the quote overlaps, for each of its occurrences."""
    wanted = flat(quote)
    # Most texts are long and most quotes short: only the paragraphs around the quote are read closely.
    said, text = _paragraphs(evidence) if wanted else ((), "")
    for at in _places(wanted, text):
        end = at + len(wanted)
        around = (one for one in said if one.start < end and one.end > at)
        touched = (each for one in around for each in _sentences(one))
        yield tuple(one for one in touched if one.start < end and one.end > at)


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
    length = 0
    speaker = ""
    for paragraph in paragraphs(evidence):
        body = paragraph.lstrip()
        named = _SPEAKER.match(body)
        if named is not None and not _turns(named[1]):
            speaker = named[1].strip().casefold()
            parts.append(label := flat(named[0]))
            length += len(label) + 1
            body = body[named.end() :]
        parts.append(line := flat(body))
        said.append(_Said(length, length + len(line), line, speaker))
        length += len(line) + 1
    return tuple(said), " ".join(parts)


@lru_cache(maxsize=256)
def _turns(heading: str) -> bool:
    """Whether a line such as "Never:" is not a speaker but part of the text below it."""
    return bool(_turning(tokens(heading)))


def _sentences(said: _Said) -> Iterator[_Said]:
    for start, end in sentences(said.text):
        yield _Said(said.start + start, said.start + end, said.text[start:end], said.speaker)


def _carries(said: Sequence[_Said], statement: str) -> bool:
    own = flat(statement)
    stating = [one for one in said if states(one.text)]
    if not own or not stating:
        return False
    if own == flat(" ".join(one.text for one in said)):
        # Compare the sentences as they are, in any script.
        return True
    parts = [own[start:end] for start, end in sentences(own)]
    return all(any(_repeats(part, one) for one in stating) for part in parts)


def _repeats(part: str, said: _Said) -> bool:
    new, old = tokens(part), tokens(said.text)
    if not any(one.has_content for one in new) or _turning(new) != _turning(old):
        return False
    if said.speaker == ASSISTANT and any(one.is_person for one in new):
        # What an assistant says of itself is not about the user, and the words alone do not show the difference.
        return False
    return any(all(one.repeats(old[at + step]) for step, one in enumerate(new)) for at in _places_of(new, old))


def _places_of(new: Sequence[Token], old: Sequence[Token]) -> list[int]:
    """The positions in the old tokens at which the new ones may occur."""
    # One separator before each token, so that a match in the joined text starts at a token.
    text = "".join(f"\n{one.key}" for one in old) + "\n"
    wanted = "".join(f"\n{one.key}" for one in new) + "\n"
    places = [text.count("\n", 0, at) for at in _places(wanted, text)]
    edges = ["", *(one.form for one in old), ""]
    # "Wants to", "forgot to" and "too tired to" do not say that it was done, and "A or B" does not say A.
    return [at for at in places if edges[at] not in {"to", "or"} and edges[at + len(new) + 1] != "or"]


def _turning(found: Sequence[Token]) -> Counter[str]:
    return Counter(one.stem for one in found if one.stem in _TURNING)

"""Pairs and verdicts: implicit invalidation as data.

Paper, "From a possible dependency to a confirmed invalidation". A pair is a hypothesis. A verdict is a
judgment on it, and counts only if both of its quotes are found in the texts it speaks about.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from readmit.records.base import Digest, Id, Name, Note, Ratio, Record, require_share
from readmit.records.made import Made
from readmit.records.quotes import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from readmit.records.policy import Policy

EVEN = Decimal("0.5")
"""The score at which both answers are equally likely."""


class Pair(Record, kw_only=True):
    """An older item and a later observation that may change its premise."""

    item: Id
    evidence: Digest


class Answer(StrEnum):
    """What a verifier says of a pair."""

    INVALIDATES = "invalidates"
    COMPATIBLE = "compatible"
    UNSURE = "unsure"


class Verdict(Record, kw_only=True, metaclass=Made):
    """A judgment on one pair for one returning use. It can only take an item out, never put one in."""

    pair: Pair
    answer: Answer
    confidence: Ratio
    item_quote: Note = ""
    evidence_quote: Note = ""
    premise: Note = ""
    use: Note = ""
    model: Name = "unspecified"
    prompt: Name = "unspecified"
    stale: Ratio | None = None
    """How likely it is that whoever relied on the item now would be mistaken, as one score. Then the policy's
    thresholds decide, and ``answer`` and ``confidence`` only say the same in words. None: the answer decides."""
    note: Note = ""
    """Why the answer came out as it did where the model's own does not count, or several were joined."""

    def __post_init__(self) -> None:
        require_share("confidence", self.confidence)
        if self.stale is not None:
            require_share("stale", self.stale)


class Ruling(StrEnum):
    """What a verdict settles about its pair."""

    INVALID = "invalid"
    """The item is out."""
    DOUBTFUL = "doubtful"
    """The item is withheld where it supports a critical dependency, and stands elsewhere."""
    OPEN = "open"
    """Nothing: the pair stays suspected."""
    COMPATIBLE = "compatible"
    """The pair is put to rest."""


def ruling(verdict: Verdict, policy: Policy, *, grounded: Callable[[], bool]) -> Ruling:
    """What a verdict settles under a policy. Nothing else decides that, wherever a verdict is read.

    ``grounded`` says whether both quotes are found; it is asked only where that matters. What leaves an item as it
    was needs no quotes: no words of a text show that it has no bearing on another.
    """
    if verdict.stale is not None:
        if verdict.stale < policy.suspect_at:
            return Ruling.COMPATIBLE
        if not grounded():
            return Ruling.OPEN
        return Ruling.INVALID if verdict.stale >= policy.invalid_at else Ruling.DOUBTFUL
    if verdict.answer is Answer.UNSURE or verdict.confidence < policy.min_confidence:
        return Ruling.OPEN
    if verdict.answer is Answer.COMPATIBLE:
        return Ruling.COMPATIBLE
    return Ruling.INVALID if grounded() else Ruling.OPEN


def quotes_found(verdict: Verdict, own: Iterable[str], later: str) -> bool:
    """Whether both quotes stand where they are said to: in a text of the item's own, and in the later one."""
    return quoted(verdict.evidence_quote, later) and any(quoted(verdict.item_quote, text) for text in own)


def in_words(stale: Decimal) -> tuple[Answer, Decimal]:
    """A score as the likelier answer, and how likely that is."""
    return (Answer.INVALIDATES, stale) if stale >= EVEN else (Answer.COMPATIBLE, 1 - stale)

"""Pairs and verdicts: implicit invalidation as data.

Paper, "From a possible dependency to a confirmed invalidation". A pair is a hypothesis. A verdict is a
judgment on it, and counts only if both of its quotes are found in the texts it judges.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from readmit.records.base import Count, Digest, Id, Name, Note, Ratio, Record, require_share
from readmit.records.identity import Identity
from readmit.records.made import Made

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
    """A verifier's answer about a pair."""

    INVALIDATES = "invalidates"
    COMPATIBLE = "compatible"
    UNSURE = "unsure"


class Verdict(Record, kw_only=True, metaclass=Made):
    """A judgment on one pair, for every return. It can only take an item out, never put one in."""

    pair: Pair
    answer: Answer
    confidence: Ratio
    item_quote: Note = ""
    evidence_quote: Note = ""
    premise: Note = ""
    model: Name = "unspecified"
    prompt: Name = "unspecified"
    stale: Ratio | None = None
    """The probability that relying on the item now would be a mistake. The policy's thresholds then decide, and
    ``answer`` and ``confidence`` only repeat the score in words. None: the answer decides.
    """
    note: Note = ""
    """Why the model's own answer does not count, or how several were combined."""

    def __post_init__(self) -> None:
        require_share("confidence", self.confidence)
        if self.stale is not None:
            require_share("stale", self.stale)


class Ruling(StrEnum):
    """The effect of a verdict on its pair."""

    INVALID = "invalid"
    """The item is out."""
    DOUBTFUL = "doubtful"
    """The item is withheld if it supports a critical dependency, and stands otherwise."""
    OPEN = "open"
    """Nothing: the pair stays suspected."""
    COMPATIBLE = "compatible"
    """The pair is settled."""


def ruling(verdict: Verdict, policy: Policy, *, grounded: Callable[[], bool]) -> Ruling:
    """The ruling of a verdict under a policy. Every reader of verdicts uses this function.

    ``grounded`` says whether both quotes are found; it is called only if that matters. A verdict that leaves an item in
    needs no quotes: no quote can show that one text does not affect another.
    """
    if verdict.stale is not None:
        if verdict.stale < policy.evidence.suspect_at:
            return Ruling.COMPATIBLE
        if not grounded():
            return Ruling.OPEN
        return Ruling.INVALID if verdict.stale >= policy.evidence.invalid_at else Ruling.DOUBTFUL
    if verdict.answer is Answer.UNSURE or verdict.confidence < policy.paper.min_confidence:
        return Ruling.OPEN
    if verdict.answer is Answer.COMPATIBLE:
        return Ruling.COMPATIBLE
    return Ruling.INVALID if grounded() else Ruling.OPEN


def quotes_found(verdict: Verdict, own: Iterable[str], later: str) -> bool:
    """Whether both quotes are found: one in the item's own texts, one in the later text."""
    return quoted(verdict.evidence_quote, later) and any(quoted(verdict.item_quote, text) for text in own)


def in_words(stale: Decimal) -> tuple[Answer, Decimal]:
    """A score as the likelier answer and its probability."""
    return (Answer.INVALIDATES, stale) if stale >= EVEN else (Answer.COMPATIBLE, 1 - stale)


class Examine(Record, kw_only=True):
    """A verifier looked for implicit changes on behalf of one departure, up to an epoch."""

    checkpoint: Id
    identity: Identity
    verifier: Name
    until: Count
    """Every observation up to here was examined, against everything that the agent could see at the time."""
    nothing_stated: Count = 0
    """Examined observations that an extractor read whole and found no statement in: no pair was made of them."""
    purpose: Name | None = None
    """The purpose the agent was expected to return for."""


def quoted(quote: str, text: str) -> bool:
    """Whether the quote is part of the text once white space is collapsed in both. An empty quote never is."""
    wanted = " ".join(quote.split())
    return bool(wanted) and wanted in " ".join(text.split())

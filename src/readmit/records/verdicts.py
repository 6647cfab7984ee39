"""Pairs and verdicts: implicit invalidation as data.

Paper, "From a possible dependency to a confirmed invalidation". A pair is a hypothesis. A verdict is a
judgment on it, and counts only if both of its quotes are found in the texts it speaks about.
"""

from __future__ import annotations

from enum import StrEnum

from readmit.records.base import Digest, Id, Name, Note, Ratio, Record, require_share


class Pair(Record, kw_only=True):
    """An older item and a later observation that may change its premise."""

    item: Id
    evidence: Digest


class Answer(StrEnum):
    """What a verifier says of a pair."""

    INVALIDATES = "invalidates"
    COMPATIBLE = "compatible"
    UNSURE = "unsure"


class Verdict(Record, kw_only=True):
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
    """How likely the observation makes the item untrue, as one score. Then the policy's thresholds decide, and
    ``answer`` and ``confidence`` only say the same in words. None: the answer decides."""
    note: Note = ""
    """Why the answer came out as it did where the model's own does not count, or several were joined."""

    def __post_init__(self) -> None:
        require_share("confidence", self.confidence)
        if self.stale is not None:
            require_share("stale", self.stale)

"""What one preparation did, as the audit keeps it: what was looked at, what was found, what was not, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.base import Count, Id, Name, Note, Record
from readmit.records.identity import Identity
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from readmit.models.usage import StageUsage


class StageTokens(Record, kw_only=True):
    """What one stage took."""

    stage: Name
    calls: Count
    failed: Count = 0
    replayed: Count = 0
    input: Count = 0
    cached: Count = 0
    output: Count = 0
    milliseconds: Count = 0

    @classmethod
    def of(cls, usage: StageUsage) -> StageTokens:
        return cls(**{field: getattr(usage, field) for field in cls.__struct_fields__})


class SignalCount(Record, kw_only=True):
    """What one signal did: pairs it scored, proposed, within the budget, and of these its own alone."""

    signal: Name
    scored: Count
    proposed: Count
    kept: Count
    alone: Count


class Prepared(Record, kw_only=True):
    """One preparation. What was not looked at can be told from it later."""

    identity: Identity
    use: Note
    epoch: Count
    """The log position that was looked at."""
    until: Count = 0
    """Every observation up to here was looked at: judged, suspected, or passed over by every signal. Pairs that the
    limits cut, or that failed answers hid, are not, unless they are suspicions now."""
    targets: Count
    observations: Count
    """Observations with at least one pair that was still open."""
    open: Count
    """Pairs that no verdict settles yet."""
    reused: Count
    """Pairs that an earlier verdict settles."""
    judged: Count
    invalidated: tuple[Id, ...] = ()
    """Items that this preparation found changed."""
    unsure: Count = 0
    """Verdicts that settle nothing."""
    unanswered: Count = 0
    """Pairs that the verifier gave no usable answer to. Each is a suspicion now."""
    cut: tuple[Pair, ...] = ()
    """Proposed, but beyond the limits, and not verified."""
    unseen: tuple[Pair, ...] = ()
    """Hidden from a signal by a failed answer, proposed by no other, and not verified."""
    suspected: Count = 0
    """Of the cut and unseen pairs, those of critical items, which are suspicions now."""
    signals: tuple[SignalCount, ...] = ()
    usage: tuple[StageTokens, ...] = ()
    faults: tuple[Note, ...] = ()
    """Why answers are missing. For whoever runs readmit, never for the returning agent."""

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens of all stages."""
        return sum(one.input + one.output for one in self.usage)

    @property
    def eventful(self) -> bool:
        """Whether anything was asked, found or left out."""
        return bool(self.open or self.judged or self.unanswered or self.usage)

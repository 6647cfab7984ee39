"""The audit report of one preparation: examined, found and skipped pairs, and the usage."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from readmit.models.usage import StageUsage
from readmit.records.base import Count, Id, Name, Note, Record
from readmit.records.identity import Identity
from readmit.records.verdicts import Pair


class SignalCount(Record, kw_only=True):
    """Pairs of one signal: scored, near enough to be proposed, and of these scored by no other signal."""

    signal: Name
    scored: Count
    kept: Count
    alone: Count


class ProposedPair(Record, kw_only=True):
    """A pair that was put to the verifier, and the signals that proposed it: none where every pair was verified."""

    pair: Pair
    signals: tuple[Name, ...] = ()


class Prepared(Record, kw_only=True):
    """One preparation, including the pairs it did not examine."""

    identity: Identity
    epoch: Count
    """The epoch of the log that was examined."""
    until: Count = 0
    """Every observation up to here was examined: judged, suspected, without a statement, or not near enough for any
    signal. Pairs that failed answers hid do not count as examined, unless they are suspicions now.
    """
    targets: Count
    observations: Count
    """Observations with at least one pair that was still open."""
    nothing_stated: Count = 0
    """Observations that an extractor read whole and found no statement in: no pair is made of them."""
    open: Count
    """Pairs that no verdict settles yet."""
    reused: Count
    """Pairs that an earlier verdict settles."""
    judged: Count
    invalidated: tuple[Id, ...] = ()
    """Items that this preparation found changed."""
    unsure: Count = 0
    """Verdicts that do not settle their pair."""
    unanswered: Count = 0
    """Pairs that the verifier gave no usable answer to. Each is a suspicion now."""
    unseen: tuple[Pair, ...] = ()
    """Pairs hidden from a signal by a failed answer, proposed by no other, and not verified."""
    suspected: Count = 0
    """Unseen pairs of critical items, which are suspicions now."""
    proposed: tuple[ProposedPair, ...] = ()
    """The pairs that were put to the verifier."""
    links: Count = 0
    """Links between needs and items that were drawn."""
    links_dropped: Count = 0
    """Links that the linker proposed without a valid quote."""
    unmet: tuple[Id, ...] = ()
    """Needs of the owed duties that no standing item meets after linking."""
    unlinked: tuple[Id, ...] = ()
    """Needs without an answer of the linker: whether an item meets them is unknown."""
    replacements: tuple[Id, ...] = ()
    """Items drafted from the observations that invalidated needed ones."""
    resourced: tuple[Id, ...] = ()
    """Items whose source changed and whose statement the present text still carries."""
    signals: tuple[SignalCount, ...] = ()
    usage: tuple[StageUsage, ...] = ()
    faults: tuple[Note, ...] = ()
    """Why answers are missing. For the operator, never for the returning agent."""

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens of all stages."""
        return sum(one.tokens for one in self.usage)

    @property
    def eventful(self) -> bool:
        """Whether the preparation sent a request, found a change or left out a pair."""
        return bool(self.open or self.judged or self.unanswered or self.usage or self.links or self.replacements)

    def after(self, earlier: Prepared | None) -> Prepared:
        """The combined report, if this preparation continues an earlier one with the same ledger."""
        if earlier is None:
            return self
        both: dict[str, Any] = {
            name: getattr(earlier, name) + getattr(self, name)
            for name in (
                "open", "judged", "invalidated", "unsure", "unanswered", "suspected", "links", "links_dropped",
                "replacements",
            )
        }  # fmt: skip
        for name in ("invalidated", "unseen", "proposed", "resourced", "faults"):
            both[name] = tuple(dict.fromkeys((*getattr(earlier, name), *getattr(self, name))))
        return replace(
            self,
            reused=earlier.reused,
            observations=max(earlier.observations, self.observations),
            signals=_summed(earlier.signals, self.signals),
            **both,
        )


def _summed(*counts: tuple[SignalCount, ...]) -> tuple[SignalCount, ...]:
    found: dict[str, SignalCount] = {}
    for one in (one for own in counts for one in own):
        before = found.get(one.signal)
        found[one.signal] = one if before is None else SignalCount(
            signal=one.signal,
            **{name: getattr(before, name) + getattr(one, name) for name in ("scored", "kept", "alone")},
        )  # fmt: skip
    return tuple(found.values())

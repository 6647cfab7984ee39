"""Put the signals together: their union, ranked over all targets of a return by weighted evidence.

Every signal scores on one scale, how far a pair stands out among the pairs of its own target (``evidence``), so their
sum ranks pairs of different targets together: a target with a pair that stands out gets more of the budget. Pairs of
critical items come first. Pairs that the budget cuts are returned, so that they are recorded and not taken for judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.records.verdicts import Pair
from readmit.rules.invalidate.propose.candidates import Openings, Scored, Scorer, Signal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Pairs that the team declared, or that a model named after reading both texts, outweigh nearness; facts that a model
# wrote for this purpose outweigh raw texts.
WEIGHTS: Mapping[Signal, float] = {
    Signal.DECLARED_PREMISE: 16.0,
    Signal.SAME_SLOT: 16.0,
    Signal.SCAN: 16.0,
    Signal.IMPLIED_FACTS: 8.0,
    Signal.EMBEDDING: 2.0,
    Signal.PASSAGE: 1.0,
}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is proposed, and how much of it is verified."""

    per_target: int = 20
    """Most pairs proposed for one item."""
    per_return: int | None = 60
    """Most pairs handed to the verifier in one return. None: all of them."""
    depth: int = 50
    """How far down each signal's own ranking fusion reads."""

    def __post_init__(self) -> None:
        if self.per_target < 1:
            raise ValueError(f"per_target: {self.per_target} proposes nothing; use at least 1")
        if self.per_return is not None and self.per_return < 0:
            raise ValueError(f"per_return: {self.per_return} is negative; use 0 to verify nothing, None for no limit")
        if self.depth < self.per_target:
            raise ValueError(f"depth: {self.depth} is less than per_target ({self.per_target}); make it at least that")


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A pair worth verifying, and the signals that proposed it."""

    pair: Pair
    score: float
    """The fused score; comparable over all targets of a return."""
    rank: int
    """Place among its target's pairs, from 1."""
    signals: Mapping[Signal, float]
    """Each signal that scored the pair, with its own score."""
    epoch: int
    """The observation's."""
    critical: bool = False


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What one signal did."""

    scored: int
    """Open pairs it scored and returned."""
    proposed: int
    """Of these, pairs within their target's limit."""
    kept: int
    """Of these, pairs within the budget."""
    alone: int
    """Of the kept, pairs that no other signal scored."""


class Proposals(msgspec.Struct, frozen=True, kw_only=True):
    """All proposals in the order in which they should be verified, split by the budget."""

    kept: tuple[Proposal, ...]
    cut: tuple[Proposal, ...]
    open: int
    """Open pairs altogether."""
    tallies: Mapping[Signal, Tally]


def propose(openings: Openings, scorers: Iterable[Scorer], limits: Limits | None = None) -> Proposals:
    """Run the signals over the open pairs and rank what they found."""
    limits = limits or Limits()
    by_signal: dict[Signal, Sequence[Scored]] = {}
    for scorer in scorers:
        if scorer.signal in by_signal:
            raise ValueError(f"scorers: {scorer.signal} is given twice; pass each signal once")
        by_signal[scorer.signal] = scorer.score(openings, limits.depth)
    proposals = sorted(_per_target(openings, by_signal, limits.per_target), key=_across)
    budget = len(proposals) if limits.per_return is None else limits.per_return
    kept, cut = tuple(proposals[:budget]), tuple(proposals[budget:])
    tallies = {signal: _tally(signal, scored, proposals, kept) for signal, scored in by_signal.items()}
    return Proposals(kept=kept, cut=cut, open=len(openings), tallies=tallies)


def _across(proposal: Proposal) -> tuple[object, ...]:
    # On a tie the later observation goes first: the latest confirmed invalidator wins anyway.
    return (not proposal.critical, -proposal.score, -proposal.epoch, proposal.pair.item, proposal.rank)


def _per_target(openings: Openings, by_signal: Mapping[Signal, Sequence[Scored]], limit: int) -> Iterable[Proposal]:
    said: dict[int, dict[int, dict[Signal, float]]] = {}
    lowest: dict[tuple[int, Signal], float] = {}
    for signal, scored in by_signal.items():
        for entry in scored:
            said.setdefault(entry.target, {}).setdefault(entry.observation, {})[signal] = entry.score
            place = entry.target, signal
            # A pair that a signal did not return counts no more than its worst returned pair, nor than average.
            lowest[place] = min(lowest.get(place, 0.0), entry.score)
    for row, pairs in said.items():
        target = openings.targets[row]
        missed = {signal: lowest.get((row, signal), 0.0) for signal in sorted(by_signal)}
        fused = {
            column: round(sum(WEIGHTS[signal] * scores.get(signal, low) for signal, low in missed.items()), 6)
            for column, scores in pairs.items()
        }
        best = sorted(fused, key=lambda column: (-fused[column], -column))
        for rank, column in enumerate(best[:limit], start=1):
            seen = openings.observations[column]
            yield Proposal(
                pair=Pair(item=target.item, evidence=seen.evidence),
                score=fused[column],
                rank=rank,
                signals=pairs[column],
                epoch=seen.epoch,
                critical=target.critical,
            )


def _tally(signal: Signal, scored: Sequence[Scored], proposals: Sequence[Proposal], kept: Sequence[Proposal]) -> Tally:
    return Tally(
        scored=len(scored),
        proposed=sum(signal in proposal.signals for proposal in proposals),
        kept=sum(signal in proposal.signals for proposal in kept),
        alone=sum(set(proposal.signals) == {signal} for proposal in kept),
    )

"""Put the signals together: their union, ranked per target by reciprocal rank fusion, then across targets.

Fusion reads ranks only, so signals need no common scale. Across targets, every target's first pair comes before
any target's second: scores of different targets are not comparable, and no target may starve the others. Pairs of
critical items come before all. What the budget cuts is returned, so that it can be recorded and never passes for
judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.invalidate.propose.candidates import Openings, Scored, Scorer, Signal
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Damps how much the first ranks count over the next ones.
DAMPING = 10.0

# What the team declared, or a model named after reading both texts, outweighs nearness; facts that a model wrote
# for this purpose outweigh raw texts.
WEIGHTS: Mapping[Signal, float] = {
    Signal.DECLARED_PREMISE: 8.0,
    Signal.SAME_SLOT: 8.0,
    Signal.SCAN: 8.0,
    Signal.IMPLIED_FACTS: 4.0,
    Signal.EMBEDDING: 1.0,
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
    """A pair worth verifying, and which signals say so."""

    pair: Pair
    score: float
    """The fused score; comparable within one target only."""
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
    """Open pairs it scored and handed over."""
    proposed: int
    """Of these, pairs that came within their target's limit."""
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
    return (
        not proposal.critical,
        proposal.rank,
        -proposal.score,
        -proposal.epoch,
        proposal.pair.item,
        proposal.pair.evidence,
    )


def _per_target(openings: Openings, by_signal: Mapping[Signal, Sequence[Scored]], limit: int) -> Iterable[Proposal]:
    fused: dict[tuple[int, int], float] = {}
    said: dict[tuple[int, int], dict[Signal, float]] = {}
    for signal, scored in by_signal.items():
        for entry, rank in _ranked(scored):
            place = (entry.target, entry.observation)
            fused[place] = fused.get(place, 0.0) + WEIGHTS[signal] / (DAMPING + rank)
            said.setdefault(place, {})[signal] = entry.score
    rows: dict[int, list[int]] = {}
    for row, column in fused:
        rows.setdefault(row, []).append(column)
    for row in sorted(rows):
        target = openings.targets[row]
        # Of equally good pairs the later observation goes first: the latest confirmed invalidator wins anyway.
        best = sorted(rows[row], key=lambda column: (-round(fused[row, column], 9), -column))
        for rank, column in enumerate(best[:limit], start=1):
            seen = openings.observations[column]
            yield Proposal(
                pair=Pair(item=target.item, evidence=seen.evidence),
                score=round(fused[row, column], 9),
                rank=rank,
                signals=said[row, column],
                epoch=seen.epoch,
                critical=target.critical,
            )


def _ranked(scored: Sequence[Scored]) -> Iterable[tuple[Scored, float]]:
    """Rank each target's pairs by score; equal scores share the middle of the ranks they take up."""
    rows: dict[int, list[Scored]] = {}
    for entry in scored:
        rows.setdefault(entry.target, []).append(entry)
    for entries in rows.values():
        entries.sort(key=lambda entry: -entry.score)
        start = 0
        while start < len(entries):
            end = start
            while end < len(entries) and entries[end].score == entries[start].score:
                end += 1
            for entry in entries[start:end]:
                yield entry, (start + 1 + end) / 2
            start = end


def _tally(signal: Signal, scored: Sequence[Scored], proposals: Sequence[Proposal], kept: Sequence[Proposal]) -> Tally:
    return Tally(
        scored=len(scored),
        proposed=sum(signal in proposal.signals for proposal in proposals),
        kept=sum(signal in proposal.signals for proposal in kept),
        alone=sum(set(proposal.signals) == {signal} for proposal in kept),
    )

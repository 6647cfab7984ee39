"""Put the signals together: their union, ranked over all targets of a return by weighted evidence.

Every signal scores on one scale, how far a pair stands out among the pairs of its own target (``later_evidence``), so
their weighted mean ranks pairs of different targets together. Pairs are proposed down to a score, not to a count: a
return in which much is near gets more of them than one in which little is. Pairs that the team declared, or that a
model named, are always proposed. Pairs of critical items come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from readmit.records.verdicts import Pair
from readmit.rules.invalidate.propose.candidates import Openings, Scored, Scorer, Signal

NEAR = 0.25
"""The score from which on a pair is proposed, in standard deviations above the other pairs of its target.

Of 0, 0.25 … 1.5 the highest that by itself, on every other Type II pair of STALE's development data, proposes nine in
ten true pairs in a substitute haystack and seven in ten among STALE's own sessions (remarks inside a session, signals
without a model). ADR 0056 has the figures.
"""
NEAR_STATED = 1.25
"""``NEAR`` where it is known what an observation states or implies: no remark is buried, and pairs stand out more.

The same rule would allow 1.5; the last step loses one in eight of a plain statement among STALE's own sessions.
"""
DEPTH = 50
"""How far down each signal's own ranking fusion reads, for each target."""
NAMED = frozenset({Signal.DECLARED_PREMISE, Signal.SAME_SLOT, Signal.SCAN})
"""Signals that name pairs instead of measuring how near they are."""
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
WEIGHTS_STATED: Mapping[Signal, float] = {**WEIGHTS, Signal.IMPLIED_FACTS: 2.0}
"""Weights for an observation that an extractor read: its facts are what it states, so they are raw texts too."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A pair worth verifying, and the signals that proposed it."""

    pair: Pair
    score: float
    """The weighted mean of the signals that measure nearness, and what naming adds; comparable over all targets."""
    rank: int
    """Place among its target's pairs, from 1."""
    signals: Mapping[Signal, float]
    """Each signal that scored the pair, with its own score."""
    epoch: int
    """The observation's."""
    critical: bool = False


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one signal, in numbers."""

    scored: int
    """Open pairs it scored and returned."""
    kept: int
    """Scored pairs that are proposed."""
    alone: int
    """Proposed pairs that no other signal scored."""


class Proposals(msgspec.Struct, frozen=True, kw_only=True):
    """The proposals in the order in which they should be verified."""

    kept: tuple[Proposal, ...] = ()
    open: int = 0
    """Open pairs altogether."""
    tallies: Mapping[Signal, Tally] = {}


def propose(
    openings: Openings,
    scorers: Iterable[Scorer],
    *,
    near: float | None = NEAR,
    stated: AbstractSet[str] = frozenset(),
    implying: AbstractSet[str] = frozenset(),
    near_stated: float = NEAR_STATED,
    depth: int = DEPTH,
) -> Proposals:
    """Run the signals over the open pairs and rank the near ones; without ``near``, all that they scored.

    ``stated`` names the observations that an extractor read whole, ``implying`` those whose implied facts were written:
    the pairs of both are near from ``near_stated`` on.
    """
    by_signal: dict[Signal, Sequence[Scored]] = {}
    for scorer in scorers:
        if scorer.signal in by_signal:
            raise ValueError(f"scorers: {scorer.signal} is given twice; pass each signal once")
        by_signal[scorer.signal] = scorer.score(openings, depth)
    found = sorted(_per_target(openings, by_signal, stated), key=_across)

    def is_near(one: Proposal) -> bool:
        known = one.pair.evidence in stated or one.pair.evidence in implying
        return near is None or one.score >= (near_stated if known else near)

    kept = tuple(one for one in found if is_near(one) or not NAMED.isdisjoint(one.signals))
    tallies = {signal: _tally(signal, scored, kept) for signal, scored in by_signal.items()}
    return Proposals(kept=kept, open=len(openings), tallies=tallies)


def _across(proposal: Proposal) -> tuple[object, ...]:
    # On a tie the later observation goes first: the latest confirmed invalidator wins anyway.
    return (not proposal.critical, -proposal.score, -proposal.epoch, proposal.pair.item, proposal.rank)


def _per_target(
    openings: Openings, by_signal: Mapping[Signal, Sequence[Scored]], stated: AbstractSet[str]
) -> Iterable[Proposal]:
    said: dict[int, dict[int, dict[Signal, float]]] = {}
    lowest: dict[tuple[int, Signal], float] = {}
    for signal, scored in by_signal.items():
        for entry in scored:
            said.setdefault(entry.target, {}).setdefault(entry.observation, {})[signal] = entry.score
            place = entry.target, signal
            # A pair that a signal did not return counts no more than its worst returned pair, nor than average.
            lowest[place] = min(lowest.get(place, 0.0), entry.score)
    weights = [WEIGHTS_STATED if seen.evidence in stated else WEIGHTS for seen in openings.observations]
    measured = [signal for signal in by_signal if signal not in NAMED]
    for row, pairs in said.items():
        target = openings.targets[row]
        missed = {signal: lowest.get((row, signal), 0.0) for signal in sorted(by_signal)}
        fused = {
            column: round(
                sum(weights[column][signal] * scores.get(signal, low) for signal, low in missed.items())
                / (sum(weights[column][signal] for signal in measured) or 1.0),
                6,
            )
            for column, scores in pairs.items()
        }
        best = sorted(fused, key=lambda column: (-fused[column], -column))
        for rank, column in enumerate(best, start=1):
            seen = openings.observations[column]
            yield Proposal(
                pair=Pair(item=target.item, evidence=seen.evidence),
                score=fused[column],
                rank=rank,
                signals=pairs[column],
                epoch=seen.epoch,
                critical=target.critical,
            )


def _tally(signal: Signal, scored: Sequence[Scored], kept: Sequence[Proposal]) -> Tally:
    return Tally(
        scored=len(scored),
        kept=sum(signal in proposal.signals for proposal in kept),
        alone=sum(set(proposal.signals) == {signal} for proposal in kept),
    )

"""Signals from structure that the team declared: premises and slots. No text is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.rules.invalidate.propose.candidates import Observation, Openings, Scored, Signal, Target
from readmit.rules.invalidate.propose.later_evidence import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class DeclaredPremises:
    """A later observation is bound to a premise of the item, or is about a premise's slot."""

    signal = Signal.DECLARED_PREMISE

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:  # noqa: ARG002 - structure is never cut
        return _matches(openings, _touches_premise)


class SameSlot:
    """A later observation is about the item's slot, or about a dependency that the item supports."""

    signal = Signal.SAME_SLOT

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:  # noqa: ARG002 - structure is never cut
        return _matches(openings, _shares_slot)


def _touches_premise(target: Target, observation: Observation) -> bool:
    return not (target.premises.isdisjoint(observation.about) and target.premise_slots.isdisjoint(observation.covers))


def _shares_slot(target: Target, observation: Observation) -> bool:
    return not target.covers.isdisjoint(observation.covers)


def _matches(openings: Openings, related: Callable[[Target, Observation], bool]) -> list[Scored]:
    speaking = [(column, seen) for column, seen in enumerate(openings.observations) if seen.covers or seen.about]
    places = (
        (row, column)
        for row, target in enumerate(openings.targets)
        for column, seen in speaking
        if openings.open[row, column] and related(target, seen)
    )
    return named(openings, places)

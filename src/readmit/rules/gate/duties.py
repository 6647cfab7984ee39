"""The mandatory structure: what binds the returning role, and whether it is fit to be handed over.

A duty is an act of its author and ends by an act: it is settled, withdrawn, replaced by another duty, or owed by
another agent. A constraint ends in the same way, or with its time. An obstacle ends neither. The decision lists every
one, ended or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import DutyState, State
from readmit.rules.gate.constraints import Limit, ending, limits
from readmit.rules.gate.needs import Needs
from readmit.rules.invalidate.lifecycle import closed

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated

# States in which a frontier is over, rather than withheld.
_ENDED = frozenset(
    {
        State.UNAUTHORIZED,
        State.REVOKED,
        State.SUPERSEDED,
        State.EXPIRED,
        State.NOT_YET_VALID,
        State.NOT_APPLICABLE,
    }
)


class Duty(msgspec.Struct, frozen=True):
    """A duty, its state in this return, and its current frontier."""

    obligation: Obligation
    state: DutyState
    frontier: Frontier | None = None
    questions: tuple[str, ...] = ()
    """Needs that a model planned and no item meets. ``obligation`` does not require them here."""

    @property
    def records(self) -> tuple[Item, ...]:
        """The duty and its frontier, as handed over."""
        return (self.obligation,) if self.frontier is None else (self.obligation, self.frontier)


class Duties(msgspec.Struct, frozen=True):
    """Every duty and every constraint that was considered, each in log order."""

    considered: tuple[Duty, ...] = ()
    absent: tuple[str, ...] = ()
    """Duties and frontiers that must be handed over and are not eligible."""
    limits: tuple[Limit, ...] = ()

    @property
    def obstructed(self) -> tuple[str, ...]:
        """Constraints that must be handed over and are not eligible. They limit every duty, so nothing is."""
        return tuple(one.constraint.id for one in self.limits if one.state.obstructs)

    @property
    def owed(self) -> tuple[Duty, ...]:
        return tuple(duty for duty in self.considered if duty.state.owed)

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """``O``: what the role must be able to do."""
        return tuple(duty.obligation for duty in self.owed)

    @property
    def whole(self) -> tuple[Duty, ...]:
        """Owed duties that can be handed over, if evidence covers them."""
        return tuple(duty for duty in self.owed if duty.state in (DutyState.OWED, DutyState.OVERDUE))


def duties(snapshot: Snapshot, gated: Gated, policy: Policy) -> Duties:
    """The duties, owed or not, each with its frontier."""
    frontiers = _frontiers(snapshot, gated)
    needs = Needs(snapshot, gated, policy)
    considered: list[Duty] = []
    absent: list[str] = []
    for held in snapshot.state.held.values():
        if not isinstance(held.item, Obligation):
            continue
        state = _state(held, snapshot, gated)
        if not state.owed:
            considered.append(Duty(held.item, state))
            continue
        frontier = frontiers.get(held.item.id)
        lacking = [item.id for item in (held.item, frontier) if item is not None and item.id not in gated.eligible]
        if frontier is None and policy.returns.require_frontier and not lacking:
            lacking = [held.item.id]
        if lacking:
            state = DutyState.OBSTRUCTED
        absent += lacking
        obligation, questions = needs.asked(held, held.item)
        considered.append(Duty(obligation, state, frontier, questions))
    return Duties(tuple(considered), tuple(dict.fromkeys(absent)), limits(snapshot, gated, policy))


def _state(held: Held, snapshot: Snapshot, gated: Gated) -> DutyState:
    rejected = gated.rejected.get(held.item.id)
    reasons = frozenset(() if rejected is None else rejected.reasons)
    if (ended := ending(reasons, held, snapshot)) is not None:
        return ended
    if reasons:
        return DutyState.OBSTRUCTED
    end = held.item.valid.end
    passed = (end is not None and end <= snapshot.now) or any(closed(held, snapshot.now))
    return DutyState.OVERDUE if passed else DutyState.OWED


def _frontiers(snapshot: Snapshot, gated: Gated) -> dict[str, Frontier]:
    """The current frontier of each obligation that has one."""
    live: list[Frontier] = []
    for name, held in snapshot.state.held.items():
        if type(held.item) is Frontier:
            rejected = gated.rejected.get(name)
            reasons = () if rejected is None else rejected.reasons
            ended = any(reason.state in _ENDED for reason in reasons)
            if not ended and not any(reason.is_void for reason in reasons):
                live.append(held.item)
    # There is at most one eligible frontier, and it is the current one.
    live.sort(key=lambda item: item.id in gated.eligible)
    return {item.obligation: item for item in live}

"""Constraints that bind the returning role, and how an author's act stops to bind.

A constraint limits every duty, so it fails closed as a duty does: it ends by an act, by another constraint or with its
time, and an obstacle blocks the return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.items import CONSTRAINTS, Item
from readmit.records.reasons import DutyState, Reason

if TYPE_CHECKING:
    from collections.abc import Collection

    from readmit.records.decisions import Disposition
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated

_ORDER = tuple(DutyState)
_OF_WRITERS = frozenset({Reason.WRITER_NOT_ALLOWED, Reason.WRITER_NOT_SIGNED})


class Limit(msgspec.Struct, frozen=True):
    """A constraint, and its state in this return."""

    constraint: Item
    state: DutyState


def limits(snapshot: Snapshot, gated: Gated, policy: Policy) -> tuple[Limit, ...]:
    """Every constraint that was considered, in log order; none if the policy selects them as needed."""
    if policy.paper.constraints != "always":
        return ()
    considered = [held for held in snapshot.state.held.values() if type(held.item) in CONSTRAINTS]
    said = {statement(held.item) for held in considered if held.item.id in gated.eligible}
    return tuple(
        Limit(held.item, _state(held, snapshot, gated.rejected.get(held.item.id), said)) for held in considered
    )


def statement(item: Item) -> tuple[str, str, str | None]:
    """The content of an item for its reader, who learns nothing from reading it twice."""
    return item.kind, item.text, item.slot


def _state(
    held: Held, snapshot: Snapshot, rejected: Disposition | None, said: Collection[tuple[str, str, str | None]]
) -> DutyState:
    if rejected is None:
        return DutyState.OWED
    # Whether its own author may write says whether it binds. Evidence of others only obstructs it.
    of_others = _OF_WRITERS - {cause.reason for cause in rejected.causes if not cause.ref}
    # Only those who may end a constraint resolve a dispute against it.
    lost = {Reason.REVOKED} if Reason.DISPUTE_LOST in rejected.reasons else set()
    state = ending({*rejected.reasons, *lost} - of_others, held, snapshot)
    if state is not None and not state.owed:
        return state
    return DutyState.SUPERSEDED if statement(held.item) in said else state or DutyState.OBSTRUCTED


def ending(reasons: Collection[Reason], held: Held, snapshot: Snapshot) -> DutyState | None:
    """The state of what no longer binds, or whose author may no longer write; none if an obstacle is all there is."""
    if ended := {reason.ends_duty for reason in reasons if reason.ends_duty is not None}:
        return min(ended, key=_ORDER.index)
    if Reason.WRITER_NOT_ALLOWED not in reasons:
        return None
    # What a writer who is not allowed imposes does not count, or anyone could block every return; it stays listed.
    then = snapshot.writers_then
    bound_then = held.epoch <= snapshot.checkpoint.epoch and (not then or held.item.by in then)
    return DutyState.OBSTRUCTED if bound_then else DutyState.NOT_IMPOSED

"""Small items, obligations and duties for the tests of this folder."""

from __future__ import annotations

from readmit import DutyState
from readmit.rules.gate.duties import Duties, Duty
from readmit.types import Fact, Frontier, Obligation, RoleConstraint, Scope

SCOPE = Scope(workspace="trip")


def text(name: str, length: int) -> str:
    """A text of this length, of one name's own."""
    return (name * length)[:length]


def fact(name: str, supports: str = "", length: int = 10, slot: str | None = None) -> Fact:
    """``supports`` lists dependency ids, separated by spaces."""
    return Fact(id=name, text=text(name, length), by="A2", scope=SCOPE, slot=slot, supports=tuple(supports.split()))


def constraint(name: str, supports: str = "", length: int = 10) -> RoleConstraint:
    return RoleConstraint(id=name, text=text(name, length), by="A2", scope=SCOPE, supports=tuple(supports.split()))


def obligation(name: str, required: str = "", critical: str = "", length: int = 10) -> Obligation:
    return Obligation(
        id=name,
        text=text(name, length),
        by="A1",
        scope=SCOPE,
        required=tuple(required.split()),
        critical=tuple(critical.split()),
    )


def frontier(name: str, of: str, length: int = 10) -> Frontier:
    return Frontier(id=name, text=text(name, length), by="A1", scope=SCOPE, obligation=of)


def duty(obligation: Obligation, frontier: Frontier | None = None, state: DutyState = DutyState.OWED) -> Duty:
    return Duty(obligation, state, frontier)


def owed(*obligations: Obligation) -> Duties:
    return Duties(tuple(map(duty, obligations)))

"""What a duty is to a return: owed or not, and whether it can be handed over with its frontier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import DutyState, Reason
from readmit.events import EventKind
from readmit.policies import Policy
from readmit.records.acts.event import Close
from readmit.records.snapshot import Snapshot
from readmit.rules.gate.duties import Duties, duties
from readmit.rules.gate.judge import judge
from readmit.rules.invalidate.resolve import Findings
from readmit.types import Event, Interval, Scope
from tests.rules.gate.test_judge import duty, fact, frontier, snapshot, why
from tests.scene import HOUR, START

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from readmit.types import Item


def found(
    items: Sequence[Item] | Snapshot,
    against: Mapping[str, tuple[Reason, ...]] | None = None,
    flaws: Mapping[str, tuple[Reason, ...]] | None = None,
    **policy: Any,
) -> Duties:
    """The duties of a state in which this is held against the items, and these bindings are flawed."""
    state = items if isinstance(items, Snapshot) else snapshot(items)
    rules = Policy(**policy)
    broken = {name: why(*reasons) for name, reasons in (flaws or {}).items()}
    findings = Findings({name: why(*reasons) for name, reasons in (against or {}).items()}, {})
    return duties(state, judge(state, findings, broken, rules), rules)


def states(duties: Duties) -> dict[str, str]:
    """Each duty with its state, followed by its frontier."""
    return {
        one.obligation.id: " ".join((one.state, *(item.id for item in one.records[1:]))) for one in duties.considered
    }


# The state of one duty.


@dataclass(frozen=True)
class Case:
    """A duty, what is held against it, and what it is to the return."""

    state: DutyState
    against: tuple[Reason, ...] = ()
    flaws: tuple[Reason, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)


OUTSIDE = Reason.WRITER_NOT_ALLOWED
CASES = {
    "nothing against it": Case(DutyState.OWED),
    "no kind is admitted": Case(DutyState.OWED, policy={"paper": {"kinds": ()}}),
    "ends later": Case(DutyState.OWED, fields={"valid": Interval(end=START + HOUR)}),
    "ends now": Case(DutyState.OVERDUE, fields={"valid": Interval(end=START)}),
    "ended": Case(DutyState.OVERDUE, fields={"valid": Interval(end=START - HOUR)}),
    "begins now": Case(DutyState.OWED, fields={"valid": Interval(start=START)}),
    "begins later": Case(DutyState.NOT_BEGUN, (Reason.NOT_YET_VALID,), fields={"valid": Interval(start=START + HOUR)}),
    "settled": Case(DutyState.SETTLED, (Reason.SETTLED,)),
    "revoked": Case(DutyState.REVOKED, (Reason.REVOKED,)),
    "superseded": Case(DutyState.SUPERSEDED, (Reason.SUPERSEDED,)),
    "of another principal": Case(DutyState.OTHERS, fields={"scope": Scope(workspace="w", principals=("bob",))}),
    "of another role": Case(DutyState.OTHERS, fields={"scope": Scope(workspace="w", roles=("guest",))}),
    "of another task": Case(DutyState.OTHERS, fields={"scope": Scope(workspace="w", task="other")}),
    "of another workspace": Case(DutyState.OTHERS, fields={"scope": Scope(workspace="v")}),
    "for other tasks": Case(DutyState.OTHER_TASK, fields={"applies_to": ("other",)}),
    "for another purpose": Case(DutyState.OTHER_PURPOSE, fields={"purposes": ("cancel",)}),
    "disputed": Case(DutyState.OBSTRUCTED, (Reason.DISPUTED,)),
    "a dispute about it was lost": Case(DutyState.OBSTRUCTED, (Reason.DISPUTE_LOST,)),
    "suspected": Case(DutyState.OBSTRUCTED, (Reason.SUSPECTED,)),
    "invalidated by a verdict": Case(DutyState.OBSTRUCTED, (Reason.PREMISE_CHANGED,)),
    "too large": Case(DutyState.OBSTRUCTED, policy={"budgets": {"item_chars": 2}}),
    "its author may not write": Case(DutyState.NOT_IMPOSED, flaws=(OUTSIDE,)),
    "a refused draft": Case(DutyState.NOT_IMPOSED, flaws=(Reason.DRAFT_REFUSED,)),
    "an unconfirmed draft": Case(DutyState.NOT_IMPOSED, flaws=(Reason.DRAFT_UNCONFIRMED,)),
    "an unconfirmed draft, and disputed": Case(DutyState.NOT_IMPOSED, (Reason.DISPUTED,), (Reason.DRAFT_UNCONFIRMED,)),
    "settled, and an unconfirmed draft": Case(DutyState.SETTLED, (Reason.SETTLED,), (Reason.DRAFT_UNCONFIRMED,)),
    # Of two that hold, the one that ends it decides, and of those the first in this order.
    "of others, and settled": Case(
        DutyState.OTHERS, (Reason.SETTLED,), fields={"scope": Scope(workspace="w", roles=("guest",))}
    ),
    "settled, and revoked": Case(DutyState.SETTLED, (Reason.REVOKED, Reason.SETTLED)),
    "revoked, and superseded": Case(DutyState.REVOKED, (Reason.SUPERSEDED, Reason.REVOKED)),
    "superseded, and for other tasks": Case(
        DutyState.SUPERSEDED, (Reason.SUPERSEDED,), fields={"applies_to": ("other",)}
    ),
    "for other tasks, and for another purpose": Case(
        DutyState.OTHER_TASK, fields={"applies_to": ("other",), "purposes": ("cancel",)}
    ),
    "for another purpose, and not begun": Case(
        DutyState.OTHER_PURPOSE, (Reason.NOT_YET_VALID,), fields={"purposes": ("cancel",)}
    ),
    "not begun, and disputed": Case(DutyState.NOT_BEGUN, (Reason.DISPUTED, Reason.NOT_YET_VALID)),
    "not begun, and not imposed": Case(DutyState.NOT_BEGUN, (Reason.NOT_YET_VALID,), (OUTSIDE,)),
    "settled, and disputed": Case(DutyState.SETTLED, (Reason.DISPUTED, Reason.SETTLED)),
    "settled, and not imposed": Case(DutyState.SETTLED, (Reason.SETTLED,), (OUTSIDE,)),
    "not imposed, and disputed": Case(DutyState.NOT_IMPOSED, (Reason.DISPUTED,), (OUTSIDE,)),
    "ended, and disputed": Case(DutyState.OBSTRUCTED, (Reason.DISPUTED,), fields={"valid": Interval(end=START)}),
    "ended, and settled": Case(DutyState.SETTLED, (Reason.SETTLED,), fields={"valid": Interval(end=START)}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_state_of_a_duty(case: str) -> None:
    one = CASES[case]
    result = found([duty("o", **one.fields)], {"o": one.against}, {"o": one.flaws}, **one.policy)
    assert states(result) == {"o": one.state}
    assert result.absent == (("o",) if one.state is DutyState.OBSTRUCTED else ())
    assert [each.id for each in result.obligations] == (["o"] if one.state.owed else [])
    whole = one.state in (DutyState.OWED, DutyState.OVERDUE)
    assert [each.obligation.id for each in result.whole] == (["o"] if whole else [])


def test_every_state_is_reported_of_some_duty() -> None:
    assert {case.state for case in CASES.values()} == set(DutyState) - {DutyState.EXPIRED}


def test_without_a_purpose_a_purposed_duty_is_owed() -> None:
    state = msgspec.structs.replace(snapshot([duty("o", purposes=("cancel",))]), purpose=None)
    assert states(found(state)) == {"o": "owed"}


CLOSINGS: dict[str, tuple[datetime, datetime, str]] = {
    "from now on": (START, START, "overdue"),
    "since an hour": (START, START - HOUR, "overdue"),
    "in an hour": (START, START + HOUR, "owed"),
    "learnt later": (START + HOUR, START, "owed"),
}


@pytest.mark.parametrize("case", CLOSINGS)
def test_a_duty_whose_time_was_ended_is_overdue(case: str) -> None:
    at, end, expected = CLOSINGS[case]
    state = snapshot([duty("o")])
    close = Close(target="o", end=end)
    mark = Event(
        epoch=2,
        id="close:1",
        kind=EventKind.CLOSE,
        by="bob",
        at=at,
        given=True,
        learnt=START,
        payload=close,
        digest="0" * 64,
    )
    held = {"o": msgspec.structs.replace(state.state.held["o"], marks=(mark,))}
    state = msgspec.structs.replace(state, state=msgspec.structs.replace(state.state, held=held))
    assert states(found(state)) == {"o": expected}


# Owed at departure, and no longer provable.


@dataclass(frozen=True)
class Left:
    """Who might write at departure, where the duty lies in the log, and what it is now that its author may not."""

    then: tuple[str, ...]
    departed: int
    state: DutyState


LEFT = {
    "its author was allowed then": Left(("bob", "cy"), 1, DutyState.OBSTRUCTED),
    "everyone was allowed then": Left((), 1, DutyState.OBSTRUCTED),
    "its author was not allowed then either": Left(("cy",), 1, DutyState.NOT_IMPOSED),
    "it was opened after the departure": Left(("bob",), 0, DutyState.NOT_IMPOSED),
    "it was opened after the departure, where everyone was allowed": Left((), 0, DutyState.NOT_IMPOSED),
    "opened long before": Left(("bob",), 9, DutyState.OBSTRUCTED),
}


@pytest.mark.parametrize("case", LEFT)
def test_what_was_owed_at_departure_stays_in_sight(case: str) -> None:
    left = LEFT[case]
    state = snapshot([duty("o"), frontier("f", "o")])
    departed = msgspec.structs.replace(state.checkpoint, epoch=left.departed)
    state = msgspec.structs.replace(state, checkpoint=departed, writers_then=left.then)
    result = found(state, flaws={"o": (OUTSIDE,)})
    unproven = left.state is DutyState.OBSTRUCTED
    assert states(result) == {"o": f"{left.state} f" if unproven else left.state}
    assert result.absent == (("o",) if unproven else ())
    assert result.whole == ()


def test_a_duty_of_a_former_writer_is_obstructed() -> None:
    state = msgspec.structs.replace(snapshot([duty("o"), frontier("f", "o")]), writers_then=("bob",))
    departed = msgspec.structs.replace(state.checkpoint, epoch=1)
    result = found(
        msgspec.structs.replace(state, checkpoint=departed),
        {"o": (Reason.DISPUTED,), "f": (Reason.DISPUTED,)},
        {"o": (OUTSIDE,)},
    )
    assert (states(result), result.absent) == ({"o": "obstructed f"}, ("o", "f"))


# Frontiers.


def test_every_duty_comes_in_log_order_with_its_frontier() -> None:
    items = [duty("o3"), duty("o1"), duty("o2"), fact("x"), frontier("f2", "o2"), frontier("f1", "o1"), duty("o4")]
    result = found(items, {"o3": (Reason.SETTLED,), "o4": (Reason.REVOKED,)})
    assert list(states(result).items()) == [("o3", "settled"), ("o1", "owed f1"), ("o2", "owed f2"), ("o4", "revoked")]
    assert result.absent == ()


def test_a_frontier_may_be_required() -> None:
    items = [duty("o1"), duty("o2"), frontier("f2", "o2")]
    assert states(found(items)) == {"o1": "owed", "o2": "owed f2"}
    result = found(items, returns={"require_frontier": True})
    assert (states(result), result.absent) == ({"o1": "obstructed", "o2": "owed f2"}, ("o1",))


ENDING = [
    Reason.REVOKED, Reason.DISPUTE_LOST, Reason.SUPERSEDED, Reason.FRONTIER_MOVED, Reason.SETTLED,
    Reason.EXPIRED, Reason.NOT_YET_VALID,
]  # fmt: skip
OBSCURING = [Reason.DISPUTED, Reason.SUSPECTED, Reason.PREMISE_CHANGED, Reason.SLOT_CONTESTED]


@pytest.mark.parametrize("reason", ENDING)
def test_a_frontier_that_ended_leaves_the_duty_without_one(reason: Reason) -> None:
    result = found([duty("o"), frontier("f", "o")], {"f": (reason,)})
    assert (states(result), result.absent) == ({"o": "owed"}, ())


@pytest.mark.parametrize("reason", OBSCURING)
def test_a_frontier_that_is_obscured_obstructs_the_duty(reason: Reason) -> None:
    result = found([duty("o"), frontier("f", "o")], {"f": (reason,)})
    assert (states(result), result.absent) == ({"o": "obstructed f"}, ("f",))
    ended = found([duty("o"), frontier("f", "o")], {"f": (Reason.FRONTIER_MOVED, reason)})
    assert states(ended) == {"o": "owed"}


def test_a_frontier_from_outside_the_writers_is_none() -> None:
    assert states(found([duty("o"), frontier("f", "o")], flaws={"f": (OUTSIDE,)})) == {"o": "owed"}


def test_the_frontier_that_can_be_handed_over_is_the_current_one() -> None:
    """An unproven newer one changes nothing; alone, it obstructs the duty."""
    items = [duty("o"), frontier("f1", "o"), frontier("f2", "o")]
    assert states(found(items)) == {"o": "owed f2"}
    assert states(found(items, flaws={"f2": (Reason.UNPROVEN,)})) == {"o": "owed f1"}
    assert states(found(items, flaws={"f1": (Reason.UNPROVEN,)})) == {"o": "owed f2"}
    neither = found(items, flaws={"f1": (Reason.UNPROVEN,), "f2": (Reason.UNPROVEN,)})
    assert (states(neither), neither.absent) == ({"o": "obstructed f2"}, ("f2",))


def test_a_duty_and_its_frontier_may_both_be_absent() -> None:
    result = found([duty("o"), frontier("f", "o")], {"o": (Reason.DISPUTED,), "f": (Reason.SUSPECTED,)})
    assert (states(result), result.absent) == ({"o": "obstructed f"}, ("o", "f"))


def test_a_frontier_without_its_obligation_is_no_duty() -> None:
    assert found([frontier("f", "o")]) == Duties()


def test_what_is_absent_is_named_once() -> None:
    assert found([duty("o")], {"o": (Reason.DISPUTED,)}, returns={"require_frontier": True}).absent == ("o",)

"""What becomes of each eligible item that is not handed over, and of each duty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit import DutyState, Reason, State
from readmit.policies import Policy
from readmit.records.decisions import Selection
from readmit.rules.cover.account import dispositions, duty_notes, leaving_out
from readmit.rules.gate.duties import Duties
from readmit.rules.gate.judge import Gated
from readmit.rules.invalidate.resolve import Findings
from readmit.types import Cause, CoverageReport, Disposition, DutyNote
from tests.rules.cover.build import constraint, duty, fact, frontier, obligation
from tests.rules.gate.test_judge import snapshot

if TYPE_CHECKING:
    from readmit.types import Item

O1, O2 = obligation("o1", "a", "a"), obligation("o2", "b x")
DUTIES = Duties((duty(O1, frontier("f1", "o1")), duty(O2, frontier("f2", "o2"))))
NOTHING = CoverageReport(obligations=2, covered=1, critical=1, critical_covered=1, missing=("x",), uncovered=("o2",))
REFUSED = Selection(outcome="infeasible", reasons=(Reason.COVERAGE_SHORT,), report=NOTHING)
PARTIAL = Selection(outcome="found", items=("o1", "f1", "a"), mandatory=("o1", "f1"), withheld=("o2",), report=NOTHING)
WHOLE = Selection(outcome="found", items=("o1", "f1", "o2", "f2"), mandatory=("o1", "f1", "o2", "f2"), report=NOTHING)

WITHHELD, HELD_BACK, UNNEEDED = Reason.WITHHELD, Reason.WITHHELD, Reason.NOT_NEEDED
LEFT: dict[str, tuple[Selection, Item, Reason]] = {
    "refused: a duty": (REFUSED, O1, WITHHELD),
    "refused: its frontier": (REFUSED, frontier("f1", "o1"), WITHHELD),
    "refused: evidence that a duty needs": (REFUSED, fact("m", "b"), WITHHELD),
    "refused: evidence by its slot": (REFUSED, fact("m", slot="a"), WITHHELD),
    "refused: evidence that no duty needs": (REFUSED, fact("m", "z"), UNNEEDED),
    "refused: a duty that is not owed": (REFUSED, obligation("o9", "a"), UNNEEDED),
    "refused: a frontier of what is not owed": (REFUSED, frontier("f9", "o9"), UNNEEDED),
    "refused: a constraint": (REFUSED, constraint("k"), WITHHELD),
    "partial: evidence of the withheld duty": (PARTIAL, fact("m", "b"), HELD_BACK),
    "partial: the withheld duty": (PARTIAL, O2, HELD_BACK),
    "partial: its frontier": (PARTIAL, frontier("f2", "o2"), HELD_BACK),
    "partial: more evidence for what is covered": (PARTIAL, fact("m", "a"), UNNEEDED),
    "partial: evidence that no duty needs": (PARTIAL, fact("m"), UNNEEDED),
    "whole: more evidence for what is covered": (WHOLE, fact("m", "a"), UNNEEDED),
    "whole: evidence that no duty needs": (WHOLE, fact("m"), UNNEEDED),
}


@pytest.mark.parametrize("case", LEFT)
def test_why_an_eligible_item_is_left_out(case: str) -> None:
    selection, item, reason = LEFT[case]
    assert leaving_out(DUTIES, selection, Policy())(item) is reason


def test_a_constraint_is_needed_only_where_the_policy_says_always() -> None:
    as_needed = Policy(paper={"constraints": "as_needed"})
    assert leaving_out(DUTIES, REFUSED, as_needed)(constraint("k")) is UNNEEDED
    assert leaving_out(DUTIES, REFUSED, as_needed)(constraint("k", "b")) is WITHHELD


def test_every_candidate_gets_one_disposition_in_log_order() -> None:
    items = [fact("out"), fact("m"), O1, fact("a", "a"), constraint("k"), fact("n"), fact("z")]
    state = snapshot(items)
    rejected = Disposition(item="out", digest="0" * 64, state=State.REVOKED, reasons=(Reason.REVOKED,))
    gated = Gated({name: held for name, held in state.state.held.items() if name != "out"}, {"out": rejected})
    aside, again = (Cause(reason=Reason.REVOKED),), (Cause(reason=Reason.RECOVERED, ref="p2"),)
    selection = Selection(
        outcome="found", items=("o1", "m", "a", "n", "k"), mandatory=("o1",), constraints=("k",), fill=("n",),
        report=NOTHING,
    )  # fmt: skip
    found = list(
        dispositions(state, Findings({}, {"m": aside}, {"z": again}), gated, lambda _: Reason.NOT_NEEDED, selection)
    )
    assert [(one.item, *one.reasons) for one in found] == [
        ("out", Reason.REVOKED),
        ("m", Reason.COVERS),
        ("o1", Reason.MANDATORY),
        ("a", Reason.COVERS),
        ("k", Reason.MANDATORY),
        ("n", Reason.FILLS),
        ("z", Reason.NOT_NEEDED),
    ]
    assert all(one.state is one.reasons[0].state for one in found)
    assert found[1].overruled == aside
    assert found[6].recovered == again


def test_nothing_is_chosen_by_a_refusal() -> None:
    state = snapshot([fact("m")])
    gated = Gated(state.state.held, {})
    refused = Selection(outcome="undecided", items=("m",), mandatory=("m",), report=NOTHING)
    (found,) = dispositions(state, Findings({}, {}), gated, lambda _: Reason.WITHHELD, refused)
    assert (found.state, found.reasons) == (State.WITHHELD, (Reason.WITHHELD,))


# Duties.


def noted(selection: Selection, *items: Item, **states: DutyState) -> list[DutyNote]:
    duties = Duties(tuple(duty(obligation(name, "a b"), state=state) for name, state in states.items()))
    return list(duty_notes(duties, Gated(snapshot(items).state.held, {}), selection))


def note(obligation: str, state: DutyState, **fields: Any) -> DutyNote:
    return DutyNote(obligation=obligation, state=state, **fields)


def test_every_duty_that_was_considered_is_noted_in_order() -> None:
    states = {f"o{number}": state for number, state in enumerate(DutyState)}
    assert [(one.obligation, one.state) for one in noted(REFUSED, **states)] == list(states.items())


def test_what_is_missing_is_reported_of_what_is_owed() -> None:
    found = noted(REFUSED, fact("m", "b"), o1=DutyState.OWED, o2=DutyState.OBSTRUCTED, o3=DutyState.SETTLED)
    assert [one.lacks for one in found] == [("a",), ("a",), ()]


def test_what_is_eligible_and_left_out_is_not_missing() -> None:
    view = Selection(outcome="found", items=("m",), report=NOTHING)
    (found,) = noted(view, fact("m", "a"), fact("n", "b"), o1=DutyState.OWED)
    assert found.lacks == ()


def test_what_stands_in_a_slot_is_missing_nowhere() -> None:
    assert noted(REFUSED, fact("m", "b", slot="a"), o1=DutyState.OWED) == [note("o1", DutyState.OWED)]


def test_only_a_duty_in_the_view_with_all_it_requires_is_handed_over() -> None:
    shares = CoverageReport(obligations=2, covered=1, critical=0, critical_covered=0, uncovered=("o2",))
    view = Selection(outcome="found", items=("o1", "o2"), mandatory=("o1", "o2"), report=shares)
    states = {"o1": DutyState.OVERDUE, "o2": DutyState.OWED, "o3": DutyState.OBSTRUCTED}
    eligible = (obligation("o1", "a b"), obligation("o2", "a b"))
    assert [one.handed_over for one in noted(view, *eligible, **states)] == [True, False, False]
    refused = Selection(outcome="infeasible", mandatory=("o1",), report=shares)
    assert not any(one.handed_over for one in noted(refused, *eligible, **states))


def test_a_requirement_named_twice_is_missing_once() -> None:
    duties = Duties((duty(obligation("o", "a b a")),))
    (found,) = duty_notes(duties, Gated({}, {}), REFUSED)
    assert found.lacks == ("a", "b")

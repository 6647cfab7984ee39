"""By whole duties: which of them, as many as fit, each covered whole, and a replay comes to the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import DutyState, Reason
from readmit.policies import Policy
from readmit.rules.cover import find as finding
from readmit.rules.cover.choose import Pool
from readmit.rules.cover.exact import Cover
from readmit.rules.cover.find import Deadline
from readmit.rules.cover.partial import choose_whole_duties
from readmit.rules.gate.duties import Duties
from readmit.types import CoverageReport
from tests.rules.cover.build import constraint, duty, fact, frontier, obligation, owed

if TYPE_CHECKING:
    from readmit.records.decisions import Selection
    from readmit.types import Item

O_H, O_T = obligation("o_h", "d_h d_c", "d_h d_c"), obligation("o_t", "d_t d_p d_c", "d_t d_p d_c")
TRAVEL = Duties((duty(O_H, frontier("f_h", "o_h")), duty(O_T, frontier("f_t", "o_t"))))
BEFORE = (fact("h1", "d_h"), fact("t1", "d_t"), constraint("c", "d_c"))


def whole(
    evidence: tuple[Item, ...], duties: Duties, policy: Policy | None = None, deadline: Deadline = Deadline.AHEAD
) -> Selection | None:
    return choose_whole_duties(Pool(evidence, evidence[::-1], policy or Policy(), deadline), duties)


def test_travel_before_the_confirmation() -> None:
    """The hotel's duty, its frontier, the booking and the constraint; nothing of the transfer."""
    selection = whole(BEFORE, TRAVEL)
    assert selection is not None
    assert (selection.outcome, selection.items) == ("found", ("o_h", "f_h", "h1", "c"))
    assert (selection.withheld, selection.mandatory, selection.absent) == (("o_t",), ("o_h", "f_h"), ())
    assert selection.report == CoverageReport(
        obligations=2, covered=1, critical=4, critical_covered=2, missing=("d_p",), uncovered=("o_t",)
    )
    assert not selection.timed_out


A, B, C = fact("a", "a"), fact("b", "b"), fact("c", "c")


@dataclass
class Case:
    """What is owed and at hand, and what is handed over and withheld; nothing if not one duty is whole."""

    duties: Duties
    evidence: tuple[Item, ...]
    items: str | None
    withheld: str = ""
    policy: dict[str, Any] = field(default_factory=dict)


def states(**given: DutyState) -> Duties:
    """One duty for each name, which requires what is called like it."""
    return Duties(tuple(duty(obligation(f"o_{name}", name), state=state) for name, state in given.items()))


CASES = {
    "none is whole": Case(owed(obligation("o", "a b")), (A,), None),
    "nothing at hand": Case(owed(obligation("o", "a")), (), None),
    "one that requires nothing is whole": Case(owed(obligation("o1"), obligation("o2", "a")), (), "o1", "o2"),
    "most critical dependencies first": Case(
        owed(obligation("o1", "a"), obligation("o2", "b", "b")), (A, B), "o2 b", "o1", {"budgets": {"items": 2}}
    ),
    "critical ones count, not required ones": Case(
        owed(obligation("o1", "a b c"), obligation("o2", "b", "b")), (A, B, C), "o2 b", "o1", {"budgets": {"items": 4}}
    ),
    "a critical one listed twice counts once": Case(
        owed(obligation("o1", "a", "a a"), obligation("o2", "b c", "b c")),
        (A, B, C),
        "o2 b c",
        "o1",
        {"budgets": {"items": 4}},
    ),
    "then the oldest": Case(
        owed(obligation("o1", "b", "b"), obligation("o2", "a", "a")), (A, B), "o1 b", "o2", {"budgets": {"items": 2}}
    ),
    "as many as fit": Case(
        owed(obligation("o1", "a"), obligation("o2", "b"), obligation("o3", "c")),
        (A, B, C),
        "o1 o2 a b",
        "o3",
        {"budgets": {"items": 5}},
    ),
    "one that does not fit makes room for a later one": Case(
        owed(obligation("o1", "a b", "a b"), obligation("o2", "c")), (A, B, C), "o2 c", "o1", {"budgets": {"items": 2}}
    ),
    "evidence is shared": Case(
        owed(obligation("o1", "a"), obligation("o2", "a"), obligation("o3", "b")),
        (A,),
        "o1 o2 a",
        "o3",
        {"budgets": {"items": 3}},
    ),
    "each is whole, whatever shares the policy asks for": Case(
        owed(obligation("o1", "a b"), obligation("o2", "c")),
        (A, C),
        "o2 c",
        "o1",
        {"paper": {"gamma": Decimal(0), "rho": Decimal(0)}},
    ),
    "what cannot be handed over is not": Case(
        states(a=DutyState.OBSTRUCTED, b=DutyState.OBSTRUCTED, c=DutyState.OVERDUE), (A, B, C), "o_c c", "o_a o_b"
    ),
    "what is not owed is neither there nor withheld": Case(
        states(a=DutyState.SETTLED, b=DutyState.NOT_BEGUN, c=DutyState.OWED), (A, B, C), "o_c c"
    ),
    "nothing but what cannot be handed over": Case(states(a=DutyState.OBSTRUCTED), (A,), None),
    "constraints are in": Case(
        owed(obligation("o1", "a"), obligation("o2", "x")), (A, constraint("k")), "o1 a k", "o2"
    ),
    "constraints without room leave none whole": Case(
        owed(obligation("o1", "a"), obligation("o2", "x")), (A, constraint("k")), None, "", {"budgets": {"items": 2}}
    ),
    "the rest may be filled": Case(
        owed(obligation("o1", "a"), obligation("o2", "b x")),
        (A, B, C),
        "o1 a c",
        "o2",
        {"budgets": {"items": 3}, "returns": {"fill": "always"}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_whole_duties(case: str) -> None:
    given = CASES[case]
    selection = whole(given.evidence, given.duties, Policy(**given.policy))
    if given.items is None:
        assert selection is None
        return
    assert selection is not None
    assert (" ".join(selection.items), " ".join(selection.withheld)) == (given.items, given.withheld)
    assert selection.report.uncovered == selection.withheld
    assert selection.report.covered == len(selection.mandatory)
    assert selection.report.obligations == len(given.duties.owed)


def test_what_is_missing_is_what_nothing_eligible_supports() -> None:
    """Not what is at hand and only left out with its duty."""
    selection = whole((A, B), owed(obligation("o1", "a"), obligation("o2", "b x")))
    assert selection is not None
    assert (selection.items, selection.report.missing) == (("o1", "a"), ("x",))


# A solver that meets its deadline.

# Greedy takes 'a' before 'ab' and has no room for 'b'; only the exact solver finds 'ab'.
TRAP = (fact("a", "a", 10), fact("ab", "a b", 35), fact("b", "b", 20), fact("c", "c", 10))
TRAPPED = owed(obligation("o1", "a b", "a b"), obligation("o2", "c"), obligation("o3", "x"))


def test_the_solver_is_asked_for_each_duty() -> None:
    selection = whole(TRAP, TRAPPED, Policy(budgets={"items": 2}))
    assert selection is not None
    assert (selection.items, selection.solver, selection.withheld) == (("o1", "ab"), "exact", ("o2", "o3"))


@pytest.mark.parametrize("deadline", [Deadline.MET, Deadline.MET_BY_ALL])
def test_past_its_deadline_greedy_decides_on_every_duty_and_a_replay_comes_to_the_same(
    monkeypatch: pytest.MonkeyPatch, deadline: Deadline
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(finding, "exact", lambda *_, **__: Cover("undecided"))
        then = whole(TRAP, TRAPPED, Policy(budgets={"items": 2}))
    assert then is not None
    assert (then.items, then.solver, then.timed_out) == (("o2", "c"), "greedy", True)
    assert then.withheld == ("o1", "o3")
    assert whole(TRAP, TRAPPED, Policy(budgets={"items": 2}), deadline) == then


def test_past_its_deadline_without_a_whole_duty_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay on a faster machine must not come to a set that was not handed over."""
    duties = owed(obligation("o1", "a b"), obligation("o3", "x"))
    with monkeypatch.context() as patch:
        patch.setattr(finding, "exact", lambda *_, **__: Cover("undecided"))
        then = whole(TRAP, duties, Policy(budgets={"items": 2}))
    assert then is not None
    assert (then.outcome, then.reasons, then.timed_out) == ("undecided", (Reason.COVER_UNDECIDED,), True)
    assert (then.items, then.report.covered, then.report.missing) == ((), 1, ("x",))
    assert whole(TRAP, duties, Policy(budgets={"items": 2}), Deadline.MET_BY_ALL) == then


def test_the_time_is_shared_among_the_duties(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def recording(_: object, __: object, policy: Policy, *___: object, **____: object) -> Cover:
        asked.append(policy.budgets.solver_milliseconds)
        return Cover("infeasible")

    monkeypatch.setattr(finding, "exact", recording)
    whole(TRAP, TRAPPED, Policy(budgets={"items": 2, "solver_milliseconds": 100}))
    assert set(asked) == {50}
    asked.clear()
    whole(TRAP, TRAPPED, Policy(budgets={"items": 2, "solver_milliseconds": 1}))
    assert set(asked) == {1}

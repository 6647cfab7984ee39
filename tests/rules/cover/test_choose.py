"""The choice: order of refusals, what is handed over, constraints, and what fills."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Reason
from readmit.policies import Policy
from readmit.rules.cover import find as finding
from readmit.rules.cover.choose import Pool, choose
from readmit.rules.cover.exact import Cover, exact
from readmit.rules.cover.find import Deadline
from tests.rules.cover.build import constraint, duty, fact, frontier, obligation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.decisions import Selection
    from readmit.rules.gate.duties import Duty
    from readmit.types import Item

O_H, O_T = obligation("o_h", "d_h d_c", "d_h d_c"), obligation("o_t", "d_t d_p d_c", "d_t d_p d_c")
TRAVEL = (duty(O_H, frontier("f_h", "o_h")), duty(O_T, frontier("f_t", "o_t")))
C, H1, T1, P1 = fact("c", "d_c"), fact("h1", "d_h"), fact("t1", "d_t"), fact("p1", "d_p")
BEFORE, AFTER = (C, H1, T1), (C, H1, T1, P1)

# Greedy takes 'a' (1/10) before 'ab' (2/35); with one item left beside the duty only 'ab' will do.
TRAP = (fact("a", "a", 10), fact("ab", "a b", 35), fact("b", "b", 20))
TRAPPED = (duty(obligation("o", "a b")),)
TWO = Policy(budgets={"items": 2})
EIGHT = Policy(budgets={"items": 8})


def pick(
    evidence: tuple[Item, ...] = AFTER,
    duties: Sequence[Duty] = TRAVEL,
    policy: Policy = EIGHT,
    *,
    absent: Sequence[str] = (),
    deadline: Deadline = Deadline.AHEAD,
) -> Selection:
    """The evidence is given in log order, so the newest is the last."""
    return choose(Pool(evidence, evidence[::-1], policy, deadline), duties, absent)


def trap(policy: Policy = TWO, deadline: Deadline = Deadline.AHEAD) -> Selection:
    return pick(TRAP, TRAPPED, policy, deadline=deadline)


def test_travel_after_confirmation() -> None:
    selection = pick()
    assert selection.outcome == "found"
    assert selection.items == ("o_h", "f_h", "o_t", "f_t", "c", "h1", "t1", "p1")
    assert selection.mandatory == ("o_h", "f_h", "o_t", "f_t")
    assert (selection.cost, selection.chars, selection.solver, selection.fill) == (80, 80, "greedy", ())
    assert (selection.report.coverage, selection.report.critical_coverage) == (Fraction(1), Fraction(1))


def test_travel_before_confirmation() -> None:
    selection = pick(BEFORE)
    assert (selection.outcome, selection.reasons) == ("infeasible", (Reason.COVERAGE_SHORT,))
    assert (selection.items, selection.mandatory) == ((), ())
    assert (selection.report.coverage, selection.report.critical_coverage) == (Fraction(1, 2), Fraction(3, 4))
    assert selection.report.missing == ("d_p",)


@dataclass
class Refusal:
    selection: Selection
    reason: Reason
    outcome: str = "infeasible"
    solver: str = "greedy"
    missing: str = ""
    absent: str = ""
    timed_out: bool = False


REFUSALS = {
    "a mandatory record is not eligible": Refusal(pick(absent=("f_t",)), Reason.MANDATORY_MISSING, absent="f_t"),
    "even when coverage is short too": Refusal(
        pick(BEFORE, absent=("f_t", "o_h")), Reason.MANDATORY_MISSING, missing="d_p", absent="f_t o_h"
    ),
    "mandatory records exceed the count": Refusal(
        pick(policy=Policy(budgets={"items": 3})), Reason.BUDGET_SHORT, missing="d_c d_h d_p d_t"
    ),
    "mandatory records exceed the characters": Refusal(
        pick(policy=Policy(budgets={"chars": 39})), Reason.BUDGET_SHORT, missing="d_c d_h d_p d_t"
    ),
    "mandatory records take the room of evidence": Refusal(
        pick(policy=Policy(budgets={"items": 7})), Reason.BUDGET_SHORT, solver="exact", missing="d_t"
    ),
    "one character short": Refusal(
        pick(policy=Policy(budgets={"chars": 79})), Reason.BUDGET_SHORT, solver="exact", missing="d_t"
    ),
    "greedy alone gives up": Refusal(
        trap(Policy(budgets={"items": 2}, paper={"selection": "greedy"})), Reason.BUDGET_SHORT, missing="b"
    ),
    "a past timeout is repeated": Refusal(
        trap(deadline=Deadline.MET_BY_ALL), Reason.COVER_UNDECIDED, "undecided", "exact", missing="b", timed_out=True
    ),
    "a past timeout does not touch greedy": Refusal(
        trap(Policy(budgets={"items": 2}, paper={"selection": "greedy"}), Deadline.MET_BY_ALL),
        Reason.BUDGET_SHORT,
        missing="b",
    ),
    "a past timeout of the cheapest, where there is no set at all": Refusal(
        pick(TRAP[::2], TRAPPED, Policy(paper={"selection": "cheapest"}, budgets={"items": 2}), deadline=Deadline.MET),
        Reason.BUDGET_SHORT,
        solver="exact",
        missing="b",
        timed_out=True,
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS.keys())
def test_refusal(case: Refusal) -> None:
    selection = case.selection
    assert (selection.outcome, selection.reasons, selection.solver) == (case.outcome, (case.reason,), case.solver)
    assert selection.report.missing == tuple(case.missing.split())
    assert selection.absent == tuple(case.absent.split())
    assert selection.timed_out == case.timed_out
    assert (selection.items, selection.mandatory, selection.fill, selection.chars) == ((), (), (), 0)


def test_exact_finds_what_greedy_misses() -> None:
    selection = trap()
    assert (selection.outcome, selection.items, selection.solver) == ("found", ("o", "ab"), "exact")


def test_a_set_found_late_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "exact", lambda *_, **__: Cover("found", (TRAP[1],)))
    selection = trap(Policy(paper={"selection": "cheapest"}))
    assert (selection.items, selection.solver, selection.timed_out) == (("o", "a", "b"), "greedy", True)


def test_partial_coverage_is_enough_where_the_policy_says_so() -> None:
    relaxed = Policy(paper={"gamma": Decimal("0.5"), "rho": Decimal("0.75")})
    selection = pick(BEFORE, policy=relaxed)
    assert (selection.outcome, selection.report.missing) == ("found", ("d_p",))


def test_evidence_order_changes_the_order_handed_over_and_nothing_else() -> None:
    forward, backward = pick(), pick(AFTER[::-1])
    assert backward.items == forward.items[:4] + forward.items[:3:-1]
    assert msgspec.structs.replace(backward, items=forward.items) == forward


def test_what_stands_in_a_slot_meets_the_requirement_of_that_name() -> None:
    evidence = (fact("h", slot="hotel"), fact("x"))
    selection = pick(evidence, (duty(obligation("o", "hotel", "hotel")),))
    assert (selection.items, selection.report.critical_coverage) == (("o", "h"), Fraction(1))


# Constraints.

K, L = constraint("k"), constraint("l")
ALONE = (duty(obligation("o", "d")),)
NEEDED = Policy(paper={"constraints": "as_needed"})


def _filled(items: int, policy: Policy | None = None) -> Policy:
    return (policy or Policy()).changed(returns={"fill": "always"}, budgets={"items": items})


@dataclass
class Bound:
    """Evidence in log order, a policy, and the items, the cover's share and the constraints handed over."""

    evidence: tuple[Item, ...]
    policy: Policy
    items: str
    constraints: str = ""
    fill: str = ""


BOUND = {
    "always in, after the cover": Bound((fact("h", "d"), K, L), Policy(), "o h k l", "k l"),
    "as needed, none is": Bound((fact("h", "d"), K, L), NEEDED, "o h"),
    "as needed, and one is": Bound((K, constraint("m", "d")), NEEDED, "o m"),
    "one that covers is in for that": Bound((K, constraint("m", "d")), Policy(), "o k m", "k"),
    "before what fills": Bound(
        (fact("h", "d"), fact("x"), K), Policy(returns={"fill": "always"}, budgets={"items": 3}), "o h k", "k"
    ),
    "and what fills takes the rest": Bound(
        (fact("h", "d"), fact("x"), fact("y"), K), _filled(4), "o h k y", "k", "y"
    ),
    "as needed, one may fill": Bound(
        (fact("h", "d"), fact("x"), K), _filled(3, NEEDED), "o h k", "", "k"
    ),
    "exactly as many as fit": Bound(
        (fact("h", "d"), K, L), Policy(budgets={"items": 4, "chars": 40}), "o h k l", "k l"
    ),
    "one that covers too makes room for the others": Bound(
        # 'h' is shorter and is taken first; with three items there is room for 'm' or 'h' beside 'k', not for both.
        (fact("h", "d", 5), constraint("m", "d", 20), K), Policy(budgets={"items": 3}), "o m k", "m k",
    ),
    "by characters too": Bound(
        (fact("h", "d", 5), constraint("m", "d", 20), K), Policy(budgets={"chars": 40}), "o m k", "m k",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BOUND)
def test_constraints(case: str) -> None:
    given = BOUND[case]
    selection = pick(given.evidence, ALONE, given.policy)
    assert (selection.outcome, " ".join(selection.items)) == ("found", given.items)
    assert " ".join(selection.constraints) == given.constraints
    assert " ".join(selection.fill) == given.fill
    assert selection.report.coverage == 1


SHORT = {
    "by number": (Policy(budgets={"items": 3}), "k l"),
    "by characters": (Policy(budgets={"chars": 39}), "k l"),
    "all the more": (Policy(budgets={"items": 2}), "k l"),
}


@pytest.mark.parametrize("case", SHORT)
def test_constraints_that_do_not_fit_block_by_name(case: str) -> None:
    policy, absent = SHORT[case]
    selection = pick((fact("h", "d"), K, L), ALONE, policy)
    assert (selection.outcome, selection.reasons) == ("infeasible", (Reason.BUDGET_SHORT,))
    assert (" ".join(selection.absent), selection.items, selection.constraints) == (absent, (), ())
    assert selection.report.coverage == 1, "it is not coverage that lacks"


def test_a_missing_cover_is_named_before_the_constraints() -> None:
    assert pick((K, L), ALONE, Policy(budgets={"items": 1})).reasons == (Reason.COVERAGE_SHORT,)
    assert pick((fact("h", "d"), K, L), ALONE, Policy(budgets={"items": 1})).reasons == (Reason.BUDGET_SHORT,)


# Beside the duty and a constraint there are 29 characters: 'a' and 'b' take 30, 'wide' takes 25, and greedy takes 'a'.
SECOND = (fact("a", "a", 10), fact("b", "b", 20), fact("wide", "a b c d e", 25), constraint("k", "", 50))
NARROW = (duty(obligation("o1", "a b", "", 1)),)
ROOM = Policy(budgets={"chars": 80})


def test_the_second_search_finds_every_set_that_there_is() -> None:
    selection = pick(SECOND, NARROW, ROOM)
    assert (selection.items, selection.solver) == (("o1", "wide", "k"), "exact")


def test_another_duty_never_turns_blocked_into_admitted() -> None:
    another = duty(obligation("o2", "c d e", "", 1))
    for chars in range(50, 120):
        policy = Policy(budgets={"chars": chars})
        if pick(SECOND, (*NARROW, another), policy).outcome == "found":
            assert pick(SECOND, NARROW, policy).outcome == "found", chars


@pytest.mark.parametrize("selection", ["greedy_then_exact", "cheapest"])
@pytest.mark.parametrize("slow", ["cheapest", "all"])
def test_a_second_search_past_its_deadline_is_repeated(
    monkeypatch: pytest.MonkeyPatch, selection: Any, slow: str
) -> None:
    policy = ROOM.changed(paper={"selection": selection})

    def late(*values: Any, first: bool = False, **more: Any) -> Cover:
        return exact(*values, first=first, **more) if first and slow == "cheapest" else Cover("undecided")

    with monkeypatch.context() as patch:
        patch.setattr(finding, "exact", late)
        then = pick(SECOND, NARROW, policy)
    if then.reasons == (Reason.COVER_UNDECIDED,):
        assert slow == "all"
        assert then.timed_out
        assert pick(SECOND, NARROW, policy, deadline=Deadline.MET_BY_ALL) == then
    else:
        assert then.outcome == "found"
        deadline = Deadline.MET if then.timed_out else Deadline.AHEAD
        assert pick(SECOND, NARROW, policy, deadline=deadline) == then


def test_one_late_search_of_two_counts_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is late, and the second, beside the constraint, is not: a replay could not distinguish them."""
    policy = ROOM.changed(paper={"selection": "cheapest"})
    calls: list[bool] = []

    def late_once(*values: Any, first: bool = False, **more: Any) -> Cover:
        calls.append(first)
        return Cover("undecided") if len(calls) == 1 else exact(*values, first=first, **more)

    with monkeypatch.context() as patch:
        patch.setattr(finding, "exact", late_once)
        then = pick(SECOND, NARROW, policy)
    assert calls == [False, False, True]
    assert then.timed_out
    assert pick(SECOND, NARROW, policy, deadline=Deadline.MET) == then


def test_the_second_search_repeats_whether_the_first_was_late() -> None:
    evidence = (fact("h", "d", 5), constraint("m", "d", 20), K)
    policy = Policy(budgets={"items": 3}, paper={"selection": "cheapest"})
    assert not pick(evidence, ALONE, policy).timed_out
    again = pick(evidence, ALONE, policy, deadline=Deadline.MET)
    assert (again.items, again.timed_out) == (("o", "m", "k"), True)


# Nothing owed.


@dataclass
class Unowed:
    policy: Policy
    items: str = ""
    constraints: str = ""
    fill: str = ""


UNOWED = {
    "fill": Unowed(Policy(), "k x y", "k", "y x"),
    "fill, as much as fits": Unowed(Policy(budgets={"items": 2}), "k y", "k", "y"),
    "fill, constraints as needed": Unowed(NEEDED, "x y k", "", "k y x"),
    "empty": Unowed(Policy(returns={"fill": "never"}), "k", "k"),
    "fill beside duties too": Unowed(Policy(returns={"fill": "always"}), "k x y", "k", "y x"),
    "empty, constraints as needed": Unowed(NEEDED.changed(returns={"fill": "never"})),
}


@pytest.mark.parametrize("case", UNOWED)
def test_nothing_owed(case: str) -> None:
    given = UNOWED[case]
    selection = pick((fact("x"), fact("y"), K), (), given.policy)
    assert (selection.outcome, " ".join(selection.items)) == ("found", given.items)
    assert (" ".join(selection.constraints), " ".join(selection.fill)) == (given.constraints, given.fill)
    assert (selection.mandatory, selection.report.coverage, selection.report.obligations) == ((), Fraction(1), 0)
    assert selection.chars == 10 * len(selection.items)


def test_nothing_owed_may_block() -> None:
    selection = pick(AFTER, (), Policy(returns={"fill": "block"}))
    assert (selection.outcome, selection.reasons) == ("infeasible", (Reason.NOTHING_OWED,))
    assert selection.items == ()


@pytest.mark.parametrize("fill", ["nothing_owed", "never"])
def test_constraints_without_room_block_where_nothing_is_owed_too(fill: str) -> None:
    selection = pick((fact("x"), K, L), (), Policy(returns={"fill": fill}, budgets={"items": 1}))
    assert (selection.reasons, selection.absent) == ((Reason.BUDGET_SHORT,), ("k", "l"))


# Fill.


def test_fill_takes_the_newest_that_fit() -> None:
    evidence = (fact("n1", "", 10), C, fact("n2", "", 30), H1, T1, fact("n3", "", 25), P1, fact("n4", "", 5))
    # 80 of 115 characters and 8 of 11 items are taken: n4 and n3 fit, n2 does not, n1 has 5 characters left.
    selection = pick(evidence, policy=Policy(budgets={"items": 11, "chars": 115}, returns={"fill": "always"}))
    assert selection.fill == ("n4", "n3")
    assert selection.items == ("o_h", "f_h", "o_t", "f_t", "c", "h1", "t1", "p1", "n3", "n4")
    assert (selection.chars, selection.cost) == (110, 110)


def test_the_newest_is_what_the_pool_says_is_the_newest() -> None:
    evidence = (fact("h", "d"), fact("x"), fact("y"))
    late = Pool(
        evidence, (evidence[1], evidence[2], evidence[0]), Policy(returns={"fill": "always"}, budgets={"items": 3})
    )
    assert choose(late, ALONE).fill == ("x",)


def test_fill_stops_at_the_item_count() -> None:
    evidence = (*AFTER, fact("n1"), fact("n2"))
    assert pick(evidence, policy=Policy(budgets={"items": 9}, returns={"fill": "always"})).fill == ("n2",)


def test_fill_says_nothing_twice() -> None:
    again = [msgspec.structs.replace(fact("n"), id=name) for name in ("n1", "n2")]
    elsewhere = msgspec.structs.replace(fact("n"), id="n3", slot="s")
    restated = msgspec.structs.replace(H1, id="h2")
    assert pick((*AFTER, *again, restated, elsewhere), policy=Policy(returns={"fill": "always"})).fill == ("n3", "n2")


def test_fill_is_off_by_default_and_never_rescues_a_refusal() -> None:
    assert pick((*AFTER, fact("n1")), policy=Policy()).fill == ()
    refused = pick((*BEFORE, fact("n1")), policy=Policy(returns={"fill": "always"}))
    assert (refused.outcome, refused.fill) == ("infeasible", ())


def test_what_fills_counts_as_evidence_where_not_everything_must_be_covered() -> None:
    relaxed = Policy(paper={"gamma": Decimal("0.5"), "rho": Decimal("0.5")}, returns={"fill": "always"})
    duties = (duty(obligation("o1", "a")), duty(obligation("o2", "b", "b")))
    selection = pick((fact("x", "a", 30), fact("y", "b", 20)), duties, relaxed)
    assert (selection.fill, selection.report.covered, selection.report.missing) == (("x",), 2, ())

"""The choice: order of refusals, which selector runs, what is handed over."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit.cover import choose as module
from readmit.cover.choose import choose
from readmit.cover.exact import Cover
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from tests.cover.build import fact, frontier, obligation

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.records.decisions import Selection
    from readmit.records.items import Item, Obligation

O_H, O_T = obligation("o_h", "d_h d_c", "d_h d_c"), obligation("o_t", "d_t d_p d_c", "d_t d_p d_c")
MANDATORY = (O_H, frontier("f_h", "o_h"), O_T, frontier("f_t", "o_t"))
C, H1, T1, P1 = fact("c", "d_c"), fact("h1", "d_h"), fact("t1", "d_t"), fact("p1", "d_p")
BEFORE, AFTER = (C, H1, T1), (C, H1, T1, P1)

# Greedy takes 'a' (1/10) before 'ab' (2/35); with one item left to choose only 'ab' will do.
OWED = (obligation("o", "a b"),)
TRAP = (fact("a", "a", 10), fact("ab", "a b", 35), fact("b", "b", 20))
ONE = Policy(max_items=1)
EIGHT = Policy(max_items=8)


def pick(
    evidence: tuple[Item, ...] = AFTER,
    obligations: tuple[Obligation, ...] = (O_H, O_T),
    mandatory: tuple[Item, ...] = MANDATORY,
    absent: tuple[str, ...] = (),
    policy: Policy = EIGHT,
    **more: Any,
) -> Selection:
    return choose(evidence=evidence, obligations=obligations, mandatory=mandatory, absent=absent, policy=policy, **more)


def trap(policy: Policy = ONE, **more: Any) -> Selection:
    return pick(TRAP, OWED, (), (), policy, **more)


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
    timed_out: bool = False


REFUSALS = {
    "a mandatory record is not eligible": Refusal(pick(absent=("f_t",)), Reason.MANDATORY_MISSING),
    "even when coverage is short too": Refusal(pick(BEFORE, absent=("f_t",)), Reason.MANDATORY_MISSING, missing="d_p"),
    "mandatory records exceed the count": Refusal(
        pick(policy=Policy(max_items=3)), Reason.BUDGET_SHORT, missing="d_c d_h d_p d_t"
    ),
    "mandatory records exceed the characters": Refusal(
        pick(policy=Policy(max_chars=39)), Reason.BUDGET_SHORT, missing="d_c d_h d_p d_t"
    ),
    "mandatory records alone exceed, though nothing is owed": Refusal(
        pick((), (), policy=Policy(max_items=3)), Reason.BUDGET_SHORT
    ),
    "mandatory records take the room of evidence": Refusal(
        pick(policy=Policy(max_items=7)), Reason.BUDGET_SHORT, solver="exact", missing="d_t"
    ),
    "one character short": Refusal(
        pick(policy=Policy(max_chars=79)), Reason.BUDGET_SHORT, solver="exact", missing="d_t"
    ),
    "greedy alone gives up": Refusal(trap(Policy(max_items=1, selection="greedy")), Reason.BUDGET_SHORT, missing="b"),
    "a past timeout is repeated": Refusal(
        trap(timed_out=True), Reason.COVER_UNDECIDED, "undecided", "exact", missing="b", timed_out=True
    ),
    "a past timeout of the cheapest, where there is no set at all": Refusal(
        pick(TRAP[::2], OWED, (), (), Policy(selection="cheapest", max_items=1), timed_out=True),
        Reason.BUDGET_SHORT,
        solver="exact",
        missing="b",
        timed_out=True,
    ),
    "a past timeout does not touch greedy": Refusal(
        trap(Policy(max_items=1, selection="greedy"), timed_out=True), Reason.BUDGET_SHORT, missing="b"
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS.keys())
def test_refusal(case: Refusal) -> None:
    selection = case.selection
    assert (selection.outcome, selection.reasons, selection.solver) == (case.outcome, (case.reason,), case.solver)
    assert selection.report.missing == tuple(case.missing.split())
    assert selection.timed_out == case.timed_out
    assert (selection.items, selection.mandatory, selection.fill, selection.chars) == ((), (), (), 0)


def test_exact_finds_what_greedy_misses() -> None:
    selection = trap()
    assert (selection.outcome, selection.items, selection.solver) == ("found", ("ab",), "exact")


def test_greedy_is_enough_when_it_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module, "exact")
    assert trap(Policy()).items == ("a", "b")


def test_cheapest_beats_greedy() -> None:
    # Greedy: a (1/10), then bc has 2/25 = 0.08 against abc's 2/30; total 35. The cheapest is abc alone.
    evidence = (fact("a", "a", 10), fact("bc", "b c", 25), fact("abc", "a b c", 31))
    owed = (obligation("o", "a b c"),)
    assert pick(evidence, owed, ()).items == ("a", "bc")
    cheapest = pick(evidence, owed, (), policy=Policy(selection="cheapest"))
    assert (cheapest.items, cheapest.cost, cheapest.solver) == (("abc",), 31, "exact")
    assert not cheapest.timed_out


def test_an_unproven_set_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exact", lambda *_, **__: Cover("found", (TRAP[1],)))
    selection = trap(Policy(selection="cheapest"))
    assert (selection.items, selection.solver, selection.timed_out) == (("a", "b"), "greedy", True)


def test_a_past_timeout_of_the_cheapest_gives_the_same_set_again(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(selection="cheapest", max_items=1)
    monkeypatch.setattr(module, "exact", _slow(module.exact))
    then = trap(policy)
    monkeypatch.undo()
    assert (then.items, then.timed_out) == (("ab",), True)
    assert trap(policy, timed_out=True) == then


def _slow(solver: Callable[..., Cover]) -> Callable[..., Cover]:
    """A solver that meets its deadline whenever it looks for the cheapest set."""

    def solve(*values: object, first: bool = False) -> Cover:
        return solver(*values, first=True) if first else Cover("undecided")

    return solve


@pytest.mark.parametrize(("policy", "first"), [(ONE, True), (Policy(selection="cheapest"), False)])
def test_only_the_cheapest_asks_for_more_than_a_first_set(
    monkeypatch: pytest.MonkeyPatch, policy: Policy, first: bool
) -> None:
    asked: list[bool] = []

    def recording(*_: object, first: bool = False) -> Cover:
        asked.append(first)
        return Cover("infeasible")

    monkeypatch.setattr(module, "exact", recording)
    trap(policy)
    assert asked == [first]


def test_greedys_sufficient_set_refutes_a_claim_of_infeasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exact", lambda *_, **__: Cover("infeasible"))
    selection = trap(Policy(selection="cheapest"))
    assert (selection.outcome, selection.items, selection.solver) == ("found", ("a", "b"), "greedy")


def test_solver_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exact", lambda *_, **__: Cover("undecided"))
    selection = trap()
    assert (selection.outcome, selection.reasons) == ("undecided", (Reason.COVER_UNDECIDED,))
    assert selection.timed_out


def test_solver_exceptions_propagate(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Cover:
        raise OSError("the solver's library is gone")

    monkeypatch.setattr(module, "exact", broken)
    with pytest.raises(OSError, match="library is gone"):
        trap()


def test_fill_takes_the_newest_that_fit() -> None:
    evidence = (fact("n1", "", 10), C, fact("n2", "", 30), H1, T1, fact("n3", "", 25), P1, fact("n4", "", 5))
    # 80 of 115 characters and 8 of 11 items are taken: n4 and n3 fit, n2 does not, n1 has 5 characters left.
    selection = pick(evidence, policy=Policy(max_items=11, max_chars=115, fill=True))
    assert selection.fill == ("n4", "n3")
    assert selection.items == ("o_h", "f_h", "o_t", "f_t", "c", "h1", "t1", "n3", "p1", "n4")
    assert (selection.chars, selection.cost) == (110, 110)


def test_fill_stops_at_the_item_count() -> None:
    evidence = (*AFTER, fact("n1"), fact("n2"))
    assert pick(evidence, policy=Policy(max_items=9, fill=True)).fill == ("n2",)


def test_fill_is_off_by_default_and_never_rescues_a_refusal() -> None:
    assert pick((*AFTER, fact("n1")), policy=Policy()).fill == ()
    refused = pick((*BEFORE, fact("n1")), policy=Policy(fill=True))
    assert (refused.outcome, refused.fill) == ("infeasible", ())


def test_nothing_owed_admits_with_nothing() -> None:
    selection = pick(AFTER, (), ())
    assert (selection.outcome, selection.items, selection.report.coverage) == ("found", (), Fraction(1))


def test_partial_coverage_is_enough_where_the_policy_says_so() -> None:
    relaxed = Policy(gamma=Decimal("0.5"), rho=Decimal("0.75"))
    selection = pick(BEFORE, policy=relaxed)
    assert (selection.outcome, selection.report.missing) == ("found", ("d_p",))


def test_evidence_order_changes_the_order_handed_over_and_nothing_else() -> None:
    forward, backward = pick(), pick(AFTER[::-1])
    assert backward.items == forward.items[:4] + forward.items[:3:-1]
    assert msgspec.structs.replace(backward, items=forward.items) == forward

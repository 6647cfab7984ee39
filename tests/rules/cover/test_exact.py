"""The exact solver on cases small enough to check by eye."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import highspy
import pytest

from readmit.errors import ReadmitError
from readmit.lab import report, sufficient
from readmit.policies import Policy
from readmit.rules.cover import exact as module
from readmit.rules.cover.budget import Room
from readmit.rules.cover.coverage import supported
from readmit.rules.cover.exact import Cover, exact, undominated
from readmit.rules.cover.greedy import greedy
from tests.rules.cover.build import fact, obligation

if TYPE_CHECKING:
    from readmit.types import Item, Obligation

A_B = (obligation("o", "a b"),)
ROOMY = Room(16, 8_000)


def ids(items: tuple[Item, ...]) -> str:
    return " ".join(item.id for item in items)


def test_cheapest_set_in_log_order() -> None:
    cover = exact([fact("b", "b", 20), fact("ab", "a b", 35), fact("a", "a", 10)], A_B, Policy(), ROOMY)
    assert (cover.outcome, ids(cover.items), cover.cheapest) == ("found", "b a", True)


def test_count_budget_forces_the_wider_item() -> None:
    cover = exact([fact("b", "b", 20), fact("ab", "a b", 35), fact("a", "a", 10)], A_B, Policy(), Room(1, 8_000))
    assert (cover.outcome, ids(cover.items)) == ("found", "ab")


@pytest.mark.parametrize("room", [Room(1, 8_000), Room(2, 29), Room(0, 0)], ids=["count", "characters", "none"])
@pytest.mark.parametrize("first", [True, False])
def test_infeasible(room: Room, first: bool) -> None:
    cover = exact([fact("a", "a", 10), fact("b", "b", 20)], A_B, Policy(), room, first=first)
    assert (cover.outcome, cover.items) == ("infeasible", ())


def test_exactly_full_budgets_are_feasible() -> None:
    assert exact([fact("a", "a", 10), fact("b", "b", 20)], A_B, Policy(), Room(2, 30)).outcome == "found"


def test_gamma_chooses_the_cheaper_obligation_and_rho_the_critical_dependencies() -> None:
    evidence = [fact("a", "a", 10), fact("b", "b", 20), fact("k", "k", 30)]
    owed = [obligation("o1", "a"), obligation("o2", "b"), obligation("o3", "b k", "k")]
    third = Policy(paper={"gamma": Decimal("0.33"), "rho": Decimal(0)})
    assert ids(exact(evidence, owed, third, ROOMY).items) == "a"
    # Crit ≥ 1 asks for k; the obligation to cover is still the cheapest one.
    assert ids(exact(evidence, owed, Policy(paper={"gamma": Decimal("0.33")}), ROOMY).items) == "a k"


def test_every_obligation_and_every_critical_dependency_counts_once() -> None:
    evidence = [fact("a", "a", 10), fact("b", "b", 40), fact("k", "k", 20), fact("l", "l", 90)]
    owed = [obligation("o1", "a"), obligation("o2", "b k l", "k l")]
    assert ids(exact(evidence, owed, Policy(), ROOMY).items) == "a b k l"
    assert ids(exact(evidence, owed, Policy(paper={"gamma": Decimal("0.5")}), ROOMY).items) == "a k l"


def test_only_items_cost_anything() -> None:
    half = Policy(paper={"gamma": Decimal("0.5")})
    wide = [fact("a", "a", 10), fact("bcd", "b c d", 9)]
    assert ids(exact(wide, [obligation("o1", "a"), obligation("o2", "b c d")], half, ROOMY).items) == "bcd"
    # Nor is anything gained by covering more than is asked for, however little it costs.
    cheap = [fact("a", "a", 1), fact("b", "b", 1)]
    assert len(exact(cheap, [obligation("o1", "a"), obligation("o2", "b")], half, ROOMY).items) == 1


def test_nothing_owed_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(highspy, "Highs")
    assert exact([fact("a", "a")], (), Policy(), ROOMY) == Cover("found", cheapest=True)


@pytest.mark.parametrize(("asked", "improvements"), [({}, highspy.kHighsIInf), ({"first": True}, 1)])
def test_the_solver_is_silent_repeatable_and_exact(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], improvements: int
) -> None:
    models: list[highspy.Highs] = []

    def solved(model: highspy.Highs, _: object) -> tuple[str, tuple[()]]:
        models.append(model)
        return "infeasible", ()

    monkeypatch.setattr(module, "_solve", solved)
    exact([fact("a", "a"), fact("b", "b")], A_B, Policy(budgets={"solver_milliseconds": 1_500}), ROOMY, **asked)
    wanted = {
        "output_flag": False, "threads": 1, "random_seed": 0, "time_limit": 1.5,
        "mip_rel_gap": 0.0, "mip_abs_gap": 0.5, "mip_max_improving_sols": improvements,
    }  # fmt: skip
    assert {option: models[0].getOptionValue(option)[1] for option in wanted} == wanted


def test_undominated_keeps_the_shortest_of_equal_relevant_support() -> None:
    evidence = [
        fact("long", "a", 30),
        fact("m2", "a x", 10),
        fact("m1", "y a", 10),
        fact("late", "a", 20),
        fact("ab", "a b", 50),
        fact("huge", "b", 101),
        fact("idle", "x", 1),
    ]
    assert ids(undominated(evidence, frozenset("ab"), Room(9, 100))) == "m1 ab"


def test_a_set_that_breaks_a_constraint_is_never_called_found(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = [fact("a", "a", 10), fact("b", "b", 20)]
    for lie in (evidence[:1], [*evidence, fact("c", "a", 9_000)]):
        monkeypatch.setattr(module, "_solve", lambda *_, lie=lie: ("optimal", tuple(lie)))
        assert exact(evidence, A_B, Policy(), ROOMY).outcome == "undecided"


def hard(seed: int) -> tuple[list[Item], list[Obligation], Room]:
    """100 dependencies split among 20 planted items, 480 others of one to five each, and room for 20."""
    draw = random.Random(seed)
    names = [f"d{number}" for number in range(100)]
    shuffled = draw.sample(names, 100)
    planted = [fact(f"p{at}", " ".join(shuffled[at::20]), draw.randint(60, 200)) for at in range(20)]
    others = [
        fact(f"n{at}", " ".join(draw.sample(names, draw.randint(1, 5))), draw.randint(20, 400)) for at in range(480)
    ]
    return draw.sample(planted + others, 500), [obligation("o", " ".join(names))], Room(20, 10**6)


@pytest.mark.parametrize("seed", range(5))
def test_greedy_refuses_count_tight_returns_that_exact_finds(seed: int) -> None:
    evidence, owed, room = hard(seed)
    refused = greedy(evidence, owed, Policy(), room)
    assert not sufficient(report(owed, supported(refused)), Policy())
    cover = exact(evidence, owed, Policy(budgets={"solver_milliseconds": 60_000}), room, first=True)
    assert cover.outcome == "found"
    assert sufficient(report(owed, supported(cover.items)), Policy())
    assert not room.after(cover.items).overdrawn


def test_out_of_time_is_undecided() -> None:
    draw = random.Random(3)
    names = [f"d{number}" for number in range(100)]
    evidence = [fact(f"m{at}", " ".join(draw.sample(names, 15)), 50) for at in range(500)]
    # Ten items of fifteen would have to cover a hundred almost without overlap: not settled in a millisecond.
    owed = [obligation("o", " ".join(names))]
    cover = exact(evidence, owed, Policy(budgets={"solver_milliseconds": 1}), Room(10, 10**6), first=True)
    assert (cover.outcome, cover.items) == ("undecided", ())


def test_first_set_does_not_depend_on_the_deadline() -> None:
    evidence, owed, _ = hard(1)
    sets = {
        exact(evidence, owed, Policy(budgets={"solver_milliseconds": limit}), Room(40, 10**6), first=True).items
        for limit in (30_000, 60_000, 90_000)
    }
    assert len(sets) == 1


def test_first_set_holds_nothing_that_it_does_not_need() -> None:
    evidence, owed, _ = hard(2)
    cover = exact(evidence, owed, Policy(budgets={"solver_milliseconds": 60_000}), Room(100, 10**6), first=True)
    assert not cover.cheapest
    assert sufficient(report(owed, supported(cover.items)), Policy())
    for item in cover.items:
        rest = [other for other in cover.items if other is not item]
        assert not sufficient(report(owed, supported(rest)), Policy())


def test_the_costliest_that_is_not_needed_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = (fact("a", "a", 10), fact("ab", "a b", 15), fact("b", "b", 10))
    monkeypatch.setattr(module, "_solve", lambda *_: ("stopped", evidence))
    assert ids(exact(evidence, A_B, Policy(), ROOMY).items) == "a b"


def test_what_only_covers_again_what_is_met_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = (fact("ab", "a b", 10), fact("x", "a", 20))
    monkeypatch.setattr(module, "_solve", lambda *_: ("stopped", evidence))
    assert ids(exact(evidence, A_B, Policy(), ROOMY, met=frozenset("a")).items) == "ab"


def test_a_solver_that_refuses_to_run_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highspy.Highs, "run", lambda _: highspy.HighsStatus.kError)
    with pytest.raises(ReadmitError, match="selection to 'greedy'"):
        exact([fact("a", "a"), fact("b", "b")], A_B, Policy(), ROOMY)

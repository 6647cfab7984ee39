"""Which selector runs, what it may assume, and what is returned when it reaches its deadline."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit.policies import Policy
from readmit.rules.cover import find as module
from readmit.rules.cover.budget import Room
from readmit.rules.cover.exact import Cover, exact
from readmit.rules.cover.find import Covered, Deadline, find_cover
from tests.rules.cover.build import constraint, fact, obligation

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.types import Item

# Greedy takes 'a' (1/10) before 'ab' (2/35); with one item left to choose only 'ab' will do.
OWED = (obligation("o", "a b"),)
A, AB, B = fact("a", "a", 10), fact("ab", "a b", 35), fact("b", "b", 20)
ONE, ROOMY = Room(1, 8_000), Room(16, 8_000)
CHEAPEST = Policy(paper={"selection": "cheapest"})
GREEDY = Policy(paper={"selection": "greedy"})


def find(
    policy: Policy | None = None, room: Room = ONE, evidence: tuple[Item, ...] = (A, AB, B), **more: Any
) -> Covered:
    return find_cover(evidence, OWED, policy or Policy(), room, **more)


def ids(found: Covered) -> str:
    return " ".join(item.id for item in found.items)


def test_exact_finds_what_greedy_misses() -> None:
    found = find()
    assert (found.outcome, ids(found), found.solver, found.timed_out) == ("found", "ab", "exact", False)


def test_greedy_is_enough_when_it_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module, "exact")
    assert find(room=ROOMY) == Covered("found", (A, B))


def test_greedy_alone_gives_up() -> None:
    assert find(GREEDY) == Covered("infeasible", (A,))


def test_no_set_at_all() -> None:
    assert find(evidence=(A, B)) == Covered("infeasible", (A,), "exact")


def test_cheapest_beats_greedy() -> None:
    # Greedy: a (1/10), then bc has 2/25 = 0.08 against abc's 2/30; total 35. The cheapest is abc alone.
    evidence = (fact("a", "a", 10), fact("bc", "b c", 25), fact("abc", "a b c", 31))
    owed = (obligation("o", "a b c"),)
    assert find_cover(evidence, owed, Policy(), ROOMY) == Covered("found", evidence[:2])
    assert find_cover(evidence, owed, CHEAPEST, ROOMY) == Covered("found", evidence[2:], "exact")


def test_a_set_not_proven_cheapest_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exact", lambda *_, **__: Cover("found", (AB,)))
    assert find(CHEAPEST, ROOMY) == Covered("found", (A, B), "greedy", timed_out=True)


def test_greedys_sufficient_set_refutes_a_claim_of_infeasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exact", lambda *_, **__: Cover("infeasible"))
    assert find(CHEAPEST, ROOMY) == Covered("found", (A, B))


@pytest.mark.parametrize("policy", [Policy(), CHEAPEST], ids=["greedy_then_exact", "cheapest"])
def test_solver_out_of_time(monkeypatch: pytest.MonkeyPatch, policy: Policy) -> None:
    monkeypatch.setattr(module, "exact", lambda *_, **__: Cover("undecided"))
    assert find(policy) == Covered("undecided", (A,), "exact", timed_out=True)


def test_solver_exceptions_propagate(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Cover:
        raise OSError("the solver's library is gone")

    monkeypatch.setattr(module, "exact", broken)
    with pytest.raises(OSError, match="library is gone"):
        find()


@pytest.mark.parametrize(("policy", "room", "first"), [(Policy(), ONE, True), (CHEAPEST, ROOMY, False)])
def test_only_the_cheapest_asks_for_more_than_a_first_set(
    monkeypatch: pytest.MonkeyPatch, policy: Policy, room: Room, first: bool
) -> None:
    asked: list[bool] = []

    def recording(*_: object, first: bool = False, **__: object) -> Cover:
        asked.append(first)
        return Cover("infeasible")

    monkeypatch.setattr(module, "exact", recording)
    find(policy, room)
    assert asked == [first]


# A deadline that was met.

UNDECIDED = Covered("undecided", (A,), "exact", timed_out=True)
DEADLINES = {
    "any set, the search for it over": (Policy(), ONE, Deadline.MET, UNDECIDED),
    "any set, every search over": (Policy(), ONE, Deadline.MET_BY_ALL, UNDECIDED),
    "any set, greedy finds one": (Policy(), ROOMY, Deadline.MET, Covered("found", (A, B), timed_out=True)),
    "greedy alone is not touched": (GREEDY, ONE, Deadline.MET, Covered("infeasible", (A,))),
    "the cheapest, the search for it over": (
        CHEAPEST, ONE, Deadline.MET, Covered("found", (AB,), "exact", timed_out=True),
    ),
    "the cheapest, every search over": (CHEAPEST, ONE, Deadline.MET_BY_ALL, UNDECIDED),
    "the cheapest, greedy finds one": (CHEAPEST, ROOMY, Deadline.MET, Covered("found", (A, B), timed_out=True)),
    "the cheapest, and no room at all": (
        CHEAPEST, Room(0, 0), Deadline.MET, Covered("infeasible", (), "exact", timed_out=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DEADLINES)
def test_a_deadline_that_was_met_is_repeated(case: str) -> None:
    policy, room, deadline, expected = DEADLINES[case]
    assert find(policy, room, deadline=deadline) == expected


@pytest.mark.parametrize(
    ("policy", "deadline", "slow_in_all"),
    [
        (Policy(), Deadline.MET_BY_ALL, True),
        (CHEAPEST, Deadline.MET, False),
        (CHEAPEST, Deadline.MET_BY_ALL, True),
    ],
)
def test_the_repetition_comes_to_what_the_clock_came_to(
    monkeypatch: pytest.MonkeyPatch, policy: Policy, deadline: Deadline, slow_in_all: bool
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "exact", _slow(exact, everywhere=slow_in_all))
        then = find(policy)
    assert then.timed_out
    assert find(policy, deadline=deadline) == then


def _slow(solver: Callable[..., Cover], *, everywhere: bool) -> Callable[..., Cover]:
    """A solver that meets its deadline whenever it looks for the cheapest set, or always."""

    def solve(*values: object, first: bool = False, **more: object) -> Cover:
        return solver(*values, first=True, **more) if first and not everywhere else Cover("undecided")

    return solve


# What is given.


def test_what_is_given_meets_what_it_supports() -> None:
    given = (constraint("k", "a"),)
    assert find(room=Room(2, 8_000), given=given) == Covered("found", (B,))


def test_what_is_given_takes_its_room() -> None:
    given = (constraint("k", "a", 100),)
    assert find(room=Room(2, 120), given=given) == Covered("found", (B,))
    assert find(GREEDY, room=Room(2, 119), given=given) == Covered("infeasible", ())


def test_more_given_than_fits() -> None:
    assert find(room=Room(1, 9), given=(constraint("k"),)) == Covered("infeasible", ())
    assert find(room=Room(0, 900), given=(constraint("k"),)) == Covered("infeasible", ())


def test_what_is_given_is_not_taken_again() -> None:
    assert find(room=ROOMY, given=(AB,)) == Covered("found", ())
    assert find(room=ROOMY, given=(B,)) == Covered("found", (A,))


def test_what_is_given_counts_towards_the_share_of_critical_dependencies() -> None:
    half = Policy(paper={"gamma": Decimal(0), "rho": Decimal("0.5")})
    owed = (obligation("o", "a b", "a b"),)
    for policy in (half, half.changed(paper={"selection": "cheapest"})):
        found = find_cover((B,), owed, policy, ROOMY, given=(constraint("k", "a"),))
        assert (found.outcome, found.items) == ("found", ())


def test_exact_takes_what_is_given_into_account() -> None:
    evidence = (fact("a", "a", 10), fact("ab", "a b", 35), fact("b", "b", 20), fact("c", "c", 5))
    owed = (obligation("o", "a b c"),)
    # Greedy would take 'a' first; beside what is given there is room for one item.
    found = find_cover(evidence, owed, Policy(), Room(2, 8_000), given=(constraint("k", "c"),))
    assert (ids(found), found.solver) == ("ab", "exact")


MET = {
    "nothing": ((Covered("found", ()),), Deadline.AHEAD),
    "one was late": ((Covered("found", ()), Covered("infeasible", (), timed_out=True)), Deadline.MET),
    "one is undecided": ((Covered("found", ()), UNDECIDED), Deadline.MET_BY_ALL),
}


@pytest.mark.parametrize("case", MET)
def test_which_searches_a_replay_takes_for_over(case: str) -> None:
    covers, expected = MET[case]
    assert Deadline.met_by(*covers) is expected

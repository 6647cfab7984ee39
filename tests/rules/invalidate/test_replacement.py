"""Which of several statements about the same thing stands, for whom, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from readmit.records.acts.event import Close, Resolve, Settle
from readmit.types import InterfaceConstraint, RoleConstraint
from tests.rules.invalidate.build import Board, hour

if TYPE_CHECKING:
    from collections.abc import Callable

# The same thing.


@dataclass(frozen=True)
class Two:
    """An older item ``a`` and a newer one ``b``, and whether the newer replaces it for ann, on a trip."""

    replaced: bool
    older: dict[str, Any] = field(default_factory=dict)
    newer: dict[str, Any] = field(default_factory=dict)
    purpose: str | None = None


ABOUT = {
    "one slot": Two(True),
    "another slot": Two(False, newer={"slot": "t"}),
    "a slot below": Two(False, newer={"slot": "s.t"}),
    "no slot": Two(False, {"slot": None}, {"slot": None}),
    "a constraint": Two(True, newer={"kind": RoleConstraint}),
    "a constraint of another kind": Two(True, {"kind": InterfaceConstraint}, {"kind": RoleConstraint}),
    "a fact about a constraint's slot": Two(False, {"kind": InterfaceConstraint}),
    # Tasks overlap: no task overlaps with all.
    "one task": Two(True, {"task": "trip"}, {"task": "trip"}),
    "a task of the same letters": Two(True, {"task": "trip"}, {"task": "".join("trip")}),
    "a task and none": Two(True, {"task": "trip"}),
    "none and a task": Two(True, newer={"task": "trip"}),
    "two tasks": Two(False, {"task": "trip"}, {"task": "other"}),
    "none and another task": Two(False, newer={"task": "other"}),
    "both of another task, out of sight": Two(True, {"task": "other", "hidden": True}, {"task": "other"}),
    "another task, out of sight, and none": Two(True, {"task": "other", "hidden": True}),
    # Applicable to the returning task and purpose.
    "for this task": Two(True, newer={"applies_to": ("trip", "other")}),
    "for other tasks": Two(False, newer={"applies_to": ("other",)}),
    "for the other task that the older is of": Two(True, {"task": "other", "hidden": True}, {"applies_to": ("other",)}),
    "for the returning task, which the older is not of": Two(
        False, {"task": "other", "hidden": True}, {"applies_to": ("trip",)}
    ),
    "for this purpose": Two(True, newer={"purposes": ("book", "pay")}, purpose="book"),
    "for another purpose": Two(False, newer={"purposes": ("pay",)}, purpose="book"),
    "for a purpose, none given": Two(False, newer={"purposes": ("pay",)}),
    "the older for a purpose": Two(True, {"purposes": ("pay",)}),
    "both for one purpose, none given": Two(True, {"purposes": ("pay",)}, {"purposes": ("pay",)}),
    "for purposes that share one, none given": Two(True, {"purposes": ("eat", "pay")}, {"purposes": ("pay", "book")}),
    "for some of the older's purposes, none given": Two(True, {"purposes": ("eat", "pay")}, {"purposes": ("pay",)}),
    "for two purposes, none given": Two(False, {"purposes": ("book",)}, {"purposes": ("pay",)}),
    # Sourced by allowed writers.
    "by an author from outside": Two(False, newer={"by": "eve"}),
    "without evidence": Two(False, newer={"receipts": ()}),
    # For whom.
    "private to her": Two(True, newer={"principals": ("ann",), "visibility": "private"}),
    "private to another": Two(False, newer={"principals": ("cy",), "visibility": "private", "hidden": True}),
    "names her and others": Two(True, newer={"principals": ("cy", "ann")}),
    "names others": Two(False, newer={"principals": ("cy",), "hidden": True}),
    "names all whom the older names": Two(
        True, {"principals": ("cy",), "hidden": True}, {"principals": ("cy", "di"), "hidden": True}
    ),
    "names whom the older names": Two(
        True, {"principals": ("cy",), "hidden": True}, {"principals": ("cy",), "hidden": True}
    ),
    "names some of whom the older names": Two(
        False, {"principals": ("cy", "di"), "hidden": True}, {"principals": ("cy",), "hidden": True}
    ),
    "for a role that she is not in": Two(True, newer={"roles": ("booker",), "hidden": True}),
    "for a role and a task that she is not in": Two(
        False, newer={"roles": ("booker",), "task": "other", "hidden": True}
    ),
    "for a role that she is not in, and others": Two(
        False, newer={"roles": ("booker",), "principals": ("cy",), "hidden": True}
    ),
}


@pytest.mark.parametrize("recorded", ["in order", "the newer first"])
@pytest.mark.parametrize("case", ABOUT)
def test_the_same_thing(case: str, recorded: str) -> None:
    two = ABOUT[case]
    board = Board(purpose=two.purpose, evidence={"writers": ("bob",)})
    if recorded == "in order":
        board.fact("a", at=1, **two.older)
        board.fact("b", at=2, **two.newer)
    else:
        board.fact("b", at=2, **two.newer)
        board.fact("a", at=1, **two.older)
    assert board.out().get("a") == ("slot_updated b" if two.replaced else None)


def test_a_duty_competes_with_nothing() -> None:
    board = Board()
    board.duty("o", slot="s")
    board.fact("a", at=1)
    board.duty("p", slot="s")
    assert board.out() == {}
    board.fact("b", at=2)
    assert board.out() == {"a": "slot_updated b"}


def test_a_cause_names_the_replacement_and_its_author() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2, by="cy")
    (cause,) = board.findings().against["a"]
    assert (cause.ref, cause.by, cause.epoch) == ("b", "cy", board.held["b"].epoch)


# The order.


def ordered(board: Board) -> dict[str, str]:
    assert board.held.keys() == {"a", "b"}
    return board.out()


def _from_one(board: Board) -> None:
    source = board.said(1)
    board.fact("a", source)
    board.fact("b", source)


ORDER: dict[str, Callable[[Board], object]] = {
    "later evidence": lambda b: (b.fact("a", at=1), b.fact("b", at=2)),
    "later evidence, recorded before": lambda b: (b.fact("b", at=2), b.fact("a", at=1)),
    "valid from later on, recorded before": lambda b: (b.fact("b", at=1, valid_from=9), b.fact("a", at=5)),
    "evidence dated back": lambda b: (b.fact("b", at=2), b.fact("a", b.said(1, learnt=9))),
    "evidence dated ahead": lambda b: (b.fact("a", b.said(80, learnt=3)), b.fact("b", at=4)),
    "of equal starts the later place of the evidence": lambda b: (b.fact("a", at=1), b.fact("b", at=1)),
    "of the same evidence the later record": _from_one,
}


@pytest.mark.parametrize("case", ORDER)
def test_the_later_start_replaces(case: str) -> None:
    board = Board()
    ORDER[case](board)
    assert ordered(board) == {"a": "slot_updated b"}


def test_of_several_the_highest_is_named() -> None:
    board = Board()
    for number, name in enumerate("acb"):
        board.fact(name, at=number)
    board.fact("d", at=1.5)
    assert board.out() == {"a": "slot_updated b", "c": "slot_updated b", "d": "slot_updated b"}


def test_what_was_named_outright_wins_over_later_dates() -> None:
    board = Board()
    board.fact("a", at=5)
    board.fact("b", at=1)
    assert board.out() == {"b": "slot_updated a"}
    board.supersede("a", "b")
    assert board.out() == {"a": "superseded b, slot_updated b"}


def test_it_ranks_directly_after_its_target_and_not_above_what_came_later() -> None:
    board = Board()
    board.fact("a", at=5)
    board.fact("b", at=1)
    board.fact("c", at=6)
    board.supersede("a", "b")
    assert board.out() == {"a": "superseded b, slot_updated c", "b": "slot_updated c"}


# In force at some moment.


@dataclass(frozen=True)
class Force:
    """What happened to the newer item, which starts at hour 20, and whether it still replaces the older one."""

    replaced: bool
    newer: dict[str, Any] = field(default_factory=dict)
    happens: Callable[[Board], object] = lambda _: None
    now: float = 100


def closing(end: float, **when: Any) -> Callable[[Board], object]:
    return lambda board: board.mark(Close(target="b", end=hour(end)), **when)


def revoking(**when: Any) -> Callable[[Board], object]:
    return lambda board: board.revoke("b", **when)


FORCE = {
    "it has not begun": Force(False, now=19),
    "it begins now": Force(True, now=20),
    "it ended long ago": Force(True, {"valid_until": 30}),
    "it ended before its evidence": Force(False, {"valid_until": 19}),
    "it ended with its evidence": Force(True, {"valid_until": 20}),
    "it was closed after its start": Force(True, happens=closing(30)),
    "it was closed as of before its start": Force(False, happens=closing(19)),
    "it was closed as of its start": Force(True, happens=closing(20)),
    "it will be said to have been closed": Force(True, happens=closing(19, at=101, learnt=60)),
    "it was revoked after its start": Force(True, happens=revoking(at=30)),
    "it was revoked before its start": Force(False, happens=revoking(at=19)),
    "it was revoked at its start": Force(True, happens=revoking(at=20)),
    "it was revoked as of before its start, but later": Force(True, happens=revoking(at=19, learnt=30)),
    "it was revoked before its start, as of after it": Force(True, happens=revoking(at=30, learnt=19)),
    "it will be revoked": Force(True, happens=revoking(at=101, learnt=19)),
    "it will be disputed, and was revoked before its start": Force(
        False, happens=lambda b: (b.dispute("b", at=101, learnt=18), b.revoke("b", at=19))
    ),
    "it lost a dispute": Force(False, happens=lambda b: b.mark(Resolve(dispute=b.dispute("b")), by="cy")),
    "it won a dispute": Force(True, happens=lambda b: b.mark(Resolve(dispute=b.dispute("b"), keep=("b",)), by="cy")),
    "it was invalidated": Force(True, happens=lambda b: b.judge("b", b.said(40))),
    "its premise fell": Force(True, {"depends_on": ("p",)}, lambda b: b.revoke("p")),
}


@pytest.mark.parametrize("case", FORCE)
def test_only_what_was_in_force_replaces_and_it_does_so_for_good(case: str) -> None:
    force = FORCE[case]
    board = Board(now=force.now)
    board.fact("p", slot="premise")
    board.fact("a", at=1)
    board.fact("b", **{"at": 20, **force.newer})
    force.happens(board)
    assert board.out().get("a") == ("slot_updated b" if force.replaced else None)


def test_the_start_that_counts_is_the_later_of_validity_and_evidence() -> None:
    for end, replaced in ((24, False), (25, True)):
        board = Board()
        board.fact("a", at=1)
        board.fact("b", at=20, valid_from=25)
        board.mark(Close(target="b", end=hour(end)))
        assert ("a" in board.out()) is replaced


def test_an_expired_item_does_not_outrank_a_current_one_that_began_later() -> None:
    board = Board()
    board.fact("a", at=1, valid_until=9)
    board.fact("b", at=10)
    assert board.out() == {"a": "expired, slot_updated b"}


# Contested.

CONTESTED: dict[str, tuple[Callable[[Board], object], str | None]] = {
    "a disputed newcomer": (lambda b: b.dispute("c"), "slot_contested c"),
    "a suspected newcomer": (lambda b: b.suspect("c", b.said(40)), "slot_contested c"),
    "a newcomer of which a verdict is unsure": (lambda b: b.judge("c", b.said(40), "unsure"), "slot_contested c"),
    "the dispute is resolved against it": (lambda b: b.mark(Resolve(dispute=b.dispute("c"))), None),
    "the dispute is resolved for it": (
        lambda b: b.mark(Resolve(dispute=b.dispute("c"), keep=("c",))), "slot_updated c",
    ),
    "the suspicion is cleared": (
        lambda b: b.judge("c", _suspecting(b), "compatible", by="worker"), "slot_updated c",
    ),
    "the suspicion is confirmed": (lambda b: b.judge("c", _suspecting(b)), "slot_updated c"),
    "an overseer settles the dispute": (lambda b: (b.dispute("c"), b.overrule("c")), "slot_updated c"),
    "disputed as of later": (lambda b: b.dispute("c", at=101, learnt=60), "slot_updated c"),
}  # fmt: skip


def _suspecting(board: Board) -> str:
    news = board.said(40)
    board.suspect("c", news)
    return news


@pytest.mark.parametrize("case", CONTESTED)
def test_a_contested_newcomer_leaves_neither_standing(case: str) -> None:
    happens, expected = CONTESTED[case]
    board = Board()
    board.fact("a", at=1)
    board.fact("c", at=2)
    happens(board)
    assert board.out().get("a") == expected


def test_a_settled_rival_between_them_is_named_first() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.fact("c", at=3)
    dispute = board.dispute("c")
    assert board.out() == {"a": "slot_updated b", "b": "slot_contested c", "c": f"disputed {dispute}"}


def test_of_two_that_contest_it_the_highest_is_named() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.fact("c", at=3)
    board.dispute("b", "c")
    assert board.out()["a"] == board.out()["b"].split(", ")[1] == "slot_contested c"


def test_a_contested_older_one_is_replaced_by_a_newer_one() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    dispute = board.dispute("a")
    assert board.out() == {"a": f"disputed {dispute}, slot_updated b"}


def test_a_suspicion_that_the_policy_lets_pass_contests_nothing() -> None:
    board = Board(paper={"on_unsure": "exclude_critical"})
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.suspect("b", board.said(40))
    assert board.out() == {"a": "slot_updated b"}
    assert board.findings().open_pairs == 1


def test_what_is_held_against_the_same_statement_contests_too() -> None:
    board = Board()
    early = board.said(3)
    board.fact("a", at=1)
    board.fact("b", at=3, text="once")
    board.dispute("b")
    board.fact("again", early, text="once")
    assert board.out()["a"] == "slot_contested b"


# An overseer restores.


def test_what_is_restored_ranks_above_what_had_replaced_it_by_then() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.overrule("a", at=10)
    assert board.out() == {"b": "slot_updated a"}
    (aside,) = board.findings().overruled["a"]
    assert (aside.reason, aside.ref) == ("slot_updated", "b")


@dataclass(frozen=True)
class Since:
    """A third item, whether it was recorded before the restoring event, and whether it replaces what was restored."""

    fields: dict[str, Any]
    before: bool
    replaced: bool


SINCE = {
    "recorded after, from later evidence": Since({"at": 11}, before=False, replaced=True),
    "recorded after, from evidence between the two": Since({"at": 1.5}, before=False, replaced=False),
    "recorded before, valid from after": Since({"at": 3, "valid_from": 50}, before=True, replaced=True),
    "recorded before, valid from then on": Since({"at": 3, "valid_from": 10}, before=True, replaced=False),
    "recorded before, valid from before": Since({"at": 3, "valid_from": 9}, before=True, replaced=False),
}


@pytest.mark.parametrize("case", SINCE)
def test_but_not_above_what_came_later(case: str) -> None:
    since, board = SINCE[case], Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    if since.before:
        board.fact("c", **since.fields)
    board.overrule("a", at=10)
    if not since.before:
        board.fact("c", **since.fields)
    assert board.out().get("a") == ("slot_updated c" if since.replaced else None)
    assert board.out()["b"].startswith("slot_updated")


def test_the_later_one_is_not_set_aside_by_the_earlier_event() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.overrule("a", at=10)
    board.fact("c", at=11)
    board.overrule("a", at=12)
    assert board.out() == {"b": "slot_updated a", "c": "slot_updated a"}


def test_when_it_lapses_the_replacement_stands_again() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.overrule("a", at=10, expires=100)
    assert board.out() == {"a": "slot_updated b"}


def test_a_contested_place_is_given_to_what_is_restored() -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    dispute = board.dispute("b", at=3)
    board.overrule("a", at=10)
    assert board.out() == {"b": f"disputed {dispute}, slot_updated a"}


@pytest.mark.parametrize("last", ["a", "b"])
def test_of_two_that_are_restored_the_later_word_counts(last: str) -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.fact("c", at=3)
    other = "b" if last == "a" else "a"
    board.overrule(other, at=10)
    board.overrule(last, at=11)
    assert board.out() == {other: f"slot_updated {last}", "c": f"slot_updated {last}"}


def test_a_successor_named_since_ranks_after_what_was_restored() -> None:
    board = Board()
    board.fact("c", at=0)
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.overrule("a", at=10)
    board.supersede("a", "c", at=20)
    assert board.out() == {"a": "superseded c, slot_updated c", "b": "slot_updated c"}


@pytest.mark.parametrize("at", [0, 2], ids=["dated before", "dated after"])
def test_a_successor_named_before_does_not(at: float) -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("c", at=at)
    board.supersede("a", "c", at=5)
    board.overrule("a", at=10)
    assert board.out() == {"c": "slot_updated a"}


@pytest.mark.parametrize(("at", "lower", "higher"), [(0.5, "c", "a"), (1.5, "a", "c")])
def test_what_was_restored_and_what_was_named_to_follow_the_same_one_go_by_their_dates(
    at: float, lower: str, higher: str
) -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    board.overrule("a", at=10)
    board.fact("c", at=at)
    board.supersede("b", "c", at=20)
    assert board.out() == {"b": f"superseded c, slot_updated {higher}", lower: f"slot_updated {higher}"}


@pytest.mark.parametrize("private", [False, True])
def test_a_private_item_of_another_makes_no_difference_to_what_is_restored(private: bool) -> None:
    board = Board()
    board.fact("a", at=1)
    board.fact("b", at=2)
    if private:
        board.fact("x", at=50, principals=("cy",), visibility="private", hidden=True)
    board.overrule("a", at=60)
    board.fact("c", at=30)
    out = board.out()
    out.pop("x", None)
    assert out == {"a": "slot_updated c", "b": "slot_updated c"}


# Frontiers.

FRONTIERS: dict[str, tuple[Callable[[Board], object], dict[str, str]]] = {
    "a later one": (lambda b: (b.frontier("f", at=1), b.frontier("g", at=2)), {"f": "frontier_moved g"}),
    "a later one, recorded before": (
        lambda b: (b.frontier("g", at=2), b.frontier("f", at=1)), {"f": "frontier_moved g"},
    ),
    "one of another obligation": (lambda b: (b.frontier("f", at=1), b.frontier("g", at=2, obligation="p")), {}),
    "a later one, after one of another obligation": (
        lambda b: (b.frontier("e", obligation="p"), b.frontier("f", at=1), b.frontier("g", at=2)),
        {"f": "frontier_moved g"},
    ),
    "one that starts next week": (
        lambda b: (b.frontier("f", at=1), b.frontier("g", at=2, valid_from=200)), {"g": "not_yet_valid"},
    ),
    "one that started": (
        lambda b: (b.frontier("f", at=1), b.frontier("g", at=2, valid_from=90)), {"f": "frontier_moved g"},
    ),
    "one of another task": (
        lambda b: (b.frontier("f", at=1, task="trip"), b.frontier("g", at=2, task="other", hidden=True)), {},
    ),
    "slots make no difference": (
        lambda b: (b.frontier("f", at=1, slot="s"), b.frontier("g", at=2, slot="t"), b.fact("a", at=3)),
        {"f": "frontier_moved g"},
    ),
    "a disputed one": (
        lambda b: (b.frontier("f", at=1), b.frontier("g", at=2), b.dispute("g")),
        {"f": "slot_contested g", "g": "disputed 6"},
    ),
    "the same again": (lambda b: (b.frontier("f", at=1, text="x"), b.frontier("g", at=2, text="x")), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FRONTIERS)
def test_frontiers_of_one_obligation_replace_each_other(case: str) -> None:
    happens, expected = FRONTIERS[case]
    board = Board()
    board.duty("o")
    happens(board)
    assert board.out() == expected


@pytest.mark.parametrize(("at", "settled"), [(50, True), (100, True), (101, False)])
def test_a_frontier_ends_with_its_obligation(at: float, settled: bool) -> None:
    board = Board()
    board.duty("o")
    board.duty("p")
    board.frontier("f")
    board.frontier("g", obligation="p")
    board.mark(Settle(target="o"), at=at, learnt=50)
    assert board.out() == ({"o": "settled", "f": "settled o"} if settled else {})


def test_no_overrule_brings_a_frontier_back() -> None:
    board = Board()
    board.duty("o")
    board.frontier("f", at=1)
    board.frontier("g", at=2)
    board.overrule("f", at=10)
    assert board.out() == {"f": "frontier_moved g"}

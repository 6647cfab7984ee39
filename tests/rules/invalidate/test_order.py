"""When an item starts, which of two came later, and where one that was named outright ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit.rules.invalidate.order import NEVER, Placement, Point, Rank, ranks
from readmit.types import Receipt
from tests.rules.invalidate.build import Board, hour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from readmit.rules.invalidate.order import Key


# The source of an item and its start.


@dataclass(frozen=True)
class Start:
    """What one item rests on, and the hour at which it starts."""

    make: Callable[[Board], str]
    hour: float
    position: int


STARTS = {
    "when its evidence was true": Start(lambda b: b.fact("a", at=3), 3, 1),
    "its evidence dated back": Start(lambda b: b.fact("a", b.said(1, learnt=9)), 1, 1),
    "its evidence dated ahead, but never later than it was learnt": Start(
        lambda b: b.fact("a", b.said(80, learnt=9)), 9, 1
    ),
    "the latest of two": Start(lambda b: b.fact("a", b.said(3), b.said(5)), 5, 2),
    "the latest of two, said in another order": Start(lambda b: b.fact("a", b.said(5), b.said(3)), 5, 2),
    "valid from later on": Start(lambda b: b.fact("a", at=3, valid_from=7), 7, 1),
    "valid from before its evidence": Start(lambda b: b.fact("a", at=3, valid_from=1), 3, 1),
    "evidence from outside the writers does not count": Start(
        lambda b: b.fact("a", b.said(3), b.said(5, by="eve")), 3, 1
    ),
}


@pytest.mark.parametrize("case", STARTS)
def test_the_start_of_an_item(case: str) -> None:
    board = Board(evidence={"writers": ("bob",)})
    given = STARTS[case]
    held = board.held[given.make(board)]
    assert board.order().key(held)[:2] == (hour(given.hour), given.position)
    assert board.order().key(held).epoch == held.epoch


def of(board: Board, **evidence: Any) -> Point:
    """The source of an item whose receipts bind these."""
    receipts = tuple(Receipt(evidence=name, binds=binds) for name, binds in evidence["receipts"])
    held = board.held[board.fact("a", receipts=receipts)]
    return board.order().source(held)


def test_only_evidence_for_the_statement_itself_is_its_own() -> None:
    board = Board()
    first, second = board.said(3), board.said(5)
    assert of(board, receipts=[(first, ("item",)), (second, ("d",))]) == Point(1, hour(3))


def test_missing_and_altered_evidence_is_no_source() -> None:
    board = Board()
    first, second = board.said(3), board.said(5)
    board.evidence[second] = msgspec.structs.replace(board.evidence[second], intact=False)
    assert of(board, receipts=[(first, ("item",)), (second, ("item",)), ("e" * 64, ("item",))]) == Point(1, hour(3))


def test_without_evidence_an_item_starts_at_the_beginning() -> None:
    board = Board()
    held = board.held[board.duty("a")]
    assert board.order().source(held) == Point(0, NEVER)
    assert board.order().key(held) == (NEVER, 0, 1)


def test_one_piece_of_evidence_that_is_later_confirms() -> None:
    board = Board()
    held = board.held[board.fact("a", board.said(10), board.said(1, learnt=20))]
    order = board.order()
    assert order.source(held) == Point(2, hour(10))
    confirmed = {
        raised: order.confirms(held, raised)
        for raised in (Point(0, hour(10)), Point(1, hour(1)), Point(1, hour(2)), Point(2, hour(0)))
    }
    assert list(confirmed.values()) == [True, True, False, False]
    assert not order.confirms(board.held[board.duty("o")], Point(0, hour(0)))


# Which of two came later.


def _crossed(board: Board) -> tuple[str, str]:
    first, second = board.said(1), board.said(1)
    board.fact("b", second)
    return board.fact("a", first), "b"


def _shared(board: Board) -> tuple[str, str]:
    source = board.said(1)
    return board.fact("a", source), board.fact("b", source)


LATER: dict[str, Callable[[Board], tuple[str, str]]] = {
    "the later start": lambda b: (b.fact("a", at=1), b.fact("b", at=2)),
    "the later start, recorded before": lambda b: (b.fact("b", at=2), b.fact("a", at=1))[::-1],
    "the one that becomes valid later": lambda b: (b.fact("a", at=5), b.fact("b", at=1, valid_from=9)),
    "of equal starts the one with later evidence": lambda b: (b.fact("a", at=1), b.fact("b", at=1)),
    "of equal starts the one with later evidence, recorded before": _crossed,
    "of the same evidence the one recorded later": _shared,
}


@pytest.mark.parametrize("case", LATER)
def test_which_of_two_came_later(case: str) -> None:
    board = Board()
    earlier, later = LATER[case](board)
    assert board.order().key(board.held[earlier]) < board.order().key(board.held[later])


POINTS = {
    "later in the log and by its date": (Point(2, hour(2)), Point(1, hour(1)), True),
    "later in the log, of the same date": (Point(2, hour(1)), Point(1, hour(1)), True),
    "later in the log, dated back": (Point(2, hour(0)), Point(1, hour(1)), False),
    "the same place in the log": (Point(1, hour(2)), Point(1, hour(1)), False),
    "earlier in the log": (Point(1, hour(2)), Point(2, hour(1)), False),
}


@pytest.mark.parametrize("case", POINTS)
def test_in_doubt_a_point_is_not_later(case: str) -> None:
    one, other, later = POINTS[case]
    assert one.later_than(other) is later


# Ranks.


@dataclass(frozen=True)
class Ranked:
    """Items with the hour each starts at, what each was named to replace, and all of them from low to high."""

    starts: dict[str, float]
    expected: str
    after: dict[str, tuple[str, ...]] = field(default_factory=dict)


RANKED = {
    "by their dates": Ranked({"a": 3, "b": 1, "c": 2}, "b c a"),
    "a successor comes directly after its target": Ranked({"a": 3, "b": 1, "c": 4}, "a b c", {"b": ("a",)}),
    "however early it is dated": Ranked({"a": 3, "b": 0, "c": 2}, "c a b", {"b": ("a",)}),
    "unless its own date ranks it later still": Ranked({"a": 1, "b": 5, "c": 3}, "a c b", {"b": ("a",)}),
    "a chain": Ranked({"a": 3, "b": 2, "c": 1, "x": 4}, "a b c x", {"b": ("a",), "c": ("b",)}),
    "a chain that goes on from a later date": Ranked(
        {"a": 1, "b": 5, "c": 2, "x": 4}, "a x b c", {"b": ("a",), "c": ("b",)}
    ),
    "a fork, the later of both branches last": Ranked(
        {"a": 3, "b": 2, "c": 1, "x": 4}, "a c b x", {"b": ("a",), "c": ("a",)}
    ),
    "two targets, after the later": Ranked({"a": 3, "b": 2, "c": 1, "x": 2.5}, "b x a c", {"c": ("a", "b")}),
    "two targets, named the other way round": Ranked({"a": 3, "b": 2, "c": 1, "x": 2.5}, "b x a c", {"c": ("b", "a")}),
    "a diamond": Ranked({"a": 4, "b": 3, "c": 2, "d": 1}, "a c b d", {"b": ("a",), "c": ("a",), "d": ("b", "c")}),
    "a target that is not among them": Ranked({"a": 3, "b": 1}, "b a", {"b": ("elsewhere",)}),
}


NAMING = Placement(100, "boss")


def named(after: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, Placement]]:
    return {successor: dict.fromkeys(targets, NAMING) for successor, targets in after.items()}


def low_to_high(board: Board, after: dict[str, tuple[str, ...]]) -> list[str]:
    ranked = ranks(board.held.values(), board.order(), named(after))
    assert set(ranked) == set(board.held)
    assert len(set(ranked.values())) == len(ranked), "no two items have one rank"
    return sorted(ranked, key=ranked.__getitem__)


@pytest.mark.parametrize("case", RANKED)
@pytest.mark.parametrize("reverse", [False, True], ids=["in order", "in reverse"])
def test_ranks(case: str, reverse: bool) -> None:
    given, board = RANKED[case], Board()
    names = sorted(given.starts, reverse=reverse)
    # Recorded in any order: only their evidence is in one.
    sources = {name: board.said(given.starts[name]) for name in sorted(given.starts)}
    for name in names:
        board.fact(name, sources[name])
    assert " ".join(low_to_high(board, given.after)) == given.expected


def test_a_successor_keeps_its_own_date_as_the_last_word() -> None:
    board = Board()
    board.fact("a", at=3)
    board.fact("b", at=1)
    found = ranks(board.held.values(), board.order(), named({"b": ("a",)}))
    keys: dict[str, Key] = {name: board.order().key(held) for name, held in board.held.items()}
    assert found == {
        "a": Rank(keys["a"], 0, keys["a"], Placement(2, "bob")),
        "b": Rank(keys["a"], 1, keys["b"], NAMING),
    }


@pytest.mark.parametrize("reverse", [False, True], ids=["from the first", "from the last"])
def test_a_chain_of_thousands_needs_no_recursion(reverse: bool) -> None:
    board, length = Board(), 3_000
    source = board.said(1)
    names = [f"h{number:04}" for number in range(length)]
    for name in reversed(names) if reverse else names:
        board.fact(name, source)
    after = {two: (one,) for one, two in pairwise(names)}
    found = ranks(board.held.values(), board.order(), named(after))
    assert sorted(found, key=found.__getitem__) == names
    # What was recorded after its target, from the same evidence, ranks later by its own date anyway.
    assert [found[name].depth for name in names] == (list(range(length)) if reverse else [0] * length)


def test_a_circle_that_should_not_exist_still_ends() -> None:
    board = Board()
    for name in "abc":
        board.fact(name)
    found = ranks(board.held.values(), board.order(), named({"a": ("c",), "b": ("a",), "c": ("b",)}))
    assert set(found) == set("abc")

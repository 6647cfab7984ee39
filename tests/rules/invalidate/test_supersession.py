"""Said outright: which supersession counts, and what it takes to replace a duty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.rules.invalidate.repeated_statements import SameStatements
from readmit.rules.invalidate.supersession import begun, named
from tests.rules.invalidate.build import Board, hour

if TYPE_CHECKING:
    from collections.abc import Callable


def counting(board: Board) -> list[str]:
    return [
        f"{one.target}>{one.successor}"
        for one in named(board.held.values(), board.held, SameStatements(board.held.values()), board.now)
    ]


NAMED: dict[str, tuple[Callable[[Board], object], list[str]]] = {
    "none": (lambda _: None, []),
    "one": (lambda b: b.supersede("a", "b"), ["a>b"]),
    "undone": (lambda b: (b.supersede("a", "b"), b.supersede("b", "a")), ["b>a"]),
    "undone and done again": (
        lambda b: (b.supersede("a", "b"), b.supersede("b", "a"), b.supersede("a", "b")), ["a>b"],
    ),
    "undone as of later": (lambda b: (b.supersede("a", "b"), b.supersede("b", "a", at=101, learnt=60)), ["a>b"]),
    "undone by an event dated before": (lambda b: (b.supersede("a", "b"), b.supersede("b", "a", at=1)), ["b>a"]),
    "a chain": (lambda b: (b.supersede("a", "b"), b.supersede("b", "c")), ["a>b", "b>c"]),
    "a chain, the middle undone": (
        lambda b: (b.supersede("a", "b"), b.supersede("b", "c"), b.supersede("b", "a")), ["b>c", "b>a"],
    ),
    "a fork": (lambda b: (b.supersede("a", "b"), b.supersede("a", "c")), ["a>b", "a>c"]),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMED)
def test_the_latest_supersession_between_two_items_counts(case: str) -> None:
    happens, expected = NAMED[case]
    board = Board()
    for name in "abc":
        board.fact(name)
    happens(board)
    assert counting(board) == expected


OUT: dict[str, tuple[Callable[[Board], object], dict[str, str]]] = {
    "undo": (lambda b: (b.supersede("a", "b"), b.supersede("b", "a")), {"b": "superseded a"}),
    "a successor that is revoked": (
        lambda b: (b.supersede("a", "b"), b.revoke("b")), {"a": "superseded b", "b": "revoked"},
    ),
    "a successor that is disputed": (
        lambda b: (b.supersede("a", "b"), b.dispute("b")), {"a": "superseded b", "b": "disputed 6"},
    ),
    "a successor that nobody has seen": (lambda b: b.supersede("a", "unknown"), {"a": "superseded unknown"}),
}  # fmt: skip


@pytest.mark.parametrize("case", OUT)
def test_items_without_a_common_slot(case: str) -> None:
    happens, expected = OUT[case]
    board = Board()
    board.fact("a", slot=None)
    board.fact("b", slot=None)
    happens(board)
    assert board.out() == expected


def test_an_undo_brings_back_one_of_a_slot_and_leaves_the_other_out() -> None:
    board = Board()
    board.fact("h0", at=1)
    board.fact("h1", at=2)
    board.supersede("h0", "h1")
    assert board.out() == {"h0": "superseded h1, slot_updated h1"}
    board.supersede("h1", "h0")
    assert board.out() == {"h1": "superseded h0, slot_updated h0"}


@pytest.mark.parametrize(("now", "out"), [(59, False), (60, True), (61, True)])
def test_a_successor_that_has_not_begun_leaves_the_target_in_force(now: float, out: bool) -> None:
    board = Board(now=now)
    board.fact("a", slot=None)
    board.fact("b", slot=None, valid_from=60)
    board.supersede("a", "b")
    assert ("a" in board.out()) is out
    assert begun(board.held["b"], hour(now)) is out


@pytest.mark.parametrize(("now", "out"), [(59, {}), (60, {"a": "superseded b, slot_updated b"})])
def test_nor_does_it_in_a_slot(now: float, out: dict[str, str]) -> None:
    board = Board(now=now)
    board.fact("a", at=1)
    board.fact("b", at=2, valid_from=60)
    board.supersede("a", "b")
    found = board.out()
    assert found.pop("b", "not_yet_valid") == "not_yet_valid"
    assert found == out


def test_a_cause_names_who_said_it_and_why() -> None:
    board = Board()
    board.fact("a", slot=None)
    board.fact("b", slot=None)
    board.supersede("a", "b", by="cy")
    (cause,) = board.findings().against["a"]
    assert (cause.ref, cause.by, cause.epoch) == ("b", "cy", board.epoch)


# Duties.

DUTIES: dict[str, tuple[Callable[[Board], object], bool]] = {
    "by another duty": (lambda b: b.duty("n"), True),
    "by a fact": (lambda b: b.fact("n", slot=None), False),
    "by a frontier": (lambda b: b.frontier("n"), False),
    "by a duty that nobody could impose": (lambda b: b.duty("n", by="eve"), False),
    "by a duty that has not begun": (lambda b: b.duty("n", valid_from=101), False),
    "by a duty that begins now": (lambda b: b.duty("n", valid_from=100), True),
    "by a duty out of sight": (lambda b: b.duty("n", hidden=True), True),
    "by a duty that is settled": (lambda b: b.duty("n"), True),
    "by what nobody has seen": (lambda _: None, False),
}


@pytest.mark.parametrize("case", DUTIES)
def test_a_duty_is_replaced_only_by_a_duty_that_somebody_could_impose(case: str) -> None:
    happens, out = DUTIES[case]
    board = Board(evidence={"writers": ("bob",)})
    board.duty("o")
    happens(board)
    board.supersede("o", "n")
    assert board.out().get("o") == ("superseded n" if out else None)


def test_an_undo_works_between_duties_too() -> None:
    board = Board()
    board.duty("o1")
    board.duty("o2")
    board.supersede("o1", "o2")
    board.supersede("o2", "o1")
    assert board.out() == {"o2": "superseded o1"}

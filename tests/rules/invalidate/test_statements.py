"""Said again: what makes one statement, and what is held against a repetition of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit.records.acts.event import Close, Resolve
from readmit.rules.invalidate.repeated_statements import SameStatements
from readmit.types import RoleConstraint
from tests.rules.invalidate.build import Board, hour

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "The pass is open."


def statements(board: Board) -> SameStatements:
    return SameStatements(board.held.values())


# What makes one statement.

SAME: dict[str, dict[str, Any]] = {
    "word for word": {},
    "from other evidence": {"at": 9},
    "by another author": {"by": "cy"},
    "for another time": {"valid_from": 1, "valid_until": 9},
    "in support of something": {"supports": ("d",)},
}
DIFFERENT: dict[str, dict[str, Any]] = {
    "another text": {"text": "The pass is shut."},
    "another slot": {"slot": "other"},
    "no slot": {"slot": None},
    "another kind": {"kind": RoleConstraint},
    "another task": {"task": "trip"},
    "another role": {"roles": ("planner",)},
    "other principals": {"principals": ("ann",)},
    "another premise": {"depends_on": ("p",)},
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_statement(case: str) -> None:
    board = Board()
    board.fact("a", text=TEXT)
    board.fact("b", **{"text": TEXT, **SAME[case]})
    found = statements(board)
    assert found.same("a", "b")
    assert found.same("b", "a")
    assert [held.item.id for held in found.repeated["b"]] == ["a", "b"]


@pytest.mark.parametrize("case", DIFFERENT)
def test_another_statement(case: str) -> None:
    board = Board()
    board.fact("p")
    board.fact("a", text=TEXT)
    board.fact("b", **{"text": TEXT, **DIFFERENT[case]})
    assert not statements(board).same("a", "b")
    assert statements(board).repeated == {}


def test_the_order_of_names_makes_no_other_statement() -> None:
    board = Board()
    board.fact("p")
    board.fact("q", slot="q")
    names: dict[str, Any] = {"principals": ("ann", "bob"), "roles": ("planner", "booker"), "depends_on": ("p", "q")}
    board.fact("a", text=TEXT, **names)
    board.fact("b", text=TEXT, **{field: values[::-1] for field, values in names.items()})
    assert statements(board).same("a", "b")


def test_groups_are_kept_apart() -> None:
    board = Board()
    for name, text, slot in (("a", "x", "s"), ("b", "x", "t"), ("c", "x", "s"), ("d", "x", "t"), ("e", "y", "s")):
        board.fact(name, text=text, slot=slot)
    found = statements(board)
    groups = {name: " ".join(held.item.id for held in members) for name, members in found.repeated.items()}
    assert groups == {"a": "a c", "c": "a c", "b": "b d", "d": "b d"}
    assert not found.same("a", "b")
    assert not found.same("e", "a")


def test_the_first_place_of_a_statement() -> None:
    board = Board()
    for name in "abc":
        board.fact(name, text=TEXT if name != "b" else "another")
    first = {name: statements(board).first(held) for name, held in board.held.items()}
    assert first == {"a": board.held["a"].epoch, "b": board.held["b"].epoch, "c": board.held["a"].epoch}


def test_a_duty_opened_twice_is_two_duties() -> None:
    board = Board()
    board.duty("a", text=TEXT)
    board.duty("b", text=TEXT)
    assert statements(board).repeated == {}


def test_frontiers_of_two_obligations_are_two_statements() -> None:
    board = Board()
    board.frontier("a", text=TEXT)
    board.frontier("b", text=TEXT)
    board.frontier("c", text=TEXT, obligation="other")
    assert statements(board).same("a", "b")
    assert not statements(board).same("a", "c")


# What is held against a statement.


def said_again(board: Board, at: float, **fields: Any) -> None:
    board.fact("again", text=TEXT, slot=None, at=at, **fields)


HELD: dict[str, tuple[Callable[[Board], object], str]] = {
    "revoked": (lambda b: b.revoke("a", at=10), "revoked"),
    "disputed": (lambda b: b.dispute("a", at=10), "disputed 5"),
    "a dispute lost": (
        lambda b: b.mark(Resolve(dispute=b.dispute("a", at=9)), at=10), "dispute_lost 5",
    ),
    "closed": (lambda b: b.mark(Close(target="a", end=hour(9)), at=10), "expired"),
    "superseded": (lambda b: b.supersede("a", b.fact("z", at=5, slot=None), at=10), "superseded z"),
    "superseded by what nobody said": (lambda b: b.supersede("a", "unknown", at=10), "superseded unknown"),
}  # fmt: skip


@pytest.mark.parametrize("case", HELD)
def test_what_is_held_against_a_statement_is_answered_by_later_evidence_only(case: str) -> None:
    happens, reason = HELD[case]
    for at, late, inherited in ((11, True, False), (10, True, False), (9, True, True), (11, False, True)):
        board = Board()
        early = () if late else (board.said(at),)
        # Everything keeps its place in the log, whether or not the evidence came first.
        if late:
            board.epoch += 1
        board.said()
        board.fact("a", board.said(), text=TEXT, slot=None)
        happens(board)
        board.fact("again", *early, at=at, text=TEXT, slot=None)
        out = board.out()
        assert out["a"] == reason
        assert out.get("again") == (reason if inherited else None), (at, late)


@pytest.mark.parametrize("answer", [None, "invalidates", "unsure"])
def test_so_are_suspicions_and_verdicts_by_evidence_later_than_the_observation(answer: str | None) -> None:
    for at, inherited in ((11, False), (10, False), (9, True)):
        board = Board()
        board.fact("a", text=f"the text: {TEXT}", slot=None)
        news = board.said(10)
        board.fact("again", text=f"the text: {TEXT}", slot=None, at=at)
        # The suspicion itself came after: what counts is the observation it rests on.
        if answer is None:
            board.suspect("a", news, at=20)
        else:
            board.judge("a", news, answer, at=20)
        reason = "premise_changed" if answer == "invalidates" else "suspected"
        assert board.out() == {"a": f"{reason} {news}"} | ({"again": f"{reason} {news}"} if inherited else {})


def test_a_statement_is_not_held_against_another() -> None:
    board = Board()
    board.fact("a", text=TEXT, slot=None)
    board.fact("b", text="The pass is shut.", slot=None)
    board.revoke("a")
    assert set(board.out()) == {"a"}


def test_what_is_held_against_a_repetition_is_held_against_the_first_as_well() -> None:
    board = Board()
    board.fact("a", text=TEXT, slot=None, at=1)
    board.fact("again", text=TEXT, slot=None, at=2)
    board.revoke("again", at=3)
    assert board.out() == {"a": "revoked", "again": "revoked"}


def test_a_statement_superseded_by_its_own_repetition_is_confirmed() -> None:
    board = Board()
    board.fact("a", text=TEXT, slot=None, at=1)
    said_again(board, 2)
    board.fact("third", board.said(1), text=TEXT, slot=None)
    board.supersede("a", "again")
    assert board.out() == {"a": "superseded again"}


def test_what_is_held_against_both_is_reported_once() -> None:
    board = Board()
    early = board.said(1)
    board.fact("a", text=TEXT, slot=None)
    board.fact("again", early, text=TEXT, slot=None)
    name = board.dispute("a", "again")
    assert board.out() == {"a": f"disputed {name}", "again": f"disputed {name}"}


def test_two_pieces_of_evidence_that_are_not_later_are_not_later_together() -> None:
    """One came early but is dated late, the other came late but is dated early."""
    board = Board()
    first = board.said(10)
    board.fact("a", first, text=TEXT, slot=None)
    board.revoke("a", at=9, learnt=11)
    board.fact("again", first, board.said(1, learnt=20), text=TEXT, slot=None)
    assert board.out() == {"a": "revoked", "again": "revoked"}


def test_a_repetition_of_what_was_superseded_does_not_replace_the_successor() -> None:
    board = Board()
    early = board.said(6)
    board.fact("a", text=TEXT, at=5)
    board.fact("b", at=1)
    board.supersede("a", "b")
    board.fact("again", early, text=TEXT)
    assert board.out() == {"a": "superseded b, slot_updated b", "again": "superseded b, slot_updated b"}


def test_an_undo_by_a_repetition_brings_back_every_recording() -> None:
    board = Board()
    early = board.said(1)
    board.fact("a", text=TEXT, at=1)
    board.fact("b", at=2)
    board.fact("again", early, text=TEXT)
    board.supersede("a", "b")
    board.supersede("b", "again")
    assert board.out() == {"b": "superseded again, slot_updated a"}


def _suspected(board: Board) -> str:
    news = board.said(6)
    board.suspect("a", news)
    return news


# Causes that refer to something else than an item, by a name that an item may have as well.
NAMES: dict[str, Callable[[Board], str]] = {"disputed": lambda board: board.dispute("a"), "suspected": _suspected}


@pytest.mark.parametrize("reason", NAMES)
def test_a_repetition_of_the_name_that_a_cause_refers_to_does_not_answer_it(reason: str) -> None:
    board = Board()
    early = board.said(1)
    board.fact("a", text=TEXT, slot=None, at=2)
    name = NAMES[reason](board)
    board.fact(name, early, text=TEXT, slot=None)
    assert board.out() == {"a": f"{reason} {name}", name: f"{reason} {name}"}


@pytest.mark.parametrize("reason", NAMES)
def test_nor_is_another_item_of_that_name_a_successor(reason: str) -> None:
    board = Board()
    board.fact("a", at=5)
    name = NAMES[reason](board)
    board.fact(name, at=1)
    assert board.out() == {"a": f"{reason} {name}", name: "slot_contested a"}


def test_what_an_overseer_set_aside_is_not_held_against_a_repetition() -> None:
    board = Board()
    early = board.said(1)
    board.fact("a", text=TEXT, slot=None, at=1)
    board.revoke("a", at=3)
    board.overrule("a", at=4)
    board.fact("again", early, text=TEXT, slot=None)
    assert board.out() == {}


def test_an_overseer_restores_the_repetition_by_itself() -> None:
    board = Board()
    early = board.said(1)
    board.fact("a", text=TEXT, slot=None, at=1)
    board.revoke("a", at=3)
    board.fact("again", early, text=TEXT, slot=None)
    board.overrule("again", at=4)
    assert board.out() == {"a": "revoked"}
    assert set(board.findings().overruled) == {"again"}


def test_the_same_statement_said_again_replaces_nothing_and_is_not_replaced() -> None:
    board = Board()
    board.fact("a", text=TEXT, at=1)
    board.fact("again", text=TEXT, at=2)
    assert board.out() == {}


def test_said_again_later_than_its_replacement_it_stands() -> None:
    board = Board()
    board.fact("a", text=TEXT, at=1)
    board.fact("b", at=2)
    board.fact("again", text=TEXT, at=3)
    assert board.out() == {"a": "slot_updated b", "b": "slot_updated again"}


def test_said_again_from_evidence_before_its_replacement_it_does_not() -> None:
    board = Board()
    early = board.said(1)
    board.fact("a", text=TEXT, at=1)
    board.fact("b", at=2)
    board.fact("again", early, text=TEXT)
    assert board.out() == {"a": "slot_updated b", "again": "slot_updated b"}

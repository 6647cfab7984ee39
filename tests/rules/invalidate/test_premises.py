"""Declared premises: chains, hidden ones, and the way back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Pair, Reason
from readmit.errors import ConflictError, NotAllowedError, RecordError
from readmit.records.acts.event import Close
from tests.rules.invalidate.build import Board, hour
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

IN: tuple[Reason, ...] = (Reason.NOT_NEEDED,)
FALLEN = (Reason.PREMISE_CHANGED,)


def chain(**bottom: Any) -> Scene:
    """``a ← b ← c``: each rests on the one before."""
    scene = Scene()
    scene.fact("a", **bottom)
    scene.fact("b", depends_on=["a"])
    scene.fact("c", depends_on=["b"])
    return scene


def test_a_premise_that_stands_carries() -> None:
    scene = chain()
    scene.away()
    assert [scene.reasons(name) for name in "abc"] == [IN, IN, IN]


FALLS: dict[str, Any] = {
    "revoked": lambda s: s.team.revoke("a", by="bob"),
    "superseded": lambda s: s.fact("a2", supersedes="a"),
    "closed": lambda s: s.team.close_validity("a", end=s.now, by="bob"),
    "disputed": lambda s: s.team.dispute(["a"], by="bob"),
    "suspected": lambda s: s.team.judge(Pair(item="a", evidence=s.news()), by="worker"),
    "invalidated": lambda s: s.verdict("a", s.news()),
}


@pytest.mark.parametrize("case", FALLS)
def test_a_fall_goes_all_the_way_up_and_keeps_the_chain(case: str) -> None:
    scene = chain()
    scene.depart()
    FALLS[case](scene)
    scene.come_back()
    assert scene.reasons("b") == scene.reasons("c") == FALLEN
    links = {name: scene.cause(name, Reason.PREMISE_CHANGED) for name in ("b", "c")}
    assert {name: (one.ref, one.root) for name, one in links.items()} == {"b": ("a", "a"), "c": ("b", "a")}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"sources": []}, Reason.UNPROVEN), ({"valid_until": Scene().now + HOUR}, Reason.EXPIRED)],
    ids=["unproven", "expired"],
)
def test_an_unproven_or_expired_premise_carries_nothing(fields: Any, reason: Reason) -> None:
    scene = chain(**fields)
    scene.wait(HOUR)
    scene.away()
    assert scene.reasons("a") == (reason,)
    assert scene.reasons("c") == FALLEN


def test_of_two_premises_one_is_enough_to_fall() -> None:
    scene = Scene()
    scene.fact("a")
    scene.fact("b")
    scene.fact("c", depends_on=["a", "b"])
    scene.depart()
    scene.team.revoke("b", by="bob")
    scene.come_back()
    assert [cause.ref for cause in scene.disposition("c").causes] == ["b"]
    scene.team.revoke("a", by="bob")
    scene.come_back()
    assert [cause.ref for cause in scene.disposition("c").causes] == ["a", "b"]


# Premises out of the agent's sight.


def hidden(**scope: Any) -> Scene:
    """``c`` rests on ``b``, which ann cannot see, which rests on ``a``, which she cannot see either."""
    scene = Scene()
    scene.fact("a", roles=["booker"], slot="s", task="trip")
    scene.fact("@bob/b", principals=["bob"], depends_on=["a"])
    scene.fact("c", depends_on=["@bob/b"])
    return scene


HIDDEN_FALLS: dict[str, Any] = {
    **FALLS,
    "slot updated": lambda s: s.fact("a2", slot="s", task="trip", roles=["booker"]),
    "the middle one": lambda s: s.team.revoke("@bob/b", by="bob"),
}


@pytest.mark.parametrize("departed", [True, False], ids=["in Δ", "in D"])
@pytest.mark.parametrize("case", HIDDEN_FALLS)
def test_what_happens_to_a_hidden_premise_counts_and_shows_nothing(case: str, departed: bool) -> None:
    scene = hidden()
    if departed:
        scene.depart()
    HIDDEN_FALLS[case](scene)
    if not departed:
        scene.depart()
    outcome = scene.come_back()
    assert scene.reasons("c") == FALLEN
    assert not {"a", "@bob/b"} & {one.item for one in outcome.dispositions}


def test_hidden_premises_that_stand_carry() -> None:
    scene = hidden()
    scene.away()
    assert scene.reasons("c") == IN


def test_a_fall_passes_through_a_hidden_premise() -> None:
    """What ann sees falls, what she does not see rests on it, and what she sees rests on that."""
    scene = Scene()
    scene.fact("a")
    scene.fact("@bob/b", principals=["bob"], depends_on=["a"])
    scene.fact("c", depends_on=["@bob/b"])
    scene.depart()
    scene.team.revoke("a", by="bob")
    scene.come_back()
    assert scene.reasons("c") == FALLEN
    cause = scene.cause("c", Reason.PREMISE_CHANGED)
    assert (cause.ref, cause.root) == ("@bob/b", "a")


def test_returning_in_another_role_judges_in_log_order() -> None:
    """What only the new role could see before departure is news to ann, and still came first."""
    scene = Scene()
    scene.fact("p", roles=["booker"])
    scene.fact("x", depends_on=["p"])
    scene.fact("s0", slot="s", roles=["booker"])
    scene.fact("s1", slot="s", roles=["planner"])
    scene.team.dispute(["p", "x"], by="bob")
    scene.team.revoke("p", by="bob")
    scene.depart("planner")
    outcome = scene.come_back("booker")
    assert [one.item for one in outcome.dispositions] == ["p", "x", "s0", "s1"]
    assert scene.reasons("p") == (Reason.DISPUTED, Reason.REVOKED)
    assert scene.reasons("x") == (Reason.DISPUTED, Reason.PREMISE_CHANGED)
    assert scene.reasons("s0") == (Reason.SLOT_UPDATED,)
    assert scene.reasons("s1") == (Reason.OUT_OF_SCOPE,)


# Recovery.

PASS = "the text: the pass is open"


def resting(**premise: Any) -> Board:
    """``a ← b ← c``: each rests on the one before, and ``a`` may be said again."""
    board = Board()
    board.fact("a", text=PASS, at=1, **{"slot": None, **premise})
    board.fact("b", slot=None, depends_on=("a",))
    board.fact("c", slot=None, depends_on=("b",))
    return board


def again(board: Board, at: float, **fields: Any) -> None:
    board.fact("again", text=PASS, at=at, **{"slot": None, **fields})


FELL: dict[str, Callable[[Board], object]] = {
    "revoked": lambda b: b.revoke("a", at=10),
    "superseded": lambda b: b.supersede("a", b.fact("z", at=10, slot=None), at=10),
    "closed": lambda b: b.mark(Close(target="a", end=hour(9)), at=10),
    "disputed": lambda b: b.dispute("a", at=10),
    "suspected": lambda b: b.suspect("a", b.said(10), at=10),
    "invalidated": lambda b: b.judge("a", b.said(10), at=10),
}


@pytest.mark.parametrize("case", FELL)
def test_what_fell_with_a_premise_stands_again_once_later_evidence_restores_it(case: str) -> None:
    board = resting()
    FELL[case](board)
    assert {"a", "b", "c"} <= board.out().keys()
    again(board, 11)
    assert not {"again", "b", "c"} & board.out().keys()
    assert "a" in board.out(), "what fell by an event or a verdict stays out itself"
    recovered = board.findings().recovered
    (cause,) = recovered["b"]
    assert recovered.keys() == {"b"}, "the premise of c never fell, once b stands"
    assert (cause.reason, cause.ref, cause.root) == (Reason.RECOVERED, "again", "a")
    assert (cause.by, cause.epoch) == ("bob", board.held["again"].epoch)


@pytest.mark.parametrize("case", FELL)
def test_earlier_evidence_restores_nothing(case: str) -> None:
    board = resting()
    FELL[case](board)
    again(board, 9)
    assert {"a", "b", "c", "again"} <= board.out().keys()
    assert board.findings().recovered == {}


def test_a_premise_replaced_in_its_slot_and_said_again_later_restores_too() -> None:
    board = resting(slot="s")
    board.fact("other", at=2)
    assert board.out()["b"] == "premise_changed a"
    again(board, 3, slot="s")
    assert board.out() == {"a": "slot_updated other", "other": "slot_updated again"}
    assert board.findings().recovered["b"][0].ref == "again"


def test_a_premise_that_expired_and_was_said_again_for_longer_restores() -> None:
    board = resting(valid_until=50)
    assert board.out().keys() == {"a", "b", "c"}
    again(board, 2, valid_until=200)
    assert board.out() == {"a": "expired"}


def test_an_unproven_premise_said_again_with_evidence_restores() -> None:
    board = resting(receipts=())
    again(board, 2)
    assert board.out() == {}
    assert board.findings().recovered["b"][0].ref == "again"


def test_the_latest_repetition_that_stands_is_named() -> None:
    board = resting()
    board.revoke("a", at=10)
    again(board, 11)
    board.fact("third", text=PASS, slot=None, at=12)
    assert board.out() == {"a": "revoked"}
    assert board.findings().recovered["b"][0].ref == "third"


def test_a_premise_that_was_said_again_and_never_fell_needs_no_recovery() -> None:
    board = resting()
    again(board, 5)
    assert board.out() == {}
    assert board.findings().recovered == {}


def test_another_premise_that_fell_is_not_made_up_for() -> None:
    board = Board()
    board.fact("a", text=PASS, slot=None)
    board.fact("p", slot=None)
    board.fact("b", slot=None, depends_on=("a", "p"))
    board.revoke("a", at=10)
    board.revoke("p", at=10)
    again(board, 11)
    assert board.out()["b"] == "premise_changed p"
    assert [cause.root for cause in board.findings().recovered["b"]] == ["a"]


def test_what_fell_by_a_verdict_of_its_own_stays_out() -> None:
    board = resting()
    board.revoke("a", at=10)
    board.judge("b", board.said(10), at=10)
    again(board, 11)
    assert board.out().keys() == {"a", "b", "c"}
    assert board.out()["b"].startswith("premise_changed")
    assert board.findings().recovered["b"][0].ref == "again", "its premise is reported to stand all the same"


def test_something_else_about_the_slot_restores_nothing() -> None:
    board = resting(slot="s")
    board.fact("other", at=2)
    assert board.out()["b"] == "premise_changed a"
    assert board.findings().recovered == {}


def test_a_repetition_out_of_sight_restores_too() -> None:
    board = resting(roles=("booker",), hidden=True)
    board.revoke("a", at=10)
    again(board, 11, roles=("booker",), hidden=True)
    assert board.out() == {"a": "revoked"}


def test_a_repetition_carries_its_own_dependents_through_a_chain() -> None:
    """Premises are settled before what rests on them, also where they were said again after it."""
    board = resting()
    board.revoke("a", at=10)
    board.fact("b2", slot=None, depends_on=("a",), at=3, text="the text of b")
    again(board, 11)
    board.fact("d", slot=None, depends_on=("b2", "again"))
    assert board.out() == {"a": "revoked"}
    assert board.findings().recovered.keys() == {"b", "b2"}


# Overruling.


def overruled(scene: Scene, item: str, *, by: str = "boss", expires: timedelta = HOUR) -> None:
    scene.team.admin.overrule(item, by=by, reason="asked the hotel", expires=expires)


def test_an_overrule_lets_an_item_stand_without_its_premise() -> None:
    scene = chain()
    scene.depart()
    scene.team.revoke("a", by="bob")
    overruled(scene, "b")
    scene.come_back()
    assert [scene.reasons(name) for name in "abc"] == [(Reason.REVOKED,), IN, IN]
    (aside,) = scene.disposition("b").overruled
    assert aside.reason is Reason.PREMISE_CHANGED
    assert "set aside by boss" in aside.note
    assert "asked the hotel" in aside.note
    assert "asked the hotel" in str(scene.outcome.explain("b"))  # type: ignore[union-attr]


ENDINGS: dict[str, Any] = {
    "revoked": lambda s: s.team.revoke("a", by="bob"),
    "superseded": lambda s: s.fact("a2", supersedes="a"),
    "closed": lambda s: s.team.close_validity("a", end=s.now, by="bob"),
    "slot updated": lambda s: s.fact("a2", slot="s"),
    "suspected": lambda s: s.team.judge(Pair(item="a", evidence=s.news()), by="worker"),
    "invalidated": lambda s: s.verdict("a", s.news()),
    "disputed": lambda s: s.team.dispute(["a"], by="bob"),
    "dispute lost": lambda s: s.team.resolve(s.team.dispute(["a"], by="bob"), by="bob"),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_an_overrule_undoes_every_ending(case: str) -> None:
    scene = chain(slot="s")
    scene.depart()
    ENDINGS[case](scene)
    overruled(scene, "a")
    scene.come_back()
    assert scene.reasons("a") == IN
    assert scene.reasons("c") == IN, "what rests on it stands with it"


@pytest.mark.parametrize("case", ENDINGS)
def test_an_overrule_lapses(case: str) -> None:
    scene = chain(slot="s")
    scene.depart()
    ENDINGS[case](scene)
    overruled(scene, "a")
    scene.wait(HOUR - timedelta(seconds=1))
    scene.come_back()
    assert scene.reasons("a") == IN
    scene.wait(timedelta(seconds=1))
    scene.come_back()
    assert scene.reasons("a") != IN


@pytest.mark.parametrize("case", ENDINGS)
def test_an_overrule_says_nothing_of_what_comes_after_it(case: str) -> None:
    scene = chain(slot="s")
    scene.depart()
    scene.team.revoke("a", by="bob")
    overruled(scene, "a")
    ENDINGS[case](scene)
    scene.come_back()
    assert scene.reasons("a") != IN


def test_an_overrule_of_what_needs_none_is_refused() -> None:
    scene = chain(slot="s")
    scene.depart()
    before = scene.team.epoch
    with pytest.raises(ConflictError, match="nothing is against 'a', so there is nothing to overrule"):
        overruled(scene, "a")
    assert scene.team.epoch == before


def test_an_overrule_may_come_before_an_announced_end_and_be_renewed_before_it_lapses() -> None:
    scene = chain(slot="s")
    scene.depart()
    scene.team.close_validity("a", end=scene.now + HOUR, by="bob")
    with pytest.raises(ConflictError, match="nothing is against 'a'"):
        overruled(scene, "a", expires=HOUR)
    for hours in (2, 3):
        overruled(scene, "a", expires=hours * HOUR)
    scene.wait(2 * HOUR)
    scene.come_back()
    assert scene.reasons("a") == IN


def test_what_is_against_a_repetition_can_be_overruled_for_the_other() -> None:
    scene = Scene()
    for name in ("a", "again"):
        scene.fact(name, text="It is so", sources=[scene.source])
    scene.depart()
    scene.team.revoke("a", by="bob")
    overruled(scene, "again")
    scene.come_back()
    assert scene.reasons("again") == IN


def test_what_is_against_an_item_for_one_reader_alone_can_be_overruled() -> None:
    scene = Scene()
    scene.fact("a", slot="s")
    scene.depart()
    scene.fact("@bob/mine", slot="s", principals=["ann"], sources=[scene.news()])
    overruled(scene, "a")


def test_nobody_overrules_a_rejection_on_their_own_return() -> None:
    scene = Scene(evidence={"overseers": ("boss", "ann")})
    scene.fact("a")
    scene.team.revoke("a", by="bob")
    overruled(scene, "a", by="ann")
    scene.depart()
    scene.come_back()
    assert scene.reasons("a") == (Reason.REVOKED,)
    # It counts for others.
    boss = scene.team.agent("boss", role="planner", task="trip")
    boss.depart()
    scene.outcome = boss.come_back()
    assert scene.reasons("a") == IN


def test_only_overseers_overrule_and_only_while_they_are_overseers() -> None:
    scene = Scene()
    scene.fact("a")
    scene.depart()
    scene.team.revoke("a", by="bob")
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match="overseers"):
        overruled(scene, "a", by="bob")
    with pytest.raises(RecordError, match="has passed"):
        overruled(scene, "a", expires=timedelta(0))
    assert scene.team.epoch == before
    overruled(scene, "a")
    from readmit import Policy

    scene.team.as_owner().admin.govern(Policy(evidence={"overseers": ("cy",)}))
    scene.come_back()
    assert scene.reasons("a") == (Reason.REVOKED,)


@pytest.mark.parametrize(
    ("fields", "reason", "refusal"),
    [
        ({"sources": []}, Reason.UNPROVEN, "no overruling restores 'a', which is out for unproven"),
        ({"applies_to": ["other"]}, Reason.OTHER_TASK, "nothing is against 'a'"),
        ({"valid_until": Scene().now}, Reason.EXPIRED, "no overruling restores 'a', which is out for expired"),
    ],
    ids=["provenance", "applicability", "its own interval"],
)
def test_an_overrule_never_touches_the_other_gates(fields: Any, reason: Reason, refusal: str) -> None:
    scene = Scene()
    scene.fact("a", **fields)
    with pytest.raises(ConflictError, match=f"target: {refusal}"):
        overruled(scene, "a")
    scene.away()
    assert scene.reasons("a") == (reason,)

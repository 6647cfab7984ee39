"""Explicit invalidation as stories: what happens to ``h``, and what a return then says of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from readmit import Reason
from readmit.errors import ConflictError
from readmit.records.acts.event import Close, Resolve
from tests.rules.invalidate.build import Board, hour
from tests.scene import HOUR, START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

OUT = {
    "superseded": (Reason.SUPERSEDED,),
    "slot": (Reason.SLOT_UPDATED,),
    "revoked": (Reason.REVOKED,),
    "expired": (Reason.EXPIRED,),
    "disputed": (Reason.DISPUTED,),
    "lost": (Reason.DISPUTE_LOST,),
}
IN: tuple[Reason, ...] = (Reason.NOT_NEEDED,)


@dataclass(frozen=True)
class Story:
    """What happens to ``h`` (a fact in slot ``hotel.room`` of task ``trip``) after ann left."""

    happens: Callable[[Scene], object]
    reasons: tuple[Reason, ...] = IN
    wait: timedelta = timedelta(0)


def resolved(scene: Scene, *keep: str, ahead: timedelta | None = None) -> int:
    quarrel = scene.team.dispute(["h", "other"], by="bob")
    at = None if ahead is None else scene.now + ahead
    return scene.team.resolve(quarrel, keep=keep, by="bob", at=at)


STORIES = {
    "nothing": Story(lambda _: None),
    "revoked": Story(lambda s: s.team.revoke("h", by="bob"), OUT["revoked"]),
    "revoked as of an hour ago": Story(lambda s: s.team.revoke("h", by="bob", at=s.now - HOUR), OUT["revoked"]),
    "revoked as of later": Story(lambda s: s.team.revoke("h", by="bob", at=s.now + HOUR)),
    "revoked as of later, and it is": Story(
        lambda s: s.team.revoke("h", by="bob", at=s.now + HOUR), OUT["revoked"], HOUR
    ),
    "revoked, then the clock goes back": Story(lambda s: s.team.revoke("h", by="bob"), OUT["revoked"], -HOUR),
    "closed an hour from now": Story(lambda s: s.team.close_validity("h", end=s.now + HOUR, by="bob")),
    "closed, and the hour has passed": Story(
        lambda s: s.team.close_validity("h", end=s.now + HOUR, by="bob"), OUT["expired"], HOUR
    ),
    "closed at this moment": Story(lambda s: s.team.close_validity("h", end=s.now, by="bob"), OUT["expired"]),
    "superseded": Story(lambda s: s.team.supersede("h", "other", by="bob"), OUT["superseded"]),
    "superseded by something revoked": Story(
        lambda s: (s.team.supersede("h", "other", by="bob"), s.team.revoke("other", by="bob")), OUT["superseded"]
    ),
    "superseded twice": Story(
        lambda s: (s.team.supersede("h", "other", by="bob"), s.fact("third", supersedes="h")), OUT["superseded"]
    ),
    "superseded as of later": Story(lambda s: s.team.supersede("h", "other", by="bob", at=s.now + HOUR)),
    "disputed": Story(lambda s: s.team.dispute(["h"], by="bob"), OUT["disputed"]),
    "disputed as of later": Story(lambda s: s.team.dispute(["h"], by="bob", at=s.now + HOUR)),
    "dispute won": Story(lambda s: resolved(s, "h")),
    "dispute lost": Story(lambda s: resolved(s, "other"), OUT["lost"]),
    "dispute lost by both": Story(resolved, OUT["lost"]),
    "dispute won as of later": Story(lambda s: resolved(s, "h", ahead=HOUR), OUT["disputed"]),
    "dispute won as of later, and it is": Story(lambda s: resolved(s, "h", ahead=HOUR), IN, HOUR),
    "one dispute won, another open": Story(
        lambda s: (resolved(s, "h"), s.team.dispute(["h"], by="bob")), OUT["disputed"]
    ),
    "the same slot, sourced": Story(lambda s: s.fact("new", slot="hotel.room", task="trip"), OUT["slot"]),
    "the same slot, unproven": Story(lambda s: s.fact("new", slot="hotel.room", task="trip", sources=[])),
    "the same slot of another task": Story(lambda s: s.fact("new", slot="hotel.room", task="other")),
    "the same slot of every task": Story(lambda s: s.fact("new", slot="hotel.room"), OUT["slot"]),
    "another slot": Story(lambda s: s.fact("new", slot="hotel", task="trip")),
    "the same slot, from later on": Story(
        lambda s: s.fact("new", slot="hotel.room", task="trip", valid_from=s.now + HOUR)
    ),
    "the same slot, from later on, and it is": Story(
        lambda s: s.fact("new", slot="hotel.room", task="trip", valid_from=s.now + HOUR), OUT["slot"], HOUR
    ),
    "the same slot, then that revoked": Story(
        lambda s: s.team.revoke(s.fact("new", slot="hotel.room", task="trip"), by="bob"), OUT["slot"]
    ),
    "the same slot, for others only": Story(
        lambda s: s.fact("@bob/new", slot="hotel.room", task="trip", principals=["cy"])
    ),
    "the same slot, for another role only": Story(
        lambda s: s.fact("new", slot="hotel.room", task="trip", roles=["booker"]), OUT["slot"]
    ),
    "the same slot, a constraint": Story(
        lambda s: s.fact("new", slot="hotel.room", task="trip", kind="role_constraint"), OUT["slot"]
    ),
    "an obligation about the slot": Story(lambda s: s.duty("new", required=(), slot="hotel.room", task="trip")),
    "revoked and superseded": Story(
        lambda s: (s.team.revoke("h", by="bob"), s.team.supersede("h", "other", by="bob")),
        (Reason.REVOKED, Reason.SUPERSEDED),
    ),
}


@pytest.mark.parametrize("departed", [True, False], ids=["in Δ", "in D"])
@pytest.mark.parametrize("case", STORIES)
def test_story(case: str, departed: bool) -> None:
    """It makes no difference whether it happened before or after the departure."""
    scene = Scene()
    scene.fact("h", slot="hotel.room", task="trip")
    scene.fact("other")
    story = STORIES[case]
    if departed:
        scene.depart()
    story.happens(scene)
    if not departed:
        scene.depart()
    scene.wait(story.wait)
    scene.come_back()
    assert scene.reasons("h") == story.reasons


def test_causes_say_by_what_by_whom_and_when() -> None:
    scene = Scene()
    scene.fact("h", slot="s")
    scene.fact("other")
    epoch = scene.team.supersede("h", "other", by="cy", reason="they moved")
    scene.fact("new", slot="s")
    scene.away()
    first, second = scene.disposition("h").causes
    assert (first.reason, first.ref, first.by, first.epoch, first.note) == (
        Reason.SUPERSEDED, "other", "cy", epoch, "they moved",
    )  # fmt: skip
    assert (second.reason, second.ref, second.by, second.epoch) == (Reason.SLOT_UPDATED, "new", "bob", epoch + 1)


def test_a_chain_of_replacements_leaves_the_last() -> None:
    scene = Scene()
    for number in range(4):
        scene.fact(f"h{number}", **({"supersedes": f"h{number - 1}"} if number else {}))
    scene.away()
    assert [scene.reasons(f"h{number}") for number in range(4)] == [(Reason.SUPERSEDED,)] * 3 + [IN]


def test_a_fork_leaves_both_branches() -> None:
    scene = Scene()
    scene.fact("h")
    scene.fact("left", supersedes="h")
    scene.fact("right", supersedes="h")
    scene.away()
    assert [scene.reasons(name) for name in ("h", "left", "right")] == [(Reason.SUPERSEDED,), IN, IN]
    assert [cause.ref for cause in scene.disposition("h").causes] == ["left", "right"]


def test_saying_it_the_other_way_round_is_an_undo() -> None:
    scene = Scene()
    scene.fact("h0")
    scene.fact("h1", supersedes="h0")
    scene.team.supersede("h1", "h0", by="bob")
    scene.away()
    assert (scene.reasons("h0"), scene.reasons("h1")) == (IN, (Reason.SUPERSEDED,))


@pytest.mark.parametrize("length", [1, 3, 7])
def test_a_longer_circle_of_replacements_is_refused(length: int) -> None:
    scene = Scene()
    names = [scene.fact(f"h{number}") for number in range(length)]
    for one, two in pairwise(names):
        scene.team.supersede(one, two, by="bob")
    before = scene.team.epoch
    with pytest.raises(ConflictError, match="cycle"):
        scene.team.supersede(names[-1], names[0], by="bob")
    assert scene.team.epoch == before


def test_a_circle_through_a_fork_is_refused() -> None:
    scene = Scene()
    for name in "abcd":
        scene.fact(name)
    scene.team.supersede("a", "b", by="bob")
    scene.team.supersede("a", "c", by="bob")
    scene.team.supersede("c", "d", by="bob")
    with pytest.raises(ConflictError):
        scene.team.supersede("d", "a", by="bob")
    scene.team.supersede("b", "d", by="bob")


# Intervals.


@pytest.mark.parametrize(
    ("minutes", "reasons"),
    [(0, (Reason.NOT_YET_VALID,)), (59, (Reason.NOT_YET_VALID,)), (60, IN), (119, IN), (120, (Reason.EXPIRED,))],
)
def test_an_interval_includes_its_start_and_excludes_its_end(minutes: int, reasons: tuple[Reason, ...]) -> None:
    scene = Scene()
    scene.fact("h", valid_from=START + HOUR, valid_until=START + 2 * HOUR)
    scene.now = START + timedelta(minutes=minutes)
    scene.away()
    assert scene.reasons("h") == reasons


# Frontiers and obligations.


def test_a_frontier_moves_and_ends_with_its_obligation() -> None:
    scene = Scene()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2")
    scene.duty("p", required=())
    scene.frontier("g", "p")
    scene.depart()
    scene.come_back()
    assert scene.reasons("f1") == (Reason.FRONTIER_MOVED,)
    assert [scene.reasons(name) for name in ("o", "f2", "p", "g")] == [(Reason.MANDATORY,)] * 4
    scene.team.settle("o", by="bob")
    scene.come_back()
    assert scene.reasons("f1") == (Reason.FRONTIER_MOVED, Reason.SETTLED)
    assert scene.reasons("f2") == scene.reasons("o") == (Reason.SETTLED,)
    assert scene.reasons("g") == (Reason.MANDATORY,)


def test_an_obligation_settled_as_of_later_keeps_its_frontier_until_then() -> None:
    scene = Scene()
    scene.duty(required=())
    scene.frontier()
    scene.team.settle("o", by="bob", at=scene.now + HOUR)
    scene.away()
    assert scene.reasons("o") == scene.reasons("f") == (Reason.MANDATORY,)
    scene.wait(HOUR)
    scene.come_back()
    assert scene.reasons("o") == scene.reasons("f") == (Reason.SETTLED,)


def test_an_unproven_frontier_moves_nothing() -> None:
    scene = Scene()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", sources=[])
    scene.away()
    assert scene.reasons("f1") == (Reason.MANDATORY,)
    assert scene.reasons("f2") == (Reason.UNPROVEN,)


def test_a_duty_does_not_end_with_its_time() -> None:
    board = Board()
    board.duty("o", valid_until=50)
    board.duty("p")
    board.mark(Close(target="p", end=hour(50)))
    board.duty("q", valid_from=101)
    assert board.out() == {"q": "not_yet_valid"}


# Disputes: which resolution decides.


@dataclass(frozen=True)
class Resolution:
    """One resolution: whether it is for ``h``, by whom, and when it is said to be true and was learnt."""

    keep: bool
    by: str = "bob"
    at: float = 60
    learnt: float = 60


UNRESOLVED: tuple[Resolution, ...] = ()
DECIDING: dict[str, tuple[tuple[Resolution, ...], str | None]] = {
    "none": (UNRESOLVED, "disputed"),
    "won": ((Resolution(True),), None),
    "lost": ((Resolution(False),), "dispute_lost"),
    "the same again": ((Resolution(True), Resolution(True)), None),
    "lost, then won": ((Resolution(False), Resolution(True)), None),
    "won, then lost": ((Resolution(True), Resolution(False)), "dispute_lost"),
    "the latest in the log, whatever its date": ((Resolution(True, at=60), Resolution(False, at=55)), "dispute_lost"),
    "her own alone": ((Resolution(True, by="ann"),), "disputed"),
    "her own after another's": ((Resolution(False), Resolution(True, by="ann")), "dispute_lost"),
    "another's after her own": ((Resolution(True, by="ann"), Resolution(False)), "dispute_lost"),
    "dated ahead": ((Resolution(True, at=101),), "disputed"),
    "dated ahead, after one that counts": ((Resolution(False), Resolution(True, at=101)), "dispute_lost"),
    "dated for this moment": ((Resolution(True, at=100),), None),
}


@pytest.mark.parametrize("case", DECIDING)
def test_the_latest_resolution_that_counts_decides(case: str) -> None:
    resolutions, expected = DECIDING[case]
    board = Board()
    board.fact("h")
    name = board.dispute("h", at=50)
    for one in resolutions:
        resolution = Resolve(dispute=name, keep=("h",) if one.keep else ())
        board.mark(resolution, by=one.by, at=one.at, learnt=one.learnt)
    assert board.out() == ({} if expected is None else {"h": f"{expected} {name}"})


def test_each_dispute_has_its_own_resolution() -> None:
    board = Board()
    board.fact("h")
    first, second = board.dispute("h"), board.dispute("h")
    board.mark(Resolve(dispute=second, keep=("h",)))
    assert board.out() == {"h": f"disputed {first}"}


def test_a_lost_dispute_names_who_resolved_it() -> None:
    board = Board()
    board.fact("h")
    name = board.dispute("h")
    board.mark(Resolve(dispute=name, reason="asked them"), by="cy")
    (cause,) = board.findings().against["h"]
    assert (cause.by, cause.note, cause.ref, cause.epoch) == ("cy", "asked them", name, board.epoch)

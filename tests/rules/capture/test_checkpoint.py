"""``D_a`` and ``⊕``: a checkpoint notices any difference, and folding in two halves is folding at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Pair
from readmit.records.snapshot import WorkState
from readmit.rules.capture.checkpoint import checkpoint, unchanged
from readmit.rules.capture.fold import fold
from tests.scene import START, Scene


def busy() -> Scene:
    scene = Scene()
    scene.covered()
    scene.frontier()
    scene.fact("a", slot="s")
    scene.fact("b", slot="s")
    scene.ann().remember("careful", bound_to="a")
    quarrel = scene.team.dispute(["a", "h"], by="bob")
    scene.team.revoke("a", by="bob")
    scene.team.resolve(quarrel, keep=["h"], by="bob")
    scene.team.judge(Pair(item="h", evidence=scene.news()), by="worker")
    return scene


SCENE = busy()
EVENTS = SCENE.team._desk.log.seen(SCENE.ann().identity, until=SCENE.team.epoch)


@given(st.integers(0, len(EVENTS)), st.integers(0, len(EVENTS)))
@settings(max_examples=60)
def test_folding_in_parts_is_folding_at_once(one: int, two: int) -> None:
    first, second = sorted((one, two))
    parts = fold(fold(fold(WorkState(), EVENTS[:first]), EVENTS[first:second]), EVENTS[second:])
    assert parts == fold(WorkState(), EVENTS)
    assert list(parts.held) == list(fold(WorkState(), EVENTS).held)


def test_folding_changes_nothing_it_was_given() -> None:
    before = fold(WorkState(), EVENTS[:6])
    copy = {name: held.marks for name, held in before.held.items()}
    fold(before, EVENTS[6:])
    assert {name: held.marks for name, held in before.held.items()} == copy


def test_the_state_holds_items_marks_resolutions_and_the_bank() -> None:
    state = fold(WorkState(), EVENTS)
    assert list(state.held) == ["o", "h", "f", "a", "b"]
    assert [mark.kind for mark in state.held["a"].marks] == ["dispute", "revoke"]
    assert [mark.kind for mark in state.held["h"].marks] == ["dispute", "suspect"]
    assert len(state.resolutions) == 1
    assert [event.kind for event in state.bank] == ["remember"]
    assert state.epoch == EVENTS[-1].epoch


@pytest.mark.parametrize(
    "seen",
    [EVENTS[:-1], EVENTS[1:], EVENTS[::-1], [*EVENTS, EVENTS[0]], []],
    ids=["cut", "behead", "turn", "add", "none"],
)
def test_a_checkpoint_notices_any_difference(seen: list[object]) -> None:
    sealed = checkpoint(SCENE.ann().identity, EVENTS, id="c", epoch=9, at=START)
    assert unchanged(sealed, EVENTS)
    assert not unchanged(sealed, seen)  # type: ignore[arg-type]
    assert sealed.events == len(EVENTS)


def test_a_departure_in_the_past_is_sealed_as_of_then() -> None:
    scene = busy()
    revoked = next(event.epoch for event in scene.team._desk.log.tail() if event.kind == "revoke")
    scene.depart(epoch=revoked - 1)
    outcome = scene.come_back()
    assert outcome.decision.epoch == scene.team.epoch - 1
    assert "revoked" in scene.reasons("a"), "what happened since that epoch is Δ, whenever the departure was written"

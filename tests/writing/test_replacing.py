"""Circles of supersession, and undoing one."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from readmit.errors import ConflictError
from tests.scene import Scene


def three() -> Scene:
    scene = Scene()
    for name in ("a", "b", "c"):
        scene.fact(name)
    return scene


def test_turning_the_last_one_round_undoes_it_and_again_redoes_it() -> None:
    scene = three()
    for _ in range(3):
        scene.team.supersede("a", "b", by="bob")
        scene.team.supersede("b", "a", by="bob")


def test_nothing_replaces_itself() -> None:
    with pytest.raises(ConflictError, match="by itself"):
        three().team.supersede("a", "a", by="bob")


def test_a_longer_circle_is_refused() -> None:
    scene = three()
    scene.team.supersede("a", "b", by="bob")
    scene.team.supersede("b", "c", by="bob")
    before = scene.team.epoch
    with pytest.raises(ConflictError, match="'a' was itself replaced by 'c'"):
        scene.team.supersede("c", "a", by="bob")
    assert scene.team.epoch == before


def test_what_was_undone_closes_no_circle() -> None:
    scene = three()
    scene.team.supersede("a", "b", by="bob")
    scene.team.supersede("b", "c", by="bob")
    scene.team.supersede("b", "a", by="bob")
    scene.team.supersede("c", "a", by="bob")
    # Redone, it would: b leads over c to a again.
    with pytest.raises(ConflictError, match="cycle"):
        scene.team.supersede("a", "b", by="bob")


def test_a_supersession_said_twice_takes_two_words_to_undo_no_more() -> None:
    scene = three()
    scene.team.supersede("a", "b", by="bob")
    scene.team.supersede("a", "b", by="cy")
    scene.team.supersede("b", "a", by="bob")
    scene.team.supersede("b", "c", by="bob")
    scene.team.supersede("c", "a", by="bob")


def test_circles_of_any_length_are_found() -> None:
    scene = Scene()
    names = [f"m{number}" for number in range(30)]
    for name in names:
        scene.fact(name)
    for target, successor in pairwise(names):
        scene.team.supersede(target, successor, by="bob")
    with pytest.raises(ConflictError, match="cycle"):
        scene.team.supersede(names[-1], names[0], by="bob")
    scene.team.supersede(names[1], names[0], by="bob")
    scene.team.supersede(names[-1], names[0], by="bob")


def test_a_circle_of_three_statements_is_refused_under_whatever_names() -> None:
    scene = three()
    for name in "abc":
        scene.fact(f"{name}2", text=f"the text of {name}", by="cy")
    scene.team.supersede("a", "b", by="bob")
    scene.team.supersede("b2", "c", by="bob")
    for target, successor in (("c", "a"), ("c2", "a2")):
        with pytest.raises(ConflictError, match="cycle"):
            scene.team.supersede(target, successor, by="bob")
    scene.team.supersede("c2", "b2", by="bob")
    scene.team.supersede("c2", "a2", by="bob")


def test_a_circle_of_recordings_of_one_statement_is_refused() -> None:
    scene = three()
    for number in (2, 3):
        scene.fact(f"a{number}", text="the text of a", by="cy")
    scene.team.supersede("a", "a2", by="bob")
    scene.team.supersede("a2", "a3", by="bob")
    with pytest.raises(ConflictError, match="cycle"):
        scene.team.supersede("a3", "a", by="bob")


@pytest.mark.parametrize("slot", [None, "hotel"])
@pytest.mark.parametrize("later", ["act", "successor"])
def test_an_undo_that_does_not_count_yet_opens_no_circle(later: str, slot: str | None) -> None:
    scene = Scene()
    tomorrow = scene.now + timedelta(days=1)
    for name in "abc":
        scene.fact(name, slot=slot)
    scene.fact("a2", text="the text of a", slot=slot, valid_from=tomorrow if later == "successor" else None)
    scene.team.supersede("a", "b", by="bob")
    scene.team.supersede("b", "a2", by="bob", at=tomorrow if later == "act" else None)
    scene.team.supersede("b", "c", by="bob")
    with pytest.raises(ConflictError, match="cycle"):
        scene.team.supersede("c", "a", by="bob")
    scene.wait(timedelta(days=1))
    scene.team.supersede("c", "a", by="bob")

"""Circles of supersession, and undoing one."""

from __future__ import annotations

from itertools import pairwise

import pytest

from readmit.records.errors import ConflictError
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

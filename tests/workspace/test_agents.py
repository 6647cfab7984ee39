"""Agents: departures, returns in other roles and from other departures, and their private banks."""

from __future__ import annotations

import pytest

from readmit import Reason
from readmit.errors import ConflictError, RecordError, UnknownError
from tests.scene import Scene


def test_a_return_needs_a_departure_that_no_return_has_ended() -> None:
    scene = Scene()
    scene.covered()
    with pytest.raises(UnknownError, match="has not departed"):
        scene.ann().come_back()
    scene.depart()
    scene.come_back()
    outcome = scene.come_back()
    outcome.expose()
    outcome.acknowledge()
    with pytest.raises(UnknownError, match="has not departed"):
        scene.come_back()
    scene.depart()
    assert scene.come_back().admitted


def test_a_departure_id_is_used_once() -> None:
    scene = Scene()
    scene.covered()
    scene.ann().depart(id="left")
    before = scene.team.epoch
    for ann in (scene.ann(), scene.ann("guest"), scene.ann(task="elsewhere")):
        with pytest.raises(ConflictError, match="choose another id"):
            ann.depart(id="left")
    assert scene.team.epoch == before
    scene.come_back().expose()
    # Passed over in silence, this would leave an agent at work that said it was leaving.
    with pytest.raises(ConflictError, match="choose another id"):
        scene.ann().depart(id="left")


@pytest.mark.parametrize("epoch", [-1, 10_000])
def test_a_departure_lies_within_the_log(epoch: int) -> None:
    with pytest.raises(RecordError, match="epoch"):
        Scene().ann().depart(epoch=epoch)


def test_an_earlier_departure_can_be_named_and_only_ones_own() -> None:
    scene = Scene()
    scene.covered()
    scene.ann().depart(id="first")
    scene.ann().depart(id="second")
    assert scene.come_back().request.checkpoint == "second"
    assert scene.come_back(checkpoint="first").request.checkpoint == "first"
    bob = scene.team.agent("bob", role="planner", task="trip")
    for name in ("first", "never"):
        with pytest.raises(UnknownError, match=f"^no departure '{name}' of 'bob' in workspace 'default'$"):
            bob.come_back(checkpoint=name)


def test_a_return_id_is_used_once() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.come_back(id="r")
    before = scene.team.epoch, scene.team._desk.log.audit.last
    with pytest.raises(ConflictError, match="choose another id"):
        scene.ann().come_back(id="r")
    assert (scene.team.epoch, scene.team._desk.log.audit.last) == before
    for bad in ("with space", "x" * 200, "line\n"):
        with pytest.raises(RecordError, match=r"^id: "):
            scene.ann().come_back(id=bad)
    assert (scene.team.epoch, scene.team._desk.log.audit.last) == before


def test_another_role_sees_with_its_own_eyes() -> None:
    scene = Scene()
    scene.fact("both")
    scene.fact("planners", roles=["planner"])
    scene.fact("guests", roles=["guest"])
    scene.depart("planner")
    scene.come_back("guest")
    assert scene.reasons("both") == scene.reasons("guests") == (Reason.NOT_NEEDED,)
    assert scene.reasons("planners") == (Reason.OUT_OF_SCOPE,)


def test_duties_are_those_of_the_returning_role() -> None:
    scene = Scene()
    scene.duty("plan", required=("d",), roles=["planner"])
    scene.duty("greet", required=(), roles=["guest"])
    scene.depart("planner")
    assert scene.come_back("planner").missing == ("d",)
    outcome = scene.come_back("guest")
    assert outcome.admitted
    assert [item.id for item in outcome.view.items] == ["greet"]  # type: ignore[union-attr]


def test_experiences_come_back_with_their_source_and_stay_withheld_without() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("gone")
    ann = scene.ann()
    for name, item in (("x1", "h"), ("x2", "gone"), ("x3", "h")):
        ann.remember(f"learnt {name}", bound_to=item, id=name)
    assert [one.id for one in ann.recall()] == ["x1", "x2", "x3"]
    ann.depart()
    outcome = ann.come_back()
    assert {note.experience: note.reason for note in outcome.decision.experiences} == {
        "x1": Reason.SOURCE_IN_VIEW, "x2": Reason.SOURCE_NOT_IN_VIEW, "x3": Reason.SOURCE_IN_VIEW,
    }  # fmt: skip
    bundle = outcome.expose()
    assert [one.text for one in bundle.experiences] == ["learnt x1", "learnt x3"]
    assert [one.id for one in ann.recall()] == ["x1", "x3"]
    ann.remember("learnt since", bound_to="h", id="x4")
    assert [one.id for one in ann.recall()] == ["x1", "x3", "x4"]
    rows = [row for row in scene.team._desk.log.audit.rows() if row.kind == "experience"]
    assert [row.item for row in rows] == ["h", "gone", "h"]


def test_a_bank_is_nobody_elses() -> None:
    scene = Scene()
    scene.covered()
    scene.ann().remember("mine", bound_to="h", id="x1")
    bob = scene.team.agent("bob", role="planner", task="trip")
    assert bob.recall() == ()
    bob.depart()
    assert bob.come_back().expose().experiences == ()


def test_a_blocked_return_can_be_tried_again() -> None:
    scene = Scene()
    scene.duty()
    scene.depart()
    assert scene.come_back().kind == "blocked"
    scene.fact("h", supports=["d"])
    assert scene.come_back().admitted

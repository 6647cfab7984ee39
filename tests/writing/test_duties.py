"""Opening and ending duties: who may, how often, and what is owed once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit.errors import ConflictError, NotAllowedError, RateError, RecordError, UnknownError
from readmit.events import EventKind
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit import Workspace

WRITE: dict[str, Any] = {"required": ["d"], "task": "trip"}


def duties(team: Workspace) -> list[str]:
    return [event.payload.id for event in team.admin.log.tail() if event.kind is EventKind.OPEN]  # type: ignore[attr-defined]


# Opening.


def test_opening_a_duty_is_the_act_and_needs_no_evidence() -> None:
    team = Scene().team
    assert team._desk.log.item(team.oblige("Write the plan", by="bob", **WRITE)).receipts == ()
    with pytest.raises(RecordError, match="by: say who writes this; add by="):
        team.oblige("Write the plan", **WRITE)


def test_the_same_duty_is_one_as_long_as_it_is_open() -> None:
    team = Scene().team
    first = team.oblige("Write the plan", by="bob", **WRITE)
    assert team.oblige("Write the plan", by="bob", **WRITE) == first
    assert duties(team) == [first]


def end(team: Workspace, how: str, duty: str) -> None:
    other = team.oblige("Something else", by="bob", **WRITE)
    {
        "settle": lambda: team.settle(duty, by="bob"),
        "revoke": lambda: team.revoke(duty, by="bob"),
        "supersede": lambda: team.supersede(duty, other, by="bob"),
    }[how]()


@pytest.mark.parametrize("how", ["settle", "revoke", "supersede"])
def test_what_is_over_and_owed_once_more_is_a_new_duty(how: str) -> None:
    team = Scene().team
    made = [team.oblige("Write the plan", by="bob", **WRITE)]
    for _ in range(3):
        end(team, how, made[-1])
        made.append(team.oblige("Write the plan", by="bob", **WRITE))
        assert team.oblige("Write the plan", by="bob", **WRITE) == made[-1], "while it is open, it is one"
    assert len(set(made)) == 4


def test_a_settled_duty_that_is_opened_again_is_owed_at_the_return() -> None:
    scene = Scene()
    plan: dict[str, Any] = {"sources": [scene.source], "by": "bob", **WRITE}
    scene.team.settle(scene.team.oblige("Write the plan", **plan), by="bob")
    again = scene.team.oblige("Write the plan", **plan)
    scene.fact("h", supports=["d"])
    outcome = scene.away()
    assert again in {item.id for item in outcome.view.items}  # type: ignore[union-attr]


def test_a_settlement_that_holds_only_later_leaves_the_duty_open() -> None:
    scene = Scene()
    first = scene.team.oblige("Write the plan", by="bob", **WRITE)
    scene.team.settle(first, by="bob", at=scene.now + HOUR)
    assert scene.team.oblige("Write the plan", by="bob", **WRITE) == first
    scene.wait(2 * HOUR)
    assert scene.team.oblige("Write the plan", by="bob", **WRITE) != first


def test_a_replacement_that_was_undone_leaves_the_duty_open() -> None:
    team = Scene().team
    first = team.oblige("Write the plan", by="bob", **WRITE)
    other = team.oblige("Something else", by="bob", **WRITE)
    team.supersede(first, other, by="bob")
    team.supersede(other, first, by="bob")
    assert team.oblige("Write the plan", by="bob", **WRITE) == first


@pytest.mark.parametrize("how", ["settle", "revoke", "supersede"])
def test_oblige_with_the_id_of_a_settled_duty_is_refused(how: str) -> None:
    team = Scene().team
    team.oblige("Write the plan", id="o", by="bob", **WRITE)
    assert team.oblige("Write the plan", id="o", by="bob", **WRITE) == "o", "while it is open, it changes nothing"
    end(team, how, "o")
    before = team.epoch
    with pytest.raises(ConflictError, match=r"^id: duty 'o' is over: bob .* it at epoch \d+; leave id out"):
        team.oblige("Write the plan", id="o", by="bob", **WRITE)
    with pytest.raises(ConflictError, match=r"^obligation: duty 'o' is over: bob .* oblige what is owed now"):
        team.progress("Half done", obligation="o", by="bob")
    assert team.epoch == before
    # The remedies, carried out.
    assert team.oblige("Write the plan", by="bob", **WRITE) not in ("o", None)
    assert team.oblige("Write the plan", id="o3", by="bob", **WRITE) == "o3"


def test_the_id_of_a_settled_duty_that_is_out_of_sight_tells_no_more_than_any_other() -> None:
    team = Scene().team
    for name in ("@bob/o", "@bob/p"):
        team.oblige("Write the plan", id=name, by="bob", principals=["bob"], **WRITE)
    team.settle("@bob/o", by="bob")
    told = []
    for name in ("@bob/o", "@bob/p", "@bob/q"):
        with pytest.raises(NotAllowedError) as refused:
            team.oblige("Something else", id=name, by="eve", **WRITE)
        told.append(str(refused.value).replace(name, "x"))
    assert told[0] == told[1] == told[2]


def test_one_writer_opens_so_many_duties_for_others() -> None:
    scene = Scene(limits={"duties": 3, "window_seconds": 3600})
    team = scene.team
    for number in range(3):
        team.oblige(f"Do {number}", by="eve", **WRITE)
    before = team.epoch
    scopes: list[dict[str, Any]] = [{}, {"roles": ["planner"]}, {"principals": ["ann"]}, {"principals": ["eve", "ann"]}]
    for scope in scopes:
        with pytest.raises(RateError, match=r"limits\.duties.*wait, or let an overseer \(boss\) raise the limit"):
            team.oblige("One more", by="eve", **WRITE, **scope)
    assert [str(event.kind) for event in team._desk.log.tail(since=before)] == ["wait"] * len(scopes)
    for number in range(5):
        team.oblige(f"Remember {number}", by="eve", principals=["eve"], **WRITE)
    team.oblige("Others are not held back", by="bob", **WRITE)
    scene.wait(2 * HOUR)
    team.oblige("One more", by="eve", **WRITE)


def test_settling_and_opening_again_counts_against_the_limit() -> None:
    team = Scene(limits={"duties": 2}).team
    for _ in range(2):
        team.settle(team.oblige("Write the plan", by="eve", **WRITE), by="eve")
    with pytest.raises(RateError, match=r"limits\.duties"):
        team.oblige("Write the plan", by="eve", **WRITE)


# Ending.


def owed(**scope: Any) -> Scene:
    scene = Scene()
    for name in ("@bob/o", "@bob/o2"):
        scene.team.oblige(f"Write {name}", id=name, by="bob", required=["d"], sources=[scene.source], **scope)
    return scene


VERBS = {
    "settle": lambda team, **who: team.settle("@bob/o", **who),
    "revoke": lambda team, **who: team.revoke("@bob/o", **who),
    "supersede": lambda team, **who: team.supersede("@bob/o", "@bob/o2", **who),
}


@pytest.mark.parametrize("verb", VERBS)
def test_its_author_an_overseer_and_an_agent_that_owes_it_may_end_a_duty(verb: str) -> None:
    for by in ("bob", "boss", "ann"):
        scene = owed(roles=["planner"])
        scene.team.admin.reassign("ann", task="trip", role="planner", by="boss")
        scene.team.admin.reassign("eve", task="trip", role="guest", by="boss")
        before = scene.team.epoch
        with pytest.raises(NotAllowedError, match="its author, the overseers, and agents that owe it"):
            VERBS[verb](scene.team, by="eve")
        assert scene.team.epoch == before
        VERBS[verb](scene.team, by=by)
    VERBS[verb](owed().team, by="eve")
    VERBS[verb](owed(principals=["ann"]).team, by="ann")


@pytest.mark.parametrize("verb", VERBS)
def test_a_duty_of_somebody_else_is_unknown(verb: str) -> None:
    scene = owed(principals=["ann"])
    with pytest.raises(UnknownError) as hidden:
        VERBS[verb](scene.team, by="eve")
    assert str(hidden.value) == "no item '@bob/o' in workspace 'default'; record it first"


@pytest.mark.parametrize("verb", VERBS)
def test_nobody_ends_a_duty_while_away(verb: str) -> None:
    """Also not its author, nor an overseer: what they owe, they find when they come back."""
    for who, scope in (
        ({"by": "ann"}, {"roles": ["planner"], "task": "trip"}),
        ({"by": "ann"}, {"task": "trip"}),
        ({"by": "ann"}, {}),
        ({"by": "bob"}, {"task": "trip"}),
        ({"by": "boss"}, {"task": "trip"}),
    ):
        scene = owed(**scope)
        scene.team.as_owner().admin.reassign("ann", task="trip", role="planner")
        scene.fact("h", supports=["d"])
        agent = scene.team.agent(who["by"], role="planner", task="trip")
        agent.depart()
        with pytest.raises(NotAllowedError, match="come back first"):
            VERBS[verb](scene.team, **who)
        outcome = agent.come_back()
        with pytest.raises(NotAllowedError, match="come back first"):
            VERBS[verb](scene.team, **who)
        outcome.expose()
        VERBS[verb](scene.team, **who)


def test_away_from_another_task_a_duty_of_this_one_can_be_settled() -> None:
    scene = owed(task="trip")
    scene.ann(task="elsewhere").depart()
    scene.team.settle("@bob/o", by="ann")
    everywhere = owed()
    everywhere.ann(task="elsewhere").depart()
    with pytest.raises(NotAllowedError, match="away from a task"):
        everywhere.team.settle("@bob/o", by="ann")


def test_an_agent_settles_what_it_owes_in_its_role() -> None:
    scene = owed(roles=["planner"], task="trip")
    ann = scene.ann()
    with pytest.raises(NotAllowedError, match="the owner or an overseer gives"):
        ann.settle("@bob/o")
    scene.team.admin.reassign("ann", task="trip", role="planner", by="boss")
    ann.settle("@bob/o", reason="it is written")
    ann.depart()
    with pytest.raises(NotAllowedError, match="come back first"):
        ann.settle("@bob/o2")
    [settled] = [event for event in scene.team._desk.log.tail() if event.kind is EventKind.SETTLE]
    assert (settled.by, settled.payload.reason) == ("ann", "it is written")  # type: ignore[attr-defined]


def test_after_a_reset_an_agent_is_not_away() -> None:
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.duty()
    assert scene.away().kind == "reset"
    scene.ann().settle("o")


def test_only_a_duty_takes_the_place_of_a_duty() -> None:
    scene = owed()
    scene.fact("h")
    before = scene.team.epoch
    for attempt in (
        lambda: scene.team.supersede("@bob/o", "h", by="bob"),
        lambda: scene.fact("h2", supersedes="@bob/o"),
    ):
        with pytest.raises(RecordError, match="oblige what is owed instead of '@bob/o', or settle '@bob/o'"):
            attempt()
    assert scene.team.epoch == before
    scene.team.supersede("@bob/o", "@bob/o2", by="bob")


def test_settling_is_for_duties() -> None:
    scene = Scene()
    scene.fact("h")
    with pytest.raises(RecordError, match="'h' is not an obligation"):
        scene.team.settle("h", by="bob")

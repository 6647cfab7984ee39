"""Items that a reader cannot see still count: a decision does not depend on how much the reader can see."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason
from tests.scene import STANDING, START, SourcedScene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.types import Event, Item

DAY = timedelta(days=1)


# Frontiers that are seen only with their obligation.


def test_a_frontier_of_another_role_that_was_withdrawn_before_it_began_moves_nothing() -> None:
    scene = SourcedScene()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", roles=["booker"], valid_from=START + DAY)
    scene.team.revoke("f2", by="bob")
    scene.wait(2 * DAY)
    assert scene.stand() == {"o", "f1"}
    assert scene.reasons("f2") == (Reason.OUT_OF_SCOPE, Reason.REVOKED)
    assert scene.stand(role="booker") == {"o", "f1"}


def test_a_replacement_by_a_frontier_of_another_task_is_undone_for_every_task() -> None:
    scene = SourcedScene()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", task="fair")
    scene.team.supersede("f1", "f2", by="bob")
    assert "f1" not in scene.stand()
    scene.team.supersede("f2", "f1", by="bob")
    assert scene.stand() == {"o", "f1"}


def test_what_a_frontier_replaced_on_another_task_does_not_rank_it_on_this_one() -> None:
    scene = SourcedScene()
    scene.duty(required=())
    scene.frontier("all")
    scene.frontier("here", task="trip")
    scene.frontier("there", task="fair")
    scene.team.supersede("there", "all", by="bob")
    assert scene.stand() == {"o", "here"}
    scene.team.supersede("here", "all", by="bob")
    assert scene.stand() == {"o", "all"}


@pytest.mark.parametrize("kept", ["f1", "f2"])
def test_a_dispute_among_frontiers_of_other_roles_ends_for_everybody(kept: str) -> None:
    scene = SourcedScene()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", roles=["booker"])
    scene.team.dispute(["f2"], by="bob", id="quarrel")
    scene.away()
    assert scene.reasons("f1") == (Reason.SLOT_CONTESTED,)
    scene.team.resolve("quarrel", keep=[kept] if kept == "f2" else [], by="bob")
    assert scene.stand() == ({"o"} if kept == "f2" else {"o", "f1"})


# Premises without a slot, and frontiers whose obligation is out of sight too.


def rests_on(scene: SourcedScene, **where: Any) -> None:
    scene.fact("p", text="The hotel is booked", **where)
    scene.fact("x", depends_on=["p"])


def test_a_hidden_premise_that_is_stated_again_from_later_evidence_carries_again() -> None:
    scene = SourcedScene()
    rests_on(scene, roles=["booker"])
    scene.team.revoke("p", by="bob")
    assert scene.stand() == set()
    scene.fact("again", text="The hotel is booked", roles=["booker"])
    assert scene.stand() == {"x"}
    assert [(one.ref, one.root) for one in scene.disposition("x").recovered] == [("again", "p")]
    scene.team.revoke("again", by="bob")
    assert scene.stand() == set()


@pytest.mark.parametrize(
    "other", [{"text": "The hotel is not booked"}, {"roles": ["buyer"]}, {"task": "fair"}, {"kind": "role_constraint"}]
)
def test_another_statement_does_not_carry_a_hidden_premise(other: dict[str, Any]) -> None:
    scene = SourcedScene()
    rests_on(scene, roles=["booker"])
    scene.team.revoke("p", by="bob")
    scene.fact("other", **{"text": "The hotel is booked", "roles": ["booker"], **other})
    assert "x" not in scene.stand()


def test_what_is_held_against_a_repetition_is_held_against_a_hidden_premise() -> None:
    scene = SourcedScene()
    seen = [scene.news()]
    rests_on(scene, roles=["booker"], sources=seen)
    scene.fact("again", text="The hotel is booked", roles=["booker"], sources=seen)
    assert scene.stand() == {"x"}
    scene.team.revoke("again", by="bob")
    assert scene.stand() == set()


def test_the_premise_of_a_hidden_premise_is_found_again_too() -> None:
    scene = SourcedScene()
    scene.fact("root", text="The fair takes place", task="fair")
    scene.fact("p", depends_on=["root"], roles=["booker"])
    scene.fact("x", depends_on=["p"])
    scene.team.revoke("root", by="bob")
    assert scene.stand() == set()
    scene.fact("again", text="The fair takes place", task="fair")
    assert scene.stand() == {"x"}


@pytest.mark.parametrize("first", [[], ["booker"]], ids=["in sight", "out of sight"])
def test_a_frontier_that_moved_out_of_sight_carries_nothing(first: list[str]) -> None:
    scene = SourcedScene()
    scene.duty(required=(), roles=["booker"])
    scene.frontier("f1", roles=first)
    scene.fact("x", depends_on=["f1"])
    assert "x" in scene.stand()
    scene.frontier("f2", roles=["booker"])
    assert scene.stand() == set()
    assert scene.cause("x", Reason.PREMISE_CHANGED).ref == "f1"


@pytest.mark.parametrize("seen", [[], ["booker"]], ids=["in sight", "out of sight"])
def test_the_frontier_of_a_settled_duty_is_over_for_everybody(seen: list[str]) -> None:
    scene = SourcedScene()
    scene.duty(required=(), roles=["booker"])
    scene.frontier("f1", roles=seen)
    scene.fact("x", depends_on=["f1"])
    assert "x" in scene.stand()
    scene.team.settle("o", by="bob", at=START + DAY)
    assert "x" in scene.stand(), "the duty is settled from tomorrow"
    scene.wait(DAY)
    assert scene.stand() == scene.stand(role="booker") == set()
    assert scene.cause("x", Reason.PREMISE_CHANGED).ref == "f1"
    if not seen:
        assert scene.away().dispositions
        assert scene.cause("f1", Reason.SETTLED).ref == "o"


def test_what_was_named_outright_for_another_is_not_outdated_by_what_it_replaced() -> None:
    scene = SourcedScene()
    early = [scene.team.observe("Seen long ago.", by="bob", at=START - DAY)]
    scene.fact("h0", slot="hotel")
    scene.fact("@bob/h1", slot="hotel", principals=["cy"], sources=early)
    scene.fact("x", depends_on=["@bob/h1"])
    assert scene.stand() == {"h0"}
    scene.team.supersede("h0", "@bob/h1", by="bob")
    assert scene.stand() == {"h0", "x"}, "h1 stands for cy, and so does what rests on it; h0 stands for everybody else"
    assert scene.reasons("@bob/h1") == (Reason.PRINCIPAL_OUT_OF_SCOPE,)
    cy = scene.team.agent("cy", role="planner", task="trip")
    cy.depart()
    theirs = cy.come_back().dispositions
    assert {one.item for one in theirs if one.state in STANDING} == {"@bob/h1", "x"}


def test_only_what_is_out_of_sight_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = SourcedScene()
    scene.duty(required=())
    scene.frontier("f1")
    rests_on(scene, roles=["booker"])
    for number in range(3):
        scene.fact(f"v{number}", text="All is well")
        scene.fact(f"h{number}", text="Nothing is well", roles=["booker"])
    asked: list[str] = []
    kin = scene.team._desk.log.kin

    def watched(items: Sequence[Item], **rest: Any) -> list[Event]:
        asked.extend(item.id for item in items)
        return kin(items, **rest)

    monkeypatch.setattr(scene.team._desk.log, "kin", watched)
    scene.depart()
    scene.ann().come_back()
    assert asked == ["p"]

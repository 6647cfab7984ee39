"""What a reader cannot see counts all the same: a decision does not depend on how little of it reached the reader."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from readmit import Reason
from tests.scene import START, Scene

DAY = timedelta(days=1)
STANDING = {"admitted", "not_needed", "withheld"}


class Told(Scene):
    """A scene in which every item rests on an observation of its own."""

    def fact(self, id: str, **fields: Any) -> str:
        fields.setdefault("sources", [self.news(f"seen for {id}")])
        return super().fact(id, **fields)

    def frontier(self, id: str = "f", obligation: str = "o", **fields: Any) -> str:
        fields.setdefault("sources", [self.news(f"seen for {id}")])
        return super().frontier(id, obligation, **fields)

    def stand(self, **asked: Any) -> set[str]:
        return {one.item for one in self.away(**asked).dispositions if one.state in STANDING}


# Frontiers that are seen only with their obligation.


def test_a_frontier_of_another_role_that_was_withdrawn_before_it_began_moves_nothing() -> None:
    scene = Told()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", roles=["booker"], valid_from=START + DAY)
    scene.team.revoke("f2", by="bob")
    scene.wait(2 * DAY)
    assert scene.stand() == {"o", "f1"}
    assert scene.reasons("f2") == (Reason.ROLE_OUT_OF_SCOPE, Reason.REVOKED)
    assert scene.stand(role="booker") == {"o", "f1"}


def test_a_replacement_by_a_frontier_of_another_task_is_undone_for_every_task() -> None:
    scene = Told()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", task="fair")
    scene.team.supersede("f1", "f2", by="bob")
    assert "f1" not in scene.stand()
    scene.team.supersede("f2", "f1", by="bob")
    assert scene.stand() == {"o", "f1"}


@pytest.mark.parametrize("kept", ["f1", "f2"])
def test_a_dispute_among_frontiers_of_other_roles_ends_for_everybody(kept: str) -> None:
    scene = Told()
    scene.duty(required=())
    scene.frontier("f1")
    scene.frontier("f2", roles=["booker"])
    scene.team.dispute(["f2"], by="bob", id="quarrel")
    scene.away()
    assert scene.reasons("f1") == (Reason.SLOT_CONTESTED,)
    scene.team.resolve("quarrel", keep=[kept] if kept == "f2" else [], by="bob")
    assert scene.stand() == ({"o"} if kept == "f2" else {"o", "f1"})

"""A reset ends the absence: no view, an empty bank to start from, and what was before out of reach for good."""

from __future__ import annotations

from typing import Any

import pytest

from readmit import Reason, Return
from readmit.errors import SealError, UnknownError
from readmit.events import EventKind
from tests.attacks.test_views import Down
from tests.scene import Scene, audited


def ids(agent: Any) -> list[str]:
    return [one.id for one in agent.recall()]


def reset() -> tuple[Scene, Return]:
    """Ann remembers something, leaves, and what she owes cannot be covered when she returns."""
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.covered()
    scene.ann().remember("from before", bound_to="h", id="old")
    scene.depart()
    scene.team.revoke("h", by="bob")
    outcome = scene.come_back()
    assert (outcome.kind, outcome.view) == ("reset", None)
    return scene, outcome


def test_after_a_reset_the_agent_works_on_an_empty_bank() -> None:
    scene, _ = reset()
    ann = scene.ann()
    assert ids(ann) == []
    ann.remember("a fresh start", bound_to="o", id="new")
    assert ids(ann) == ["new"]
    with pytest.raises(UnknownError, match="has not departed"):
        ann.come_back()


def test_a_reset_is_audited_and_the_old_bank_is_kept() -> None:
    scene, outcome = reset()
    kinds = [(row.kind, row.return_id) for row in scene.team._desk.log.audit.rows()]
    assert ("decision", outcome.id) in kinds
    assert scene.team.returned(outcome.id).replay().matches
    assert audited(scene.team).intact
    kept = [event.payload for event in scene.team._desk.log.tail() if event.kind is EventKind.REMEMBER]
    assert [one.id for one in kept] == ["old"]  # type: ignore[attr-defined]


def test_nothing_from_before_a_reset_ever_comes_back() -> None:
    """Neither by a later return whose view holds its source again, nor from an earlier departure that is named."""
    scene, _ = reset()
    ann = scene.ann()
    ann.remember("a fresh start", bound_to="o", id="new")
    scene.fact("h2", supports=["d"])
    scene.team.admin.overrule("h", by="boss", reason="a mistake", expires=scene.now.replace(year=2030))
    earlier = next(event.name for event in scene.team._desk.log.tail() if event.kind is EventKind.DEPART)
    for checkpoint in (None, earlier):
        if checkpoint is None:
            ann.depart()
        outcome = scene.come_back(checkpoint=checkpoint)
        assert outcome.admitted
        assert "old" not in {note.experience for note in outcome.decision.experiences}
        bundle = outcome.expose()
        assert [one.id for one in bundle.experiences] == ["new"]
        assert ids(ann) == ["new"]
        outcome.acknowledge()
    assert ids(scene.ann("guest")) == ["new"], "another role is the same agent"


def test_a_view_from_before_a_reset_opens_no_more() -> None:
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.covered()
    scene.ann().remember("from before", bound_to="h", id="old")
    first = scene.away()
    scene.team.revoke("h", by="bob")
    assert scene.come_back().kind == "reset"
    with pytest.raises(Exception, match="view_replaced"):
        first.expose()
    assert ids(scene.ann()) == []


def test_another_task_keeps_what_it_remembered_meanwhile_and_gets_nothing_of_the_rest() -> None:
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.duty(task="trip")
    scene.fact("h", supports=["d"], task="trip")
    scene.fact("k")
    elsewhere = scene.ann(task="elsewhere")
    scene.ann().remember("from before", bound_to="k", id="old")
    scene.depart()
    elsewhere.remember("learnt elsewhere", bound_to="k", id="theirs")
    scene.team.revoke("h", by="bob")
    assert scene.come_back().kind == "reset"
    assert ids(scene.ann()) == []
    assert ids(elsewhere) == ["theirs"]
    elsewhere.depart()
    outcome = elsewhere.come_back()
    assert [note.experience for note in outcome.decision.experiences] == ["theirs"]


def test_a_later_absence_that_ends_in_a_view_does_not_undo_a_reset() -> None:
    scene, _ = reset()
    ann = scene.ann()
    ann.depart()
    assert scene.come_back().kind == "reset", "nothing covers the duty yet"
    ann.remember("second start", bound_to="o", id="new")
    scene.fact("h2", supports=["d"])
    assert scene.away().expose().experiences[0].id == "new"
    assert ids(ann) == ["new"]


def test_the_bank_of_somebody_else_is_not_touched() -> None:
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.covered()
    bob = scene.team.agent("bob", role="planner", task="trip")
    bob.remember("mine", bound_to="h", id="x")
    scene.depart()
    scene.team.revoke("h", by="bob")
    assert scene.come_back().kind == "reset"
    assert ids(bob) == ["x"]


def test_a_fault_blocks_under_every_policy_and_the_agent_stays_away() -> None:
    def sealed(scene: Scene) -> None:
        scene.team._desk.keys.signer = lambda: Down(SealError("down"))  # type: ignore[method-assign]

    def altered(scene: Scene) -> None:
        scene.sql("DELETE FROM audience WHERE epoch = (SELECT epoch FROM name WHERE id = 'item:h')")

    def unprepared(*_: object) -> None:
        raise OSError("no route")

    for on_incomplete in ("block", "reset", "partial"):
        for harm, asked, reason in (
            (sealed, {}, Reason.SIGNER_FAILED),
            (altered, {}, Reason.LOG_ALTERED),
            (lambda _: None, {"prepare": unprepared}, Reason.INTERNAL_ERROR),
        ):
            scene = Scene(returns={"on_incomplete": on_incomplete})
            scene.covered()
            scene.ann().remember("from before", bound_to="h", id="old")
            scene.depart()
            harm(scene)
            outcome = scene.ann().come_back(**asked)
            assert (outcome.kind, outcome.reasons) == ("blocked", (reason,))
            with pytest.raises(Exception, match="quarantined"):
                scene.ann().recall()

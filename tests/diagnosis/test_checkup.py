"""What ``doctor`` finds without a return."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from readmit.diagnosis import checkup
from readmit.types import Trouble
from tests.scene import Scene

if TYPE_CHECKING:
    import pytest


def found(scene: Scene) -> list[Trouble]:
    done = scene.team.doctor()
    return [one.trouble for part in (done.workspace, *done.agents) for one in part.symptoms]


def test_nothing_is_wrong_with_a_covered_agent() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    done = scene.team.doctor()
    assert done.healthy
    assert found(scene) == []
    assert done.agents[0].says == (
        "ann (planner, trip), away: if it returned now, it would be admitted: nothing is missing."
    )


def test_what_is_only_worth_knowing_is_no_problem() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.news()
    assert found(scene) == [Trouble.UNRECORDED, Trouble.UNEXAMINED]
    assert scene.team.doctor().healthy


def test_every_agent_that_departed_is_rehearsed() -> None:
    scene = Scene()
    scene.duty(roles=["planner"])
    scene.fact("h", supports=["e"])
    scene.duty("o2", ("e",), roles=["driver"])
    scene.depart()
    scene.team.agent("carl", role="driver", task="trip").depart()
    ann, carl = scene.team.doctor().agents
    assert ("blocked" in ann.says, "admitted" in carl.says) == (True, True)
    assert not scene.team.doctor().healthy


def test_an_agent_can_be_named_before_it_departs() -> None:
    scene = Scene()
    scene.covered()
    done = scene.team.doctor(scene.ann())
    [agent] = done.agents
    assert [one.trouble for one in agent.symptoms] == [Trouble.NOT_DEPARTED]
    assert agent.symptoms[0].remedies[0].command == "readmit depart --principal ann --role planner --task trip"
    assert "at work" in agent.says


def test_an_agent_at_work_would_leave_now() -> None:
    scene = Scene()
    scene.covered()
    scene.away().expose()
    assert found(scene) == []


def test_a_workspace_that_nobody_left_says_so() -> None:
    assert found(Scene()) == [Trouble.NOT_DEPARTED]


def test_a_long_absence_is_named() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.wait(timedelta(days=9))
    done = scene.team.doctor()
    assert [one.says for one in done.agents[0].symptoms] == ["ann has been away from trip for 9 days."]


def test_a_policy_that_admits_no_evidence_is_named() -> None:
    scene = Scene(paper={"kinds": ("obligation", "frontier")}, budgets={"items": 1})
    done = scene.team.doctor()
    assert [one.trouble for one in done.workspace.symptoms][:2] == [Trouble.POLICY, Trouble.POLICY]
    assert '"kinds": ("obligation", "frontier", "fact",)' in done.workspace.symptoms[0].remedies[0].call


def test_agents_beyond_the_limit_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "AGENTS", 1)
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.team.agent("carl", role="driver", task="trip").depart()
    done = scene.team.doctor()
    assert len(done.agents) == 1
    assert done.workspace.not_looked_at == ("agents beyond the first 1; name one",)


def test_a_dependency_that_no_duty_requires_is_worth_knowing() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("k", supports=["lodging"])
    scene.depart()
    [loose] = scene.team.doctor().agents[0].symptoms
    assert (loose.trouble, loose.about) == (Trouble.UNREQUIRED, ("k", "lodging"))
    assert loose.remedies[0].command == 'readmit oblige "…" --requires lodging --by "…"'
    assert scene.team.doctor().healthy


def test_a_memory_without_duties_is_healthy() -> None:
    scene = Scene(returns={"fill": "nothing_owed"})
    scene.fact("h", slot="hotel")
    scene.duty("theirs", roles=["guide"])
    scene.fact("bill", purposes=["billing"])
    scene.depart()
    assert found(scene) == [Trouble.NOTHING_OWED, Trouble.OUT_OF_SIGHT]
    assert scene.team.doctor().healthy


def test_what_waits_for_somebody_is_a_problem() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("k")
    scene.depart()
    scene.team.dispute(["k"], by="bob")
    assert found(scene) == [Trouble.DISPUTED]
    assert not scene.team.doctor().healthy

"""A view says how many observations of the absence nobody looked at; ``why`` and ``doctor`` name them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readmit.diagnosis import unused_observations
from readmit.errors import ModelError
from readmit.models import embedders
from readmit.types import Symptom, Trouble
from tests.scene import Scene


def team(**policy: Any) -> Scene:
    """CI is CircleCI, and a duty needs to know."""
    scene = Scene(**policy)
    scene.duty(required=("ci",))
    scene.fact("ci0", slot="ci", text="CI is CircleCI")
    scene.depart()
    return scene


def named(found: object) -> list[Symptom]:
    return [one for one in getattr(found, "symptoms") if one.trouble is Trouble.UNRECORDED]  # noqa: B009


def test_the_view_says_how_many_observations_nothing_rests_on_and_nobody_examined() -> None:
    scene = team()
    scene.news("Lunch is at noon.")
    scene.news("We moved CI to GitHub Actions.")
    returned = scene.come_back()
    assert returned.view is not None
    assert (returned.items, returned.view.unheeded, returned.decision.unheeded) == (("o", "ci0"), 2, 2)
    bundle = returned.expose()
    assert "- Not looked at: 2 observations of the absence" in bundle.markdown()
    assert json.loads(bundle.json())["examination"]["unheeded"] == 2


def test_what_an_item_rests_on_and_what_was_there_before_does_not_count() -> None:
    scene = team()
    change = scene.news("We moved CI to GitHub Actions.")
    scene.fact("ci1", slot="ci", text="CI is GitHub Actions", sources=[change])
    returned = scene.come_back()
    assert (returned.items, returned.decision.unheeded) == (("o", "ci1"), 0)
    assert "Not looked at" not in returned.expose().markdown()


def test_what_somebody_compared_with_an_item_does_not_count() -> None:
    scene = team()
    news = scene.news("The hotel has a new roof.")
    scene.verdict("ci0", news, "compatible", item_quote="", evidence_quote="")
    assert scene.come_back().decision.unheeded == 0


def test_a_writer_who_is_not_allowed_cannot_raise_the_count() -> None:
    scene = team(evidence={"writers": ("bob",)})
    scene.team.observe("We moved CI to GitHub Actions.", by="eve")
    assert scene.come_back().decision.unheeded == 0


def test_an_observation_that_the_agent_may_not_see_does_not_count() -> None:
    scene = team()
    scene.team.observe("We moved CI to GitHub Actions.", by="bob", principals=["carl"])
    returned = scene.come_back()
    assert returned.decision.unheeded == 0
    assert named(returned.why()) == []


def test_a_blocked_return_says_it_too() -> None:
    scene = team()
    scene.team.revoke("ci0", by="bob")
    scene.news("We moved CI to GitHub Actions.")
    returned = scene.come_back()
    assert (returned.kind, returned.decision.unheeded) == ("blocked", 1)


@pytest.mark.parametrize("installed", [True, False])
def test_why_and_doctor_name_them_nearest_statements_first(monkeypatch: pytest.MonkeyPatch, *, installed: bool) -> None:
    if not installed:

        def without(*_: object) -> None:
            raise ModelError("onnxruntime is not installed")

        monkeypatch.setattr(embedders.MiniLM, "_parts", without)
    unused_observations._vectors.cache_clear()
    scene = team()
    scene.news("We moved CI to GitHub Actions.")
    for number in range(5):
        scene.news(f"Lunch number {number} is at noon.")
    first, *others = named(scene.come_back().why())
    assert "“We moved CI to GitHub Actions.”, and nobody examined it." in first.says
    assert first.grounds[0] == "The nearest statement that stands is ci0 “CI is CircleCI”."
    assert "--slot ci --source" in first.remedies[0].command
    assert [one.grounds[-1] for one in others][-1] == "3 more observations have none either."
    (agent,) = scene.team.doctor().agents
    assert named(agent)[0] == first
    assert any(one.trouble is Trouble.UNEXAMINED for one in agent.symptoms)


def test_the_command_that_records_it_makes_the_next_return_right() -> None:
    scene = team()
    news = scene.news("We moved CI to GitHub Actions.")
    (symptom,) = named(scene.come_back().why())
    assert news in symptom.remedies[0].call
    scene.team.record("CI is GitHub Actions", id="ci1", by="bob", slot="ci", sources=[news])
    returned = scene.come_back()
    assert (returned.items, returned.decision.unheeded, named(returned.why())) == (("o", "ci1"), 0, [])

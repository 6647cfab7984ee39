"""The handle itself: verbs that take one of two things, and what another process of a workload can do."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Reason, Verdict, Workspace
from readmit.errors import ExposureError, RecordError
from readmit.sources import File
from tests.scene import Scene

if TYPE_CHECKING:
    from pathlib import Path


def test_an_observation_is_a_text_or_a_place(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("Two nights.\n", encoding="utf-8")
    with Workspace.open(tmp_path / "team.db") as team:
        given = team.observe("Two nights.", by="bob")
        read = team.observe(probe=File("plan.md"), by="bob")
        assert given != read
        assert team.admin.log.evidence(read).payload.source == "document"  # type: ignore[attr-defined]  # of the kind


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "both": ({"text": "x", "probe": File("plan.md")}, "^text: the probe reads it"),
    "neither": ({}, "^text: give the observation, or a probe"),
    "no place": ({"probe": "plan.md"}, r"^probe: 'plan.md' is not a place; give File"),
}


@pytest.mark.parametrize(("given", "says"), WRONG.values(), ids=WRONG)
def test_another_observation_is_refused(given: dict[str, Any], says: str) -> None:
    with Workspace.open() as team, pytest.raises(RecordError, match=says):
        team.observe(by="bob", **given)


def test_what_is_judged_is_a_verdict_or_a_suspicion() -> None:
    scene = Scene()
    scene.fact("a")
    with pytest.raises(RecordError, match=r"^found: 'a' is neither a Verdict nor a Pair"):
        scene.team.judge("a", by="bob")  # type: ignore[arg-type]  # wrong on purpose
    seen = scene.team.observe("The hotel closed.", by="bob")
    pair = Pair(item="a", evidence=seen)
    scene.team.judge(pair, by="bob", signal="eyes")
    scene.team.judge(Verdict(pair=pair, answer=Answer.COMPATIBLE, confidence=Decimal(1)), by="bob")
    kinds = [str(event.kind) for event in scene.team.admin.log.about(["a"], until=scene.team.epoch)]
    assert kinds[-2:] == ["suspect", "judge"]


def test_another_process_of_the_workload_gets_the_view_with_the_secret() -> None:
    scene = Scene()
    scene.fact("a", supports=["d"])
    scene.duty("o", required=("d",))
    ann = scene.ann()
    ann.depart()
    returned = ann.come_back()
    assert returned.admitted
    again = scene.team.agent("ann", role=ann.identity.role, task=ann.identity.task)
    with pytest.raises(ExposureError) as refused:
        again.delivery(returned.id, secret="guess").expose()
    assert refused.value.reasons == (Reason.BINDING_MISMATCH,)
    assert again.delivery(returned.id, secret=returned.secret).expose() == returned.expose()
    past = scene.team.returned(returned.id)
    assert (past.id, past.decision, past.dispositions) == (returned.id, returned.decision, returned.dispositions)
    assert past.replay().matches
    with pytest.raises(ExposureError):
        past.expose()

"""Looking back: explain and replay any past return."""

from __future__ import annotations

import pytest

from readmit import Reason, State
from readmit.diagnosis import history
from readmit.errors import TamperedError, UnknownError
from tests.scene import HOUR, Scene


def past() -> Scene:
    scene = Scene()
    scene.covered()
    scene.fact("p")
    scene.fact("c", depends_on=["p"])
    scene.fact("@bob/theirs", principals=["cy"])
    scene.depart()
    scene.team.revoke("p", by="bob", reason="they called")
    scene.come_back(id="r")
    return scene


def test_every_candidate_is_explained_in_words() -> None:
    scene = past()
    team = scene.team
    assert "Supplies a dependency" in str(team.explain("r", "h"))
    revoked = str(team.explain("r", "p"))
    assert "withdrew it" in revoked
    assert "written by bob" in revoked
    assert "because they called" in revoked
    premise = team.explain("r", "c")
    assert premise.disposition.state is State.PREMISE_CHANGED
    assert "Chain: c ← p." in str(premise)


def test_what_the_agent_could_not_see_is_explained_as_that() -> None:
    found = past().team.explain("r", "@bob/theirs")
    assert not found.candidate
    assert found.disposition.reasons == (Reason.PRINCIPAL_OUT_OF_SCOPE,)


def test_what_came_later_or_never_was_has_no_explanation() -> None:
    scene = past()
    scene.fact("later")
    for item in ("later", "never"):
        with pytest.raises(UnknownError):
            scene.team.explain("r", item)
    with pytest.raises(UnknownError):
        scene.team.explain("never", "h")


def test_an_explanation_does_not_change_with_what_happens_later() -> None:
    scene = past()
    before = str(scene.team.explain("r", "h"))
    scene.team.revoke("h", by="bob")
    scene.wait(HOUR)
    assert str(scene.team.explain("r", "h")) == before
    assert scene.team.replay("r").matches


def test_a_replay_names_what_differs() -> None:
    scene = past()
    scene.sql("UPDATE audit SET body = CAST(replace(body, 'they called', 'who knows') AS BLOB)")
    assert scene.team.replay("r").differences == ("disposition of p",)
    assert not scene.team.replay("r").matches


def test_a_replay_notices_an_altered_past() -> None:
    scene = past()
    scene.sql("DELETE FROM audience WHERE epoch = (SELECT epoch FROM name WHERE id = 'item:c')")
    with pytest.raises(TamperedError, match="what 'ann' can see"):
        scene.team.replay("r")


def test_a_replay_of_a_decision_made_under_other_rules_says_so_and_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = past()
    monkeypatch.setattr(history, "RULES", 2)
    found = scene.team.replay("r")
    assert found.refused == "it was decided under version 1 of the rules, and this release has version 2"
    assert not found.matches
    assert not found.differences
    assert "Supplies a dependency" in str(scene.team.explain("r", "h")), "the record of it can still be read"


def test_dispositions_and_decision_are_kept_as_they_were() -> None:
    scene = past()
    assert scene.outcome is not None
    assert scene.team.dispositions("r") == scene.outcome.dispositions
    assert scene.team.decision("r") == scene.outcome.decision

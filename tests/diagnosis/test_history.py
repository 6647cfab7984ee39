"""Looking back: explain and replay any past return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from readmit import Reason, State
from readmit.diagnosis import history
from readmit.errors import TamperedError, UnknownError
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.records.decisions import Outcome


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
    assert "Supplies a dependency" in str(team.returned("r").explain("h"))
    revoked = str(team.returned("r").explain("p"))
    assert revoked.startswith("`p` fell because bob withdrew it at epoch")
    assert revoked.endswith(": they called.")
    premise = team.returned("r").explain("c")
    assert premise.disposition.state is State.PREMISE_CHANGED
    assert "`c` fell because it depends on `p`, which bob withdrew at epoch" in str(premise)


def test_what_the_agent_could_not_see_is_explained_as_that() -> None:
    found = past().team.returned("r").explain("@bob/theirs")
    assert not found.candidate
    assert found.disposition.reasons == (Reason.PRINCIPAL_OUT_OF_SCOPE,)


def test_what_came_later_or_never_was_has_no_explanation() -> None:
    scene = past()
    scene.fact("later")
    for item in ("later", "never"):
        with pytest.raises(UnknownError):
            scene.team.returned("r").explain(item)
    with pytest.raises(UnknownError):
        scene.team.returned("never").explain("h")


def test_an_explanation_does_not_change_with_what_happens_later() -> None:
    scene = past()
    before = str(scene.team.returned("r").explain("h"))
    scene.team.revoke("h", by="bob")
    scene.wait(HOUR)
    assert str(scene.team.returned("r").explain("h")) == before
    assert scene.team.returned("r").replay().matches


def test_a_replay_names_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = past()
    decide = history.decide  # type: ignore[attr-defined]

    def otherwise(*asked: Any, **how: Any) -> Outcome:
        found = decide(*asked, **how)
        judged = tuple(replace(one, causes=()) if one.item == "p" else one for one in found.dispositions)
        return replace(found, dispositions=judged, pieces=found.pieces._replace(root="0" * 64))

    monkeypatch.setattr(history, "decide", otherwise)
    assert scene.team.returned("r").replay().differences == ("disposition of p",)
    assert not scene.team.returned("r").replay().matches


@pytest.mark.parametrize(
    "tampering",
    ["UPDATE piece SET body = CAST('[]' AS BLOB)", "DELETE FROM piece"],
)
def test_candidates_that_were_altered_or_removed_are_not_told(tampering: str) -> None:
    scene = past()
    scene.sql(tampering)
    with pytest.raises(TamperedError, match="of the audit was altered or removed"):
        scene.team.returned("r")
    with pytest.raises(TamperedError, match="of the audit was altered or removed"):
        history.replay(scene.team._desk.log, "r")


def test_a_replay_notices_an_altered_past() -> None:
    scene = past()
    scene.sql("DELETE FROM audience WHERE epoch = (SELECT epoch FROM name WHERE id = 'item:c')")
    with pytest.raises(TamperedError, match="what 'ann' can see"):
        scene.team.returned("r").replay()


def test_a_replay_of_a_decision_made_under_other_rules_says_so_and_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = past()
    monkeypatch.setattr(history, "RULES", 2)
    found = scene.team.returned("r").replay()
    assert found.refused == "it was decided under version 1 of the rules, and this release has version 2"
    assert not found.matches
    assert not found.differences
    assert "Supplies a dependency" in str(scene.team.returned("r").explain("h")), "the record of it can still be read"


def test_dispositions_and_decision_are_kept_as_they_were() -> None:
    scene = past()
    assert scene.outcome is not None
    assert scene.team.returned("r").dispositions == scene.outcome.dispositions
    assert scene.team.returned("r").decision == scene.outcome.decision

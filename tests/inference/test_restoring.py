"""What a verdict took out can come back: by an overseer, or because somebody states it again from later evidence."""

from __future__ import annotations

from datetime import timedelta

from tests.inference.world import BEDTIME, SHIFT, Ruled, away, foresee, hear, home, judgment, states

QUIT = "I left the bookstore. I am asleep by 10:30 p.m. again."


def test_an_overseer_revokes_a_verdict() -> None:
    workspace = home(evidence={"overseers": ("lead",)})
    agent = away(workspace)
    hear(workspace, SHIFT)
    inference = foresee(workspace, Ruled())
    assert states(inference.come_back(agent))["bedtime"] == "premise_changed"
    workspace.admin.overrule("bedtime", by="lead", reason="Shift was cancelled.", expires=timedelta(days=30))
    restored = inference.come_back(agent)
    assert restored.admitted
    assert restored.explain("bedtime").disposition.overruled
    # It reaches back only: a new observation is looked at, and counts.
    hear(workspace, "They put me back on the bookstore's evening shift.")
    assert states(inference.come_back(agent))["bedtime"] == "premise_changed"


def test_a_statement_made_again_from_later_evidence_stands() -> None:
    workspace = home()
    agent = away(workspace)
    hear(workspace, SHIFT)
    inference = foresee(workspace, Ruled(rules={"verify": lambda ask: judgment(ask, changes="evening shift")}))
    assert inference.come_back(agent).kind == "blocked"
    (again,) = hear(workspace, QUIT)
    workspace.record(BEDTIME, id="bedtime-2", sources=[again], by="A5", supports=["d_bed"], task="advice")
    returned = inference.come_back(agent)
    assert returned.admitted
    assert states(returned)["bedtime-2"] == "admitted"
    assert states(returned)["bedtime"] == "premise_changed"


def test_a_statement_drawn_late_is_as_old_as_its_evidence() -> None:
    """What is recorded from an old conversation after the change does not slip past the change."""
    workspace = home()
    agent = away(workspace)
    hear(workspace, SHIFT)
    said = workspace._desk.log.item("bedtime").receipts[0].evidence
    workspace.record(f"Again: {BEDTIME}", id="late", sources=[said], by="A1", supports=["d_bed"], task="advice")
    assert states(foresee(workspace, Ruled()).come_back(agent))["late"] == "premise_changed"


def test_no_model_takes_a_confirmed_change_back() -> None:
    workspace = home()
    agent = away(workspace)
    hear(workspace, SHIFT)
    assert foresee(workspace, Ruled()).come_back(agent).kind == "blocked"
    mild = Ruled(name="mild", rules={"verify": lambda ask: judgment(ask, changes="nothing at all")})
    assert states(foresee(workspace, mild).come_back(agent))["bedtime"] == "premise_changed"

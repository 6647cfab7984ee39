"""What a score settles for a preparation: the same as for the return that reads it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.inference.world import SHIFT, Ruled, away, foresee, hear, home, pairs_of, scored, states


def scoring(stale: float, name: str = "ruled", **quotes: str) -> Ruled:
    return Ruled(name=name, rules={"verify": lambda ask: scored(ask, lambda *_: stale, **quotes)})


@pytest.mark.parametrize(
    ("stale", "state", "unsure"),
    [(0.29, "admitted", 0), (0.3, "suspected", 1), (0.49, "suspected", 1), (0.5, "premise_changed", 0)],
)
def test_a_critical_item_at_the_thresholds(stale: float, state: str, unsure: int) -> None:
    """The other item of the story is not critical, and doubt leaves it standing."""
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT)
        inference = foresee(workspace, scoring(stale))
        prepared = inference.prepare(agent)
        assert (prepared.judged, prepared.unsure) == (2, unsure)
        assert ("bedtime" in prepared.invalidated) == (state == "premise_changed")
        found = states(inference.come_back(agent))
        assert found["bedtime"] == state
        assert (found["screens"] == "premise_changed") == (stale >= 0.5)


def test_a_doubt_is_not_asked_about_again_by_the_same_verifier_and_is_by_another_where_it_is_open() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT)
        first, other = scoring(0.4), scoring(0.1, name="other")
        foresee(workspace, first).prepare(agent)
        foresee(workspace, first).prepare(agent)
        assert first.asked["verify"] == 2
        cleared = foresee(workspace, other).come_back(agent)
        # Only the critical item is in doubt; for the other one the score settled the pair.
        assert other.asked["verify"] == 1
        assert states(cleared)["bedtime"] == "admitted"


def test_the_policy_of_the_workspace_decides() -> None:
    with home(evidence={"invalid_at": Decimal("0.65"), "suspect_at": Decimal("0.65")}) as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT)
        # No quotes are needed below suspect_at.
        returned = foresee(workspace, scoring(0.64, evidence_quote="")).come_back(agent)
        assert states(returned)["bedtime"] == "admitted"


def test_several_statements_share_a_request() -> None:
    with home() as workspace:
        said = workspace.observe("I read in bed and drink tea.", by="A1", task="advice")
        workspace.record("The user reads in bed.", id="reads", sources=[said], by="A1", task="advice")
        workspace.record("The user drinks tea in bed.", id="tea", sources=[said], by="A1", task="advice")
        agent = away(workspace)
        hear(workspace, SHIFT)
        model = scoring(0.1)
        prepared = foresee(workspace, model, pairs_per_call=100, since="departure").prepare(agent)
        asks = [one for one in model.seen if one.stage == "verify"]
        assert prepared.judged == 4
        assert [len(pairs_of(one)) for one in asks] == [4]
        # One verdict each, found again whatever the company.
        alone = scoring(0.1)
        foresee(workspace, alone, since="departure").prepare(agent)
        assert alone.asked["verify"] == 0

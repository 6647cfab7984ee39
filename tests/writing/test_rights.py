"""Who may do what, and what nobody may do for their own return."""

from __future__ import annotations

from typing import Any

import pytest

from readmit import Policy, Reason, Workspace
from readmit.errors import ConflictError, NotAllowedError, QuarantineError, RecordError


@pytest.fixture
def team() -> Workspace:
    team = Workspace.open(policy=Policy(evidence={"overseers": ("lead",)}))
    seen = team.observe("It was seen.", by="A2")
    team.oblige("Do it", id="o", required=["d"], sources=[seen], by="A2")
    team.record("It is so", id="m", supports=["d"], sources=[seen], by="A2")
    return team


def test_only_the_owner_and_overseers_govern(team: Workspace) -> None:
    stricter = Policy(evidence={"overseers": ("lead",)}, budgets={"items": 4})
    with pytest.raises(NotAllowedError, match="overseers"):
        team.admin.govern(stricter, by="A2")
    assert team.admin.policy.budgets.items == 16
    team.admin.govern(stricter, by="lead")
    assert team.admin.policy.budgets.items == 4


def test_only_the_owner_and_overseers_change_keys(team: Workspace) -> None:
    before, epoch = team._desk.keys.signer().keyid, team.epoch
    with pytest.raises(NotAllowedError, match="'A2' may not rotate keys"):
        team.admin.keys.rotate(by="A2")
    with pytest.raises(NotAllowedError, match="'A2' may not revoke keys"):
        team.admin.keys.revoke(before, by="A2", reason="mine now")
    assert (team._desk.keys.signer().keyid, team.epoch) == (before, epoch)
    made = team.admin.keys.rotate(by="lead")
    assert team._desk.keys.signer().keyid == made
    team.as_owner().admin.keys.revoke(before, reason="gone")
    assert before not in team.admin.keys.trusted(team._desk.writer.clock())


def test_nobody_settles_a_dispute_for_their_own_return(team: Workspace) -> None:
    planner = team.agent("A1", role="planner", task="t")
    team.dispute(["m"], by="A3", id="d1")
    team.resolve("d1", keep=["m"], by="A1")
    planner.depart()
    assert Reason.DISPUTED in planner.come_back().explain("m").disposition.reasons
    team.resolve("d1", keep=["m"], by="A2")
    assert planner.come_back().admitted


def test_a_frontier_of_narrower_scope_still_replaces_the_old_one_for_everybody(team: Workspace) -> None:
    seen = team.observe("It moved on.", by="A2")
    team.progress("All open", id="f0", obligation="o", sources=[seen], by="A2")
    planner = team.agent("A1", role="planner", task="t")
    planner.depart()
    team.progress("Half done", id="f1", obligation="o", sources=[seen], by="A2", roles=["auditor"])
    decision = planner.come_back()
    states = {one.item: one.reasons for one in decision.dispositions}
    assert states["f0"] == (Reason.FRONTIER_MOVED,)
    assert states["f1"] == (Reason.OUT_OF_SCOPE,)


def test_the_same_event_by_somebody_else_is_a_conflict(team: Workspace) -> None:
    team.revoke("m", by="A2", id="r1")
    with pytest.raises(ConflictError, match="r1"):
        team.revoke("m", by="A3", id="r1")


@pytest.mark.parametrize("field", ["roles", "principals", "supports", "depends_on", "purposes", "applies_to"])
def test_a_text_where_a_list_belongs_is_refused(team: Workspace, field: str) -> None:
    wrong: dict[str, Any] = {field: "planner"}
    with pytest.raises(RecordError, match=f"{field}: give a list"):
        team.record("Anything", by="A1", **wrong)


def test_nothing_is_handed_over_within_a_batch(team: Workspace) -> None:
    planner = team.agent("A1", role="planner", task="t")
    planner.depart()
    decision = planner.come_back()
    with team.batch(), pytest.raises(QuarantineError, match="after the batch"):
        decision.expose()
    assert decision.expose().items

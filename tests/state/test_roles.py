"""A return in a role, on a task or for a purpose that nobody knows is refused before anything is decided."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Policy, Reason, Workspace
from readmit.errors import ExposureError, NotAllowedError, RecordError, UnknownError
from tests.scene import START, Clock

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def team() -> Iterator[Workspace]:
    """Coders owe something that is missing; fifteen facts are for everybody."""
    rules = Policy(evidence={"overseers": ("boss",)})
    with Workspace.open(":memory:", policy=rules, clock=Clock()) as workspace:
        seen = workspace.observe("Ship it on Friday.", by="bob")
        workspace.oblige("Ship it", id="o", required=["key"], critical=["key"], roles=["coder"], by="bob")
        for number in range(15):
            workspace.record(f"fact {number}", id=f"f{number}", sources=[seen], by="bob")
        yield workspace


def agent(team: Workspace, role: str = "coder", task: str = "app", name: str = "ann") -> Any:
    return team.agent(name, role=role, task=task)


def test_a_role_other_than_the_departures_is_refused_with_the_nearest_name(team: Workspace) -> None:
    agent(team).depart()
    assert agent(team).come_back().missing == ("key",)
    before = team.epoch
    with pytest.raises(NotAllowedError, match=r"departed as 'coder'.*did you mean 'coder'"):
        agent(team, "Coder").come_back()
    with pytest.raises(NotAllowedError, match=r"nobody has reassigned it to 'auditor'\. Come back"):
        agent(team, "auditor").come_back()
    assert team.epoch == before


@pytest.mark.parametrize("by", ["owner", "boss"])
def test_a_reassigned_agent_comes_back_in_its_new_role_and_no_other(team: Workspace, by: str) -> None:
    agent(team).depart()
    as_whom = team.as_owner() if by == "owner" else team
    as_whom.admin.reassign("ann", task="app", was="coder", role="reviewer", by=by, reason="moved")
    with pytest.raises(NotAllowedError, match="was reassigned to 'reviewer'"):
        agent(team).come_back()
    returned = agent(team, "reviewer").come_back()
    assert returned.admitted
    returned.expose()
    returned.acknowledge()
    agent(team, "reviewer").depart()
    assert agent(team, "reviewer").come_back().admitted


@pytest.mark.parametrize("by", ["ann", "bob", "eve"])
def test_only_the_owner_and_overseers_reassign(team: Workspace, by: str) -> None:
    with pytest.raises(NotAllowedError, match="overseers"):
        team.admin.reassign("ann", task="app", was="coder", role="reviewer", by=by)


def test_no_overseer_reassigns_itself(team: Workspace) -> None:
    with pytest.raises(NotAllowedError, match="may not reassign itself"):
        team.admin.reassign("boss", task="app", was="coder", role="reviewer", by="boss")
    with pytest.raises(RecordError, match="role: 'coder' is the role"):
        team.admin.reassign("ann", task="app", was="coder", role="coder", by="boss")


OTHERS = {
    "another principal": {"principal": "cy"},
    "another task": {"task": "site"},
    "another role before": {"was": "tester"},
    "another role now": {"role": "tester"},
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_reassignment_binds_principal_task_and_both_roles(team: Workspace, case: str) -> None:
    agent(team).depart()
    fields = {"principal": "ann", "task": "app", "was": "coder", "role": "reviewer"} | OTHERS[case]
    team.admin.reassign(**fields, by="boss")
    with pytest.raises(NotAllowedError, match="role: "):
        agent(team, "reviewer").come_back()


def test_reassignments_follow_each_other_and_can_be_taken_back(team: Workspace) -> None:
    agent(team).depart()
    team.admin.reassign("ann", task="app", was="coder", role="reviewer", by="boss")
    team.admin.reassign("ann", task="app", was="reviewer", role="tester", by="boss")
    assert agent(team, "tester").come_back().admitted
    team.admin.reassign("ann", task="app", was="tester", role="coder", by="boss")
    assert not agent(team).come_back().admitted


def test_a_reassignment_of_an_agent_at_work_holds_for_its_next_absence_alone(team: Workspace) -> None:
    team.admin.reassign("ann", task="app", was="coder", role="reviewer", by="boss")
    agent(team).depart()
    agent(team, "reviewer").come_back().expose()
    agent(team, "reviewer").depart()
    agent(team, "reviewer").come_back().expose()
    agent(team).depart()
    with pytest.raises(NotAllowedError, match="departed as 'coder'"):
        agent(team, "reviewer").come_back()


def test_to_depart_again_while_away_does_not_change_the_role(team: Workspace) -> None:
    agent(team).depart()
    agent(team, "Coder").depart()
    with pytest.raises(NotAllowedError, match="departed as 'coder'"):
        agent(team, "Coder").come_back()
    assert not agent(team).come_back().admitted


def test_an_agent_for_which_the_sweeper_departed_comes_back_in_the_role_of_its_lease() -> None:
    clock = Clock()
    with Workspace.open(":memory:", policy=Policy(evidence={"overseers": ("boss",)}), clock=clock) as team:
        agent(team).present(lease=60)
        team.admin.reassign("ann", task="app", was="coder", role="reviewer", by="boss")
        clock.now = START + timedelta(hours=1)
        assert team.admin.sweep(trust_clock=True).departed
        with pytest.raises(NotAllowedError, match="reassigned to 'reviewer'"):
            agent(team).come_back()
        assert agent(team, "reviewer").come_back().admitted


def test_a_view_of_a_role_that_was_taken_away_since_is_not_exposed(team: Workspace) -> None:
    agent(team, "helper").depart()
    returned = agent(team, "helper").come_back()
    team.admin.reassign("ann", task="app", was="helper", role="coder", by="boss")
    with pytest.raises(ExposureError) as refused:
        returned.expose()
    assert refused.value.reasons == (Reason.BINDING_MISMATCH,)


# Tasks and purposes.


def test_a_task_that_nothing_names_is_refused_with_the_nearest_of_its_own(team: Workspace) -> None:
    left = agent(team).depart()
    team.record("secret", id="@bob/s", task="apq", principals=["bob"], private=True, by="bob")
    with pytest.raises(UnknownError, match="has not departed from 'App', did you mean 'app'"):
        agent(team, task="App").come_back()
    with pytest.raises(UnknownError, match="task: nothing that 'ann' may see names 'apq'; did you mean 'app'"):
        agent(team, task="apq").come_back(checkpoint=left.id)
    team.record("site fact", id="t", task="site", by="bob")
    assert agent(team, task="site").come_back(checkpoint=left.id).request.identity.task == "site"


def test_a_purpose_that_nothing_names_is_refused_if_others_are_named(team: Workspace) -> None:
    agent(team).depart()
    assert agent(team).come_back(purpose="anything").missing == ("key",)
    team.oblige("Release", id="r", required=["d"], purposes=["release"], by="bob")
    team.oblige("Hide", id="@bob/h", required=["d"], purposes=["releasing"], principals=["bob"], by="bob")
    with pytest.raises(UnknownError, match="names 'Releasing'; did you mean 'release'"):
        agent(team).come_back(purpose="Releasing")
    assert agent(team).come_back(purpose="release").missing == ("d", "key")

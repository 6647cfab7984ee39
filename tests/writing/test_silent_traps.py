"""Calls that would do something else than they say, without a word."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Policy, Workspace
from readmit.errors import ConflictError, RecordError
from readmit.policies import LookRules, PaperRules

if TYPE_CHECKING:
    from pathlib import Path

RULES = Policy(paper={"gamma": Decimal("0.5")}, evidence={"overseers": ("lead",)})


def test_a_policy_given_at_open_is_for_a_new_store(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db", policy=RULES) as team:
        assert team.admin.policy == RULES
        epoch = team.epoch
    with Workspace.open(tmp_path / "team.db", policy=RULES) as team:
        assert (team.admin.policy, team.epoch) == (RULES, epoch), "the same one changes nothing"


@pytest.mark.parametrize("governed", [True, False], ids=["under a policy", "under the default"])
def test_on_an_existing_store_a_policy_must_equal_what_is_in_force(governed: bool, tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db", policy=RULES if governed else None) as team:
        before, epoch = team.admin.policy, team.epoch
    mine = Policy(paper={"gamma": Decimal("0.7")}, looks=LookRules(lifetime=0))
    with pytest.raises(ConflictError) as refused:
        Workspace.open(tmp_path / "team.db", policy=mine)
    assert f"paper.gamma is {before.paper.gamma}, not 0.7" in str(refused.value)
    assert "looks.lifetime is 60, not 0" in str(refused.value)
    assert ("evidence.overseers is ('lead',), not ()" in str(refused.value)) is governed
    assert "govern(policy)" in str(refused.value)
    assert "readmit admin govern" in str(refused.value)
    with Workspace.open(tmp_path / "team.db") as team:
        assert (team.admin.policy, team.epoch) == (before, epoch), "nobody is governed by what was refused"
        # The remedy, carried out.
        team.as_owner().admin.govern(mine)
    with Workspace.open(tmp_path / "team.db", policy=mine) as team:
        assert team.admin.policy == mine


def test_each_workspace_of_a_store_starts_under_its_own_policy(tmp_path: Path) -> None:
    Workspace.open(tmp_path / "team.db", name="a", policy=RULES).close()
    with Workspace.open(tmp_path / "team.db", name="b", policy=Policy(paper={"gamma": Decimal("0.7")})) as other:
        assert other.admin.policy.paper.gamma == Decimal("0.7")


def test_several_that_start_one_store_under_one_policy_all_get_it(tmp_path: Path) -> None:
    def start(_: int) -> Policy:
        with Workspace.open(tmp_path / "team.db", policy=RULES) as team:
            return team.admin.policy

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(start, range(8))) == {RULES}


UNKNOWN: dict[str, tuple[type, dict[str, Any], str]] = {
    "a float": (PaperRules, {"gama": 0.5}, "gama: PaperRules has no such field; did you mean gamma?"),
    "a text": (PaperRules, {"gama": "0.5"}, "gama: PaperRules has no such field; did you mean gamma?"),
    "beside a known one": (
        PaperRules,
        {"gama": 0.5, "rho": "1"},
        "gama: PaperRules has no such field; did you mean gamma?",
    ),
    "a group": (Policy, {"budget": {}}, "budget: Policy has no such field; did you mean budgets?"),
    "without its group": (Policy, {"gamma": "0.5"}, "gamma: a setting of paper; write paper={'gamma': …}"),
    "within another": (
        Policy,
        {"looks": {"lifetme": 3}},
        "Policy.looks.lifetme: Policy.looks has no such field; did you mean lifetime?",
    ),
    "in its own": (LookRules, {"lifetme": 0.5}, "lifetme: LookRules has no such field; did you mean lifetime?"),
    "a known one": (PaperRules, {"gamma": 0.5}, "gamma: 0.5 is not exact; write '0.5'"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_setting_is_called_unknown_with_the_nearest_name(case: str) -> None:
    kind, fields, message = UNKNOWN[case]
    with pytest.raises(RecordError) as refused:
        kind(**fields)
    assert str(refused.value) == message

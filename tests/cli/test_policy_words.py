"""What a policy means in sentences: every setting that is changed changes some sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Policy
from readmit.cli.policy_words import explain_policy
from tests.cli.run import run

if TYPE_CHECKING:
    from pathlib import Path

CHANGED: dict[str, Any] = {
    "evidence.writers": ("bob",),
    "evidence.writers_signed": "required",
    "evidence.overseers": ("lead", "boss"),
    "evidence.drafts": "confirm",
    "evidence.invalid_at": "0.4",
    "evidence.suspect_at": "0.2",
    "evidence.on_concurrent": ("lead",),
    "returns.on_incomplete": "partial",
    "returns.fill": "block",
    "returns.require_frontier": True,
    "returns.examination": "required",
}


def said(policy: Policy) -> str:
    return " ".join(one for part in explain_policy(policy) for one in part.sentences)


SETTINGS = [f"{group}.{name}" for group in ("budgets", "evidence", "returns", "limits")
            for name in getattr(Policy(), group).__struct_fields__]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_in_a_sentence(setting: str) -> None:
    group, name = setting.split(".")
    usual = getattr(getattr(Policy(), group), name)
    value = CHANGED.get(setting, usual + 7 if isinstance(usual, int) else None)
    assert said(Policy().changed(**{group: {name: value}})) != said(Policy())


def test_the_papers_configuration_is_named() -> None:
    assert "gamma is 0.5" in said(Policy(paper={"gamma": "0.5"}))
    assert "kinds is fact," in said(Policy(paper={"kinds": ["fact"]}))


def test_the_command_explains_a_file_and_what_is_in_force(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_bytes(msgspec.json.encode({"returns": {"fill": "never"}}))
    run("init", "--db", tmp_path / "team.db")
    assert "An agent without a duty gets an empty view." in run("policy", "explain", "--file", file).stdout
    assert "Everybody's word counts." in run("policy", "explain", "--db", tmp_path / "team.db").stdout

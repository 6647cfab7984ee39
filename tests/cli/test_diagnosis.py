"""``readmit why`` and ``readmit doctor`` as typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.run import WHO, paste, run, said

if TYPE_CHECKING:
    import pytest


def blocked(team: str) -> str:
    """The evidence for the one duty is withdrawn, and A1 comes back."""
    step = '[{"do": "revoke", "target": "h0", "by": "A2", "reason": "they called"}]'
    run("record", "--file", "-", "--db", team, input=step)
    returned: str = said("return", *WHO, "--db", team, status=3)["return"]
    return returned


def test_why_names_what_is_missing_and_the_command_that_fixes_it(team: str) -> None:
    name = blocked(team)
    text = run("why", name, "--db", team).stdout
    assert f"Return {name} of A1 (planner, trip) was blocked." in text
    assert "1. o requires d_h as critical, and nothing eligible supplies it." in text
    assert "   A2 last supplied it by h0 “Sunrise is booked”, which is revoked." in text
    mend = 'readmit record "…" --by A2 --slot hotel --supports d_h --source "…" --task trip --db team.db'
    assert f"   {mend}\n" in text
    paste(mend.removesuffix(" --db team.db"), team)
    assert "the same return would be admitted now" in run("why", name, "--db", team).stdout
    run("return", *WHO, "--db", team)


def test_why_speaks_of_the_newest_return(team: str) -> None:
    blocked(team)
    name = said("return", *WHO, "--db", team, status=3)["return"]
    assert said("why", "--db", team)["return_id"] == name


def test_the_beginning_of_an_id_is_enough(team: str) -> None:
    name = blocked(team)
    assert said("why", name[:6], "--db", team)["return_id"] == name


def test_why_as_json(team: str) -> None:
    blocked(team)
    found = said("why", "--db", team)
    first = found["symptoms"][0]
    assert (first["trouble"], first["about"]) == ("lacks", ["d_h", "o"])
    assert set(first["remedies"][0]) == {"call", "command"}
    assert found["agent"]["principal"] == "A1"


def test_commands_name_the_store_only_where_it_is_not_the_default(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked(team)
    monkeypatch.setenv("READMIT_DB", team)
    assert "--db team.db" in run("why").stdout
    run("init", "--db", "readmit.db")
    monkeypatch.delenv("READMIT_DB")
    assert "--db" not in run("doctor", status=8).stdout


def test_why_before_anybody_returned_points_to_the_doctor(team: str) -> None:
    done = run("why", "--db", team, status=1)
    assert "has no return yet: an agent departs and comes back first. `readmit doctor`" in done.stderr


def test_doctor_ends_with_0_when_nothing_is_wrong(team: str) -> None:
    done = run("doctor", "--db", team)
    assert "A1 (planner, trip), away: if it returned now, it would be admitted: nothing is missing." in done.stdout
    assert done.stdout.endswith("No problems found.\n")


def test_doctor_ends_with_8_when_something_is_wrong(team: str) -> None:
    blocked(team)
    found = said("doctor", "--db", team, status=8)
    assert found["healthy"] is False
    assert found["agents"][0]["symptoms"][0]["trouble"] == "lacks"


def test_doctor_looks_at_an_agent_that_is_named(team: str) -> None:
    who = ("--principal", "A9", "--role", "planner", "--task", "trip")
    done = run("doctor", *who, "--db", team, status=8)
    assert "A9 has never departed from trip" in done.stdout
    assert "readmit depart --principal A9 --role planner --task trip --db team.db" in done.stdout


def test_doctor_wants_the_whole_agent_or_none(team: str) -> None:
    done = run("doctor", "--principal", "A1", "--db", team, status=2)
    assert "--role, --task: name the agent with all three" in done.stderr


def test_a_return_that_did_not_end_well_says_why_and_what_would_fix_it(team: str) -> None:
    assert "1. " not in run("return", *WHO, "--db", team).stdout
    blocked(team)
    text = run("return", *WHO, "--db", team, "--id", "r9", status=3).stdout
    _, _, symptoms = run("why", "r9", "--db", team).stdout.partition("\n\n")
    assert symptoms
    assert symptoms in text
    assert "1. " not in run("return", *WHO, "--db", team, "--agent-facing", status=3).stdout

"""What a newcomer types, and what would be done with it without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

from readmit import Workspace
from readmit.cli import main
from tests.cli.run import run, said

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _on_team(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_DB", team)


def every_command(group: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*path, name))
    else:
        yield " ".join(path), group


class Meant(NamedTuple):
    """What a variable stands for: the option, where it is the same thing, and why not elsewhere."""

    option: str
    elsewhere: dict[str, str]


SCOPED = ("observe", "record", "oblige", "progress")
SEES = dict.fromkeys(SCOPED, "who may see it, not who acts: what an agent writes is for the team")
LOOKS = "it shows what anybody wrote, and narrows that to what it is told"
PLAYS = "it plays in a store of its own, never in the one at work"
VARIABLES = {
    "READMIT_TASK": Meant("--task", {"items": LOOKS, "page": LOOKS}),
    "READMIT_ROLE": Meant(
        "--role",
        {
            **SEES,
            "page": LOOKS,
            "plan": "who owes, not who asks",
            "admin reassign": "the new role",
            "credentials add": "what a caller may act in, and not who adds it",
        },
    ),
    "READMIT_PRINCIPAL": Meant("--principal", {**SEES, "page": LOOKS}),
    "READMIT_DB": Meant("--db", {"demo": PLAYS, "play": PLAYS}),
    "READMIT_WORKSPACE": Meant("--workspace", {"play": PLAYS}),
    "READMIT_SIGNER": Meant("--signer", {}),
    "READMIT_TRUST": Meant("--key", {}),
    "READMIT_VERIFIER": Meant(
        "--verifier", dict.fromkeys(("bench plan", "bench run", "eval pairs"), "a model") | {"keys export": "a form"}
    ),
}


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_stands_for_its_option_in_every_command_or_the_table_says_why_not(variable: str) -> None:
    meant = VARIABLES[variable]
    found = {
        name: option
        for name, one in every_command()
        for option in one.params
        if isinstance(option, click.Option) and meant.option in option.opts
    }
    read = {name for name, option in found.items() if option.envvar == variable}
    assert read, "the table lists variables that nobody reads"
    assert found.keys() - read == meant.elsewhere.keys()
    assert all(f"[env: {variable}" in (found[name].help or "") for name in read)


def test_no_command_reads_a_variable_that_the_table_does_not_list() -> None:
    read = {str(one.envvar) for _, command in every_command() for one in command.params if one.envvar is not None}
    assert {one for one in read if one.startswith("READMIT_")} == VARIABLES.keys()


@pytest.mark.parametrize(
    "words",
    [
        ("record", "Riverside is booked"),
        ("oblige", "Book a table", "--requires", "table"),
        ("progress", "Half done", "--obligation", "o"),
    ],
    ids=lambda words: words[0],
)
def test_readmit_task_is_the_task_of_what_is_recorded(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_TASK", "trip")
    run(*words, "--id", "x1", "--source", "Somebody said so.", "--by", "A2")
    run(*words, "--id", "x2", "--source", "Somebody said so.", "--by", "A2", "--task", "other")
    with Workspace.open("team.db") as team:
        assert [team._desk.log.item(name).scope.task for name in ("x1", "x2")] == ["trip", "other"]


def test_readmit_task_alone_does_not_name_an_agent_to_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_TASK", "trip")
    assert len(said("doctor")["agents"]) == 1
    assert "--principal, --role" in run("doctor", "--task", "trip", status=2).stderr


@pytest.mark.parametrize("given", ["deadbeef", "DEADBEEF", "e0", "msg_17", "m" * 3 + "0" * 13, "0" * 64])
def test_a_source_that_looks_like_a_digest_or_an_id_and_is_unknown_is_refused(given: str) -> None:
    before = said("status")["epoch"]
    told = run("record", "It is so", "--source", given, "--by", "A2", status=1).stderr
    assert f"--source: '{given}' is neither evidence nor an id of any" in told.replace("\n", " ")
    assert "readmit observe" in told
    assert said("status")["epoch"] == before
    # The remedy, carried out.
    (digest,) = run("observe", given, "--by", "A2").stdout.split()
    assert said("record", "It is so", "--source", digest, "--by", "A2")["evidence"] == [digest]


@pytest.mark.parametrize("text", ["Seen.", "42", "Room 12", "https://example.org/e0", "确认", "yes"])
def test_what_looks_like_neither_is_what_was_observed(text: str) -> None:
    (digest,) = said("record", "It is so", "--source", text, "--by", "A2")["evidence"]
    assert text in run("show", digest).stdout


def test_a_source_may_be_the_id_of_an_observation_and_not_that_of_an_item() -> None:
    (digest,) = run("observe", "Riverside confirms.", "--by", "A2", "--id", "e7").stdout.split()
    assert said("record", "Riverside is booked", "--source", "e7", "--by", "A2")["evidence"] == [digest]
    assert "--depends-on" in run("record", "It is so", "--source", "h0", "--by", "A2", status=1).stderr


@pytest.mark.parametrize("option", [("--slot", "hotel"), ("--task", "trip"), ("--by", "A2"), ("--private",)])
def test_an_option_beside_a_file_of_steps_is_refused(option: tuple[str, ...]) -> None:
    Path("steps.json").write_text("[]")
    told = run("record", "--file", "steps.json", *option, status=2).stderr
    assert f"{option[0]}: the steps in --file say it" in told


def test_the_environment_says_nothing_about_a_file_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_TASK", "trip")
    steps = [{"do": "record", "id": "x", "text": "It is so", "by": "A2"}]
    run("record", "--file", "-", input=json.dumps(steps))
    with Workspace.open("team.db") as team:
        assert team._desk.log.item("x").scope.task is None


def test_init_says_which_settings_it_changed_for_everybody() -> None:
    Path("policy.json").write_text('{"paper": {"gamma": "0.5"}, "looks": {"lifetime": 0}}')
    assert "The policy that governs everybody changed: looks.lifetime is 0, not 60, paper.gamma is 0.5, not 1" in (
        run("admin", "govern", "policy.json").stdout
    )
    assert "governs" not in run("init", "--policy", "policy.json").stdout


@pytest.mark.parametrize("written", ['{"gama": 0.5}', '{"gama": "0.5"}', '{"paper": {"gamma": "1"}, "gama": 0.5}'])
def test_an_unknown_setting_in_a_file_is_called_unknown_with_the_nearest_name(written: str) -> None:
    Path("policy.json").write_text(written)
    told = run("admin", "govern", "policy.json", status=1).stderr
    assert "gama: policy.json has no such field; did you mean paper.gamma?" in told


def test_a_setting_outside_of_its_group_is_told_its_group() -> None:
    Path("policy.json").write_text('{"gamma": "0.5"}')
    told = run("admin", "govern", "policy.json", status=1).stderr
    assert "policy.json.gamma: belongs to paper; write it as paper.gamma" in told

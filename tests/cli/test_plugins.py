"""Commands that other packages add to the command line."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint

import click
import pytest
from click.testing import CliRunner

from readmit.cli import entry_points as plugins
from readmit.cli import main


@click.command("greet")
def greet() -> None:
    """Say hello."""
    click.echo("hello")


Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    def use(**commands: str) -> None:
        entries = [EntryPoint(name, value, plugins.GROUP) for name, value in commands.items()]
        monkeypatch.setattr(plugins, "entry_points", lambda *, group: [one for one in entries if one.group == group])

    return use


def test_a_command_of_another_package_is_listed_and_runs(plug: Plug) -> None:
    plug(greet=f"{__name__}:greet")
    assert "Added      greet\n" in CliRunner().invoke(main, ["--help"]).output
    assert "Say hello." in CliRunner().invoke(main, ["greet", "--help"]).output
    assert CliRunner().invoke(main, ["greet"]).output == "hello\n"


@pytest.mark.parametrize("name", ["bench", "eval"])
def test_without_the_package_its_command_says_what_to_install(plug: Plug, name: str) -> None:
    plug()
    ran = CliRunner().invoke(main, [name, "run", "smoke", "--out", "here"])
    assert ran.exit_code == 1
    assert ran.output == f"Error: readmit {name}: not installed; run: pip install readmit-bench\n"
    assert "bench" not in CliRunner().invoke(main, ["--help"]).output


@pytest.mark.parametrize("value", ["no_such_module_anywhere:greet", "string:digits"])
def test_a_plugin_that_cannot_be_used_is_named_and_harms_no_other_command(plug: Plug, value: str) -> None:
    plug(greet=value)
    assert value in CliRunner().invoke(main, ["greet"]).output
    shown = CliRunner().invoke(main, ["--help"])
    assert shown.exit_code == 0
    assert "demo" in shown.output


def test_a_plugin_replaces_no_command_of_the_core(plug: Plug) -> None:
    plug(verify=f"{__name__}:greet")
    listed = main.list_commands(click.Context(main))
    assert listed.count("verify") == 1
    assert main.get_command(click.Context(main), "verify") is not greet


def test_a_command_of_the_core_looks_for_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(**_: object) -> None:
        pytest.fail("entry points are read from the disk, which takes time that a return does not have")

    monkeypatch.setattr(plugins, "entry_points", unexpected)
    assert CliRunner().invoke(main, ["demo", "--help"]).exit_code == 0

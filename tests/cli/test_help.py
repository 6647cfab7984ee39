"""``readmit --help`` fits on one screen, and every command says what it does and how it is typed."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click
import pytest

from readmit import Agent, Workspace
from readmit.cli import main
from readmit.cli.app import SECTIONS
from tests.cli.run import run, script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def every(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from every(found, *path, name)
        else:
            yield (*path, name), found


COMMANDS = dict(every(main))


def test_help_is_one_screen_with_every_command_in_a_section(tmp_path: Path) -> None:
    lines = script("--help", cwd=tmp_path, COLUMNS="80").stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    listed = [line[2:11].strip() for line in lines[lines.index("Commands:") + 1 : lines.index("Options:") - 1]]
    assert [title for title in listed if title][:7] == list(SECTIONS)
    words = {word.strip(",") for line in lines for word in line.split()}
    assert {path[0] for path in COMMANDS} <= words


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_shows_an_example_and_can_answer_in_json(path: tuple[str, ...]) -> None:
    shown = run(*path, "--help").stdout
    assert f"readmit {' '.join(path)}" in shown.partition("Examples:")[2]
    assert "--json" in shown


def test_no_two_commands_are_an_idea_under_two_names() -> None:
    """A command that writes is named as the verb of the library."""
    verbs = {name.replace("_", "-") for one in (Workspace, Agent) for name, _ in inspect.getmembers(one, callable)}
    named = {str(one.name) for title in ("Remember", "Depart") for one in SECTIONS[title]}
    assert named - verbs == set()

"""``readmit --help`` fits on one screen, and every command says what it does and how it is typed."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click
import pytest

from readmit import Agent, Workspace
from readmit.cli import main
from readmit.cli.app import SECTIONS
from tests.cli.run import run, script
from tests.conftest import ROOT

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


NAMED = re.compile(r"(?<![\w/.-])readmit ([a-z]+(?:-[a-z]+)*)(?: ([a-z]+(?:-[a-z]+)*))?([^`\n|]*)")
"""A command in a text, its subcommand if it is a group's, and the rest of the line."""
QUOTED = re.compile(r"`[^`\n]*`|^\$ .*", re.MULTILINE)
PAGES = [*(ROOT / "docs" / "guide").glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]


def unknown(said: str) -> str:
    """The part of a command's text that there is not, or nothing."""
    for first, second, rest in NAMED.findall(said):
        found = COMMANDS.get((first, second)) or COMMANDS.get((first,))
        if found is None and not (second == "" and any(path[0] == first for path in COMMANDS)):
            return f"readmit {first} {second}"
        known = {name for param in found.params for name in (*param.opts, *param.secondary_opts)} if found else set()
        wrong = [name for name in re.findall(r"(?<!\S)--[a-z][a-z-]+", rest) if name not in {*known, "--help"}]
        if found is not None and wrong and not set(rest) & {";", "&"}:
            return f"readmit {first} {second} {wrong[0]}"
    return ""


@pytest.mark.parametrize("path", [*PAGES, *sorted((ROOT / "src").rglob("*.py"))], ids=lambda path: path.name)
def test_a_command_that_a_page_or_a_message_names_exists(path: Path) -> None:
    quoted = QUOTED.findall(path.read_text(encoding="utf-8"))
    assert [wrong for wrong in map(unknown, quoted) if wrong] == []


@pytest.mark.parametrize(
    "said", ["`readmit list`", "`readmit admin lists`", "$ readmit items --lot 5", "`readmit keys sow`"]
)
def test_a_command_that_does_not_exist_is_found(said: str) -> None:
    assert unknown(said)

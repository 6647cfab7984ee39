"""Commands that other packages add, found by their entry points in the group ``readmit.commands``.

An entry point's name is the command's, its value a click command. It is imported when it is asked for: a return never
looks for plugins.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import NoReturn

import click

GROUP = "readmit.commands"
PACKAGES = {"bench": "readmit-bench", "eval": "readmit-bench"}
"""Commands that this project ships in packages of their own."""


def command_names() -> list[str]:
    """The commands that installed packages add."""
    return sorted(_found())


def plugged(name: str) -> click.Command | None:
    """A plugin's command, or one that explains why the plugin is missing or does not load."""
    entry = _found().get(name)
    if entry is None:
        return _refusing(name, f"not installed; run: pip install {PACKAGES[name]}") if name in PACKAGES else None
    try:
        loaded = entry.load()
    except Exception as error:  # noqa: BLE001 - a plugin that does not load must not take the other commands with it
        return _refusing(name, f"{entry.value} does not load: {type(error).__name__}: {error}")
    if not isinstance(loaded, click.Command):
        return _refusing(name, f"{entry.value} is no click command")
    return loaded


def _found() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _refusing(name: str, why: str) -> click.Command:
    def refuse(**_: object) -> NoReturn:
        raise click.ClickException(f"readmit {name}: {why}")

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["anything"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
        help=f"Cannot be run: {why}",
    )

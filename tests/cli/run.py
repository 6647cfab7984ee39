"""Run a command in this process, or the installed script in its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from readmit.cli import main

# The script runs the code that the tests run, also where that is not the installed one.
SOURCES = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}


def folders() -> dict[str, str]:
    """The configuration folder of the tests, which is not yet known when this module is imported."""
    return {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}


SCRIPT = Path(sys.executable).parent / "readmit"
WHO = ("--principal", "A1", "--role", "planner", "--task", "trip")


def run(*args: object, input: str | bytes | None = None, status: int | None = 0, **env: str) -> Result:  # noqa: A002 - click's name for it
    """Run a command and expect an exit status."""
    done = CliRunner().invoke(main, [str(arg) for arg in args], input=input, env=env)
    shown = f"{done.output}\n{done.exception!r}"
    assert status is None or done.exit_code == status, shown
    return done


def parsed(name: str, words: str) -> dict[str, Any]:
    """The options that a command reads from a line."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command.make_context(name, shlex.split(words), obj=None).params


def paste(command: str, db: object, **filled: str) -> Result:
    """Run a command that readmit printed, with the blanks filled in: ``by`` and other options by their names."""
    for option, value in {"by": "bob", **filled}.items():
        command = command.replace(f'--{option} "…"', f"--{option} {shlex.quote(value)}")
    before, _, words = command.rpartition("readmit ")
    given = shlex.split(before)[1] if before else None
    # Exactly as printed: what is added at the end may stand behind --.
    return run(*shlex.split(words), input=given, READMIT_DB=str(db))


def said(*args: object, status: int = 0, input: str | bytes | None = None) -> Any:  # noqa: A002
    """What a command answers with ``--json``."""
    return json.loads(run(*args, "--json", status=status, input=input).stdout)


def view_items(answer: Any) -> list[str]:
    """The ids of the items of a decision's view, from its JSON."""
    return [] if answer["view"] is None else [item["id"] for item in answer["view"]["items"]]


def script(*args: object, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the console script as a user would."""
    return subprocess.run(
        [str(SCRIPT), *map(str, args)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "100", **SOURCES, **folders(), **env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

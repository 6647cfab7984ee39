"""Progress is for a person at a terminal: it never mixes with the output."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import SCRIPT, SOURCES, folders, run
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def at_terminal(*args: object, cwd: Path) -> tuple[str, str]:
    """Run with standard error on a terminal; standard output, and what the terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(SCRIPT), *map(str, args)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8", "COLUMNS": "80", **SOURCES, **folders()},
    )
    os.close(theirs)
    stdout = process.communicate(timeout=240)[0]
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(ours)
    assert process.returncode == 0
    return stdout.decode(), shown.decode()


@pytest.mark.parametrize(
    ("args", "title"),
    [
        (("play", ROOT / "examples" / "travel.json", "--json"), "Playing"),
        (("audit", "verify", "--db", "trip.db", "--workspace", "family-trip", "--json"), "Verifying"),
        (("replay", "--all", "--db", "trip.db", "--workspace", "family-trip", "--json"), "Replaying"),
        (("status", "--db", "trip.db", "--workspace", "family-trip", "--json"), "Reading the log"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bar_at_a_terminal_and_clean_output(args: tuple[object, ...], title: str, tmp_path: Path) -> None:
    run("demo", "--db", "trip.db")
    stdout, shown = at_terminal(*args, cwd=tmp_path)
    assert title in shown
    assert json.loads(stdout)


def test_no_bar_elsewhere() -> None:
    assert run("play", ROOT / "examples" / "travel.json").stderr == ""

"""What is printed: whole rows in a pipe, whole ids in a terminal, the right plural."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import TYPE_CHECKING

import pytest

from readmit.text.english import counted
from tests.cli.run import SCRIPT, SOURCES, folders, run

if TYPE_CHECKING:
    from pathlib import Path

LONG = "hotel/" + "x" * 90
TEXT = "Sunrise Hotel confirms two nights for the whole family. " * 6


@pytest.fixture(autouse=True)
def _on_team(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_DB", team)
    run("record", TEXT, "--id", LONG, "--by", "A2", "--source", "Seen.")


def at_terminal(*args: str, cwd: Path, columns: int) -> list[str]:
    """What a command prints on a terminal of some width."""
    ours, theirs = pty.openpty()
    env = {
        "PATH": os.environ["PATH"],
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "COLUMNS": str(columns),
        **SOURCES,
        **folders(),
    }
    process = subprocess.Popen([str(SCRIPT), *args], cwd=cwd, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(ours)
    assert process.wait(timeout=240) == 0, shown
    return shown.decode().splitlines()


def test_a_row_in_a_pipe_is_one_line() -> None:
    rows = [line for line in run("items").stdout.splitlines() if LONG in line]
    assert len(rows) == 1
    assert rows[0].endswith(TEXT.strip())


def test_an_id_is_never_wrapped_or_cut_in_a_terminal(tmp_path: Path, team: str) -> None:
    lines = at_terminal("items", "--db", team, cwd=tmp_path, columns=60)
    assert sum(LONG in line for line in lines) == 1


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (0, "item", "0 items"),
        (1, "item", "1 item"),
        (2, "item", "2 items"),
        (1, "dependency", "1 dependency"),
        (3, "dependency", "3 dependencies"),
    ],
)
def test_a_number_goes_with_its_noun(number: int, noun: str, words: str) -> None:
    assert counted(number, noun) == words

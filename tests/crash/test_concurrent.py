"""Many processes on one file: one order of events, and every view consistent with one epoch."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from readmit.events import EventKind
from tests.conftest import NIGHTLY, ROOT
from tests.crash.team import prepare, verify
from tests.crash.test_kill import acknowledged

if TYPE_CHECKING:
    from pathlib import Path


def run(path: Path | str, processes: int, steps: int) -> None:
    prepare(path)
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child", "some", str(path), f"p{number}", str(steps)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(processes)
    ]  # fmt: skip
    seen: list[str] = []
    for child in children:
        output, errors = child.communicate()
        assert child.returncode == 0, errors
        assert output.count("\n") == steps
        seen += acknowledged(output)
    team = verify(path, seen)
    wrote = {
        event.id.partition(":")[2].partition("-")[0]
        for event in team._desk.log.tail()
        if event.kind is EventKind.RECORD
    }
    assert {f"p{number}" for number in range(processes)} <= wrote
    team.close()


def test_four_processes_write_and_return_at_once(place: Path | str) -> None:
    run(place, 4, 10)


@pytest.mark.slow
def test_sixteen_processes_write_and_return_at_once(place: Path | str) -> None:
    run(place, 16, 200 if NIGHTLY else 10)


def test_many_processes_open_a_new_store_at_once(place: Path | str) -> None:
    """The first process makes the tables and the key; the others find them."""
    script = (
        "import sys; from readmit import Workspace; w = Workspace.open(sys.argv[1]); w.observe(sys.argv[2], by='bob')"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(place), f"e{n}"], stderr=subprocess.PIPE, text=True)
        for n in range(6)
    ]
    errors = [child.communicate()[1] for child in children]
    assert errors == [""] * 6
    team = verify(place)
    kinds = [event.kind for event in team._desk.log.tail()]
    assert kinds.count(EventKind.KEY) == 1
    assert kinds.count(EventKind.OBSERVE) == 6
    team.close()

"""README's program, as somebody tries it: run, run again, and type-checked."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import pytest

import readmit
from readmit import Workspace
from readmit.events import EventKind
from tests.conftest import ROOT
from tests.docs.blocks import blocks_of
from tests.docs.runner import run, run_python

if TYPE_CHECKING:
    from pathlib import Path

README, START = ROOT / "README.md", ROOT / "docs" / "start.md"
PROGRAM, SEQUEL = (block for block in blocks_of(README) if block.language == "python")
TEAM = {EventKind.OBSERVE, EventKind.RECORD, EventKind.OPEN, EventKind.SUPERSEDE}


def written(db: Path) -> list[tuple[int, str, str]]:
    """What the team wrote; the agent's departures and returns are new each time."""
    with Workspace.open(db) as trip:
        return [(event.epoch, event.id, event.digest) for event in trip._desk.log.tail() if event.kind in TEAM]


def test_the_program_runs_twice_and_writes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = timedelta()

    class Later(Workspace):
        @classmethod
        def open(cls, path: str | Path = ":memory:", **given: Any) -> Self:
            return super().open(path, clock=lambda: datetime.now(UTC) + passed, **given)

    monkeypatch.setattr(readmit, "Workspace", Later)
    printed, wrote = [], []
    for passed in (timedelta(), timedelta(seconds=1), timedelta(days=40)):  # noqa: B007 - the clock reads it
        printed.append(run_python(PROGRAM, {}, tmp_path).splitlines()[:2])
        wrote.append(written(tmp_path / "trip.db"))
    assert printed == [["admitted", "('o_h', 'h1')"]] * 3
    assert wrote[0] == wrote[1] == wrote[2]


def test_ten_lines_are_ten() -> None:
    assert len([line for line in PROGRAM.text.splitlines() if line.strip()]) == 10


def test_the_page_to_start_with_compares_as_this_one_does() -> None:
    pages = [page.read_text(encoding="utf-8").partition("Why not just")[2] for page in (README, START)]
    tables = [[line for line in page.splitlines() if line.startswith("|")][:7] for page in pages]
    assert tables[0] == tables[1]
    assert tables[0][0].startswith("| instead")


def test_the_whole_page_runs_again_on_its_own_file(tmp_path: Path) -> None:
    run(README, tmp_path)
    wrote = written(tmp_path / "trip.db")
    assert run_python(PROGRAM, {}, tmp_path).startswith("blocked\n()"), "what was revoked stays so"
    run_python(SEQUEL, {"Workspace": Workspace}, tmp_path)
    assert written(tmp_path / "trip.db") == wrote


@pytest.mark.slow
def test_the_program_and_the_examples_pass_strict_type_checks(tmp_path: Path) -> None:
    program = tmp_path / "readme.py"
    program.write_text("\n".join(block.text for block in (PROGRAM, SEQUEL)), encoding="utf-8")
    examples = sorted((ROOT / "examples").rglob("*.py"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program), *map(str, examples)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")

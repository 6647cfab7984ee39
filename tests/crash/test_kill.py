"""``kill -9`` during commits: nothing acknowledged is lost, nothing is half there, and work goes on."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.crash.team import STEPS, prepare, usable, verify

if TYPE_CHECKING:
    from pathlib import Path

CHILD = [sys.executable, "-m", "tests.crash.child"]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*CHILD, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def acknowledged(output: str) -> list[str]:
    """Whole lines only: a step counts once its line was written to the end."""
    return " ".join(output.splitlines(keepends=True)[: output.count("\n")]).split()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crash") / "team.db"
    prepare(path)
    return path


def copy(base: Path, folder: Path) -> Path:
    path = folder / "team.db"
    shutil.copy(base, path)
    shutil.copytree(base.with_name("team.db.keys"), folder / "team.db.keys")
    return path


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_a_random_moment(base: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = copy(base, tmp_path)
    steps = chance.sample(list(STEPS), k=chance.randint(1, len(STEPS)))
    seen: list[str] = []
    for life in range(2):
        child = start("stream", str(path), f"life{life}", *steps)
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(chance.uniform(0, 0.15))
        child.kill()
        rest, errors = child.communicate()
        assert child.returncode == -9, errors
        seen += acknowledged(first + rest)
    team = verify(path, seen)
    assert seen
    usable(team, "last")
    team.close()


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_point(base: Path, tmp_path: Path, step: str) -> None:
    """Before each statement in turn: from the first read to the commit itself, and past it."""
    counting = copy(base, tmp_path)
    total = int(
        subprocess.run([*CHILD, "count", str(counting), step], cwd=ROOT, capture_output=True, check=True).stdout
    )
    assert total > 5
    points = [*range(0, total, max(1, total // 16)), total - 1, total]
    running = []
    for point in dict.fromkeys(points):
        folder = tmp_path / str(point)
        folder.mkdir()
        path = copy(base, folder)
        running.append((point, path, start("point", str(path), step, str(point))))
        if len(running) % 3 == 0:
            running[-1][2].wait()
    before = {event.id for event in verify(base).log.tail()}
    for point, path, child in running:
        output, errors = child.communicate()
        assert child.returncode == (0 if point >= total else -9), errors
        team = verify(path, acknowledged(output))
        added = {event.id for event in team.log.tail()} - before
        if point >= total:
            assert added
        elif step in {"append", "batch", "return"}:
            # One transaction: killed before its last statement, which commits it, nothing of it is there.
            assert added == set()
        usable(team, "last")
        team.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_killed_at_many_random_moments(base: Path, tmp_path: Path, seed: int) -> None:
    test_killed_at_a_random_moment(base, tmp_path, 1_000 + seed)

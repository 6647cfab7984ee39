"""``kill -9`` during commits: nothing acknowledged is lost, nothing is half there, and work goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.conftest import NIGHTLY, ROOT
from tests.crash.team import STEPS, prepare, usable, verify
from tests.postgres import on_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres import Server

CHILD = [sys.executable, "-m", "tests.crash.child"]
SPARE = 4


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*CHILD, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def acknowledged(output: str) -> list[str]:
    """Whole lines only: a step counts once its line was written to the end."""
    return " ".join(output.splitlines(keepends=True)[: output.count("\n")]).split()


Prepared = Callable[[], str]


def in_files(folder: Path) -> Prepared:
    numbers = count()

    def make() -> str:
        place = folder / f"{next(numbers)}.db"
        prepare(place)
        return str(place)

    return make


def in_schemas(server: Server) -> Prepared:
    numbers = count()

    def make() -> str:
        url = server.url(f"crash{next(numbers)}")
        prepare(url)
        return url

    return make


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """Makes stores with something to return to, each apart from the others."""
    if request.param == "sqlite":
        yield in_files(tmp_path_factory.mktemp("crash"))
        return
    yield in_schemas(request.getfixturevalue("server"))


WHOLE = {
    "append": {"item:point"},
    "batch": {f"item:point.{part}" for part in range(4)},
    "return": {"return:point"},
    "expose": {"return:point", "expose:point"},
}
"""What each step adds to the log."""


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_point(prepared: Prepared, step: str) -> None:
    """Before each statement in turn: from the first read to the commit itself, and past it."""
    place = prepared()
    total = int(subprocess.run([*CHILD, "count", place, step], cwd=ROOT, capture_output=True, check=True).stdout)
    assert total > 5
    most = (6 if on_server(place) else 16) if NIGHTLY else 4
    # How much of the signed map is read depends on random names, so a few statements more or less belong to a step.
    before, past = total - SPARE, total + SPARE
    points = [*range(0, before, max(1, before // most)), total, past]
    running = []
    for point in dict.fromkeys(points):
        place = prepared()
        running.append((point, place, start("point", place, step, str(point))))
        if len(running) % 3 == 0:
            running[-1][2].wait()
    for point, place, child in running:
        output, errors = child.communicate()
        allowed = {0} if point >= past else {-9} if point < before else {0, -9}
        assert child.returncode in allowed, errors
        team = verify(place, acknowledged(output))
        added = {event.id for event in team._desk.log.tail() if ":point" in event.id}
        if child.returncode == 0:
            assert added == WHOLE[step]
        elif point == 0:
            assert added == set()
        elif step in {"append", "batch", "return"}:
            # One transaction. In a file its last statement commits it; a server may get that word and answer too late.
            assert added == set() or (on_server(place) and added == WHOLE[step])
        usable(team, "last")
        team.close()

"""An agent that asks again and again while it is blocked does not pay for the returns that came before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.state.absence import last_absence
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FEW, MANY = 20, 200


def steps(team: Workspace, work: Callable[[], object]) -> int:
    """How many hundred instructions the database runs for some work: they grow with the rows that it reads."""
    sql: Any = team._desk.log.connection.sql
    count = 0

    def note() -> None:
        nonlocal count
        count += 1

    sql.set_progress_handler(note, 100)
    try:
        work()
    finally:
        sql.set_progress_handler(None, 0)
    return count


def poll(scene: Scene, times: int) -> None:
    for _ in range(times):
        assert scene.ann().come_back().kind == "blocked"


@pytest.mark.parametrize("fresh", [False, True], ids=["one process", "a process for each return"])
def test_the_two_hundredth_poll_costs_no_more_than_the_twentieth(fresh: bool, tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    scene.duty()
    scene.depart()

    def cost() -> int:
        if not fresh:
            return steps(scene.team, lambda: poll(scene, 1))
        with Workspace.open(scene.path, clock=scene.clock) as team:
            return steps(team, lambda: team.agent("ann", role="planner", task="trip").come_back())

    poll(scene, FEW)
    few = cost()
    poll(scene, MANY - FEW)
    assert cost() <= 3 * few


def test_an_absence_ends_with_the_view_that_was_handed_over_last() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.come_back()
    assert _end(scene) is None, "a view that nobody asked for ends nothing"
    first = scene.come_back()
    first.expose()
    assert _end(scene) == first.id
    second = scene.come_back()
    assert _end(scene) == first.id
    second.expose()
    assert _end(scene) == second.id
    scene.depart()
    assert _end(scene) is None


def _end(scene: Scene) -> str | None:
    absence = last_absence(scene.team._desk.log, scene.ann().identity)
    assert absence is not None
    return None if absence.end is None else absence.end.name

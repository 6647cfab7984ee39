"""A change to the indexes over the log is found: replaying the log shows what they must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from readmit.records.policy import Policy
from readmit.store.indexes import INDEXES
from readmit.workspace.auditing import audit
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.workspace.observing import ObservationEntry


def busy() -> Scene:
    """A workspace with a row in every index, by every kind of event."""
    scene = Scene()
    team = scene.team
    scene.covered(slot="hotel")
    scene.frontier()
    scene.fact("again", slot="hotel", roles=["planner", "buyer"], supports=["d"])
    for name in ("late", "wrong", "contested", "doubtful"):
        scene.fact(name, task="trip")
    open_ = [f"open {n}" for n in range(120)]
    narrow: list[ObservationEntry] = [{"text": f"narrow {n}", "roles": ["buyer"]} for n in range(3)]
    team.observe_many([*open_, *narrow, {"text": "twice", "principals": ["ann", "ann"]}], by="cy", task="trip")
    scene.ann().remember("a habit", bound_to="h")
    scene.depart()
    team.supersede("h", "again", by="bob")
    team.revoke("wrong", by="bob")
    team.close_validity("late", end=scene.now + HOUR, by="bob")
    team.rebase("train", task="trip", by="bob")
    team.resolve(team.dispute(["contested", "late"], by="bob"), keep=["late"], by="cy")
    team.suspect("doubtful", scene.news(), by="bob")
    scene.verdict("doubtful", scene.news("The hotel burned down."))
    team.overrule("wrong", grant="restore", by="boss", reason="a mistake", expires=HOUR)
    team.govern(Policy(overseers=("boss",), max_items=9), by="boss")
    team.keys.rotate(by="owner", now=scene.now)
    scene.come_back().expose()
    team.settle("o", by="bob")
    return scene


def test_an_untouched_workspace_has_the_indexes_that_its_log_comes_to() -> None:
    scene = busy()
    report = audit(scene.team.log)
    assert report.intact, report.problems
    assert all(next(scene.team.log.indexed(index), None) for index in INDEXES), "every index is put to the test"


def test_a_last_moment_that_the_log_has_not_learnt_shows() -> None:
    scene = busy()
    for moment in ("2036-01-01T00:00:00+00:00", "2016-01-01T00:00:00+00:00"):
        scene.sql("UPDATE workspace SET learnt = ?", moment)
        (problem,) = audit(scene.team.log).problems
        assert problem.startswith(f"the last moment of the log is stored as {moment[:4]}")


@pytest.mark.parametrize("index", INDEXES)
def test_a_row_that_is_gone_or_made_up_shows(index: str) -> None:
    scene = busy()
    row = next(scene.team.log.indexed(index))
    here = " AND ".join(f"{column} = ?" for column in INDEXES[index])
    scene.sql(f"DELETE FROM {index} WHERE {here}", *row)  # noqa: S608 - our own names
    assert _flaws(scene) == {f"the index {index!r} lacks"}
    _put(scene, index, row)
    assert audit(scene.team.log).intact
    _put(scene, index, ("made-up" if isinstance(row[0], str) else 99_999, *row[1:]))
    assert _flaws(scene) == {f"the index {index!r} has"}


def _put(scene: Scene, index: str, row: tuple[object, ...]) -> None:
    marks = ", ".join("?" * len(row))
    scene.sql(f"INSERT INTO {index} SELECT ws, {marks} FROM workspace", *row)  # noqa: S608 - our own names


def _flaws(scene: Scene) -> set[str]:
    return {" ".join(problem.split()[:4]).rstrip(",") for problem in audit(scene.team.log).problems}


@dataclass(frozen=True)
class Hidden:
    """A row that is deleted from an index with an editor, and what a return then misses."""

    statement: str
    admits: bool


HIDDEN = {
    "a revocation from one reader": Hidden("DELETE FROM audience WHERE epoch = (SELECT max(epoch) FROM about)", True),
    "nothing": Hidden("DELETE FROM audience WHERE epoch = 99999", False),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hiding_an_event_from_a_reader_shows_in_the_audit(name: str) -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob", reason="cancelled")
    scene.sql(HIDDEN[name].statement)
    assert scene.come_back().admitted is HIDDEN[name].admits
    report = audit(scene.team.log)
    assert report.intact is not HIDDEN[name].admits
    if HIDDEN[name].admits:
        assert "'audience' lacks 1 row" in report.problems[0]
        assert "epoch" in report.problems[0]

"""A change to any index over the log is found: what each answers is signed with every commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Pair
from readmit.log.indexes.index_rows import INDEXES
from readmit.policies import Policy
from tests.scene import HOUR, Scene, audited, indexed

if TYPE_CHECKING:
    from readmit.log.tree.log_check import Reached
    from readmit.types import ObservationEntry


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
    team.resolve(team.dispute(["contested", "late"], by="bob"), keep=["late"], by="cy")
    team.judge(Pair(item="doubtful", evidence=scene.news()), by="bob")
    scene.verdict("doubtful", scene.news("The hotel burned down."))
    team.admin.overrule("wrong", by="boss", reason="a mistake", expires=HOUR)
    team.admin.govern(Policy(evidence={"overseers": ("boss",)}, budgets={"items": 9}), by="boss")
    team.as_owner().admin.keys.rotate()
    scene.come_back().expose()
    team.settle("o", by="bob")
    return scene


def test_an_untouched_workspace_has_the_indexes_that_its_log_comes_to() -> None:
    scene = busy()
    report = audited(scene.team)
    assert report.intact, report.problems
    assert all(next(indexed(scene.team._desk.log, index), None) for index in INDEXES), "every index is put to the test"


def test_a_last_moment_that_the_log_has_not_learnt_shows() -> None:
    scene = busy()
    for moment in ("2036-01-01T00:00:00+00:00", "2016-01-01T00:00:00+00:00"):
        scene.sql("UPDATE workspace SET learnt = ?", moment)
        assert any("the end of the log is not where commit" in problem for problem in audited(scene.team).problems)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("index", INDEXES)
def test_a_row_that_is_gone_or_made_up_shows(index: str, full: bool) -> None:
    scene = busy()
    row = next(indexed(scene.team._desk.log, index))
    here = " AND ".join(f"{column} = ?" for column in INDEXES[index])
    scene.sql(f"DELETE FROM {index} WHERE {here}", *row)  # noqa: S608 - our own names
    assert index in _flawed(scene, full=full)
    _put(scene, index, row)
    assert audited(scene.team, full=full).problems == ()
    _put(scene, index, ("made-up" if isinstance(row[0], str) else 99_999, *row[1:]))
    assert index in _flawed(scene, full=full)


def _put(scene: Scene, index: str, row: tuple[object, ...]) -> None:
    marks = ", ".join("?" * len(row))
    scene.sql(f"INSERT INTO {index} SELECT ws, {marks} FROM workspace", *row)  # noqa: S608 - our own names


def _flawed(scene: Scene, *, full: bool = False, since: Reached | None = None) -> set[str]:
    """The indexes that the audit names."""
    found = audited(scene.team, full=full, since=since).problems
    return {name for problem in found for name in INDEXES if f"'{name}'" in problem}


@pytest.mark.parametrize("index", sorted(INDEXES))
def test_a_later_check_finds_what_is_missing_of_new_events(index: str) -> None:
    scene = busy()
    since = audited(scene.team).reached
    before = scene.team.epoch
    _more(scene)
    assert audited(scene.team, since=since).problems == ()
    row = next(row for row in indexed(scene.team._desk.log, index) if _is_new(index, row, before))
    here = " AND ".join(f"{column} = ?" for column in INDEXES[index])
    scene.sql(f"DELETE FROM {index} WHERE {here}", *row)  # noqa: S608 - our own names
    assert not audited(scene.team, since=since).intact


def _more(scene: Scene) -> None:
    """Something new for every index."""
    scene.now += HOUR
    team = scene.team
    team.observe("A new observation.", by="bob", id="fresh-call")
    scene.fact("fresh", slot="fresh-slot", supports=["fresh-need"], task="trip")
    scene.fact("unslotted", task="trip")
    team.oblige("Do it", id="@bob/fresh-duty", required=["d"], by="bob", task="trip", principals=["ann"])
    team.revoke("fresh", by="bob")
    scene.depart()


def _is_new(index: str, row: tuple[object, ...], before: int) -> bool:
    return int(str(row[0 if index == "binding" else -1])) > before


def test_a_later_check_does_not_look_at_older_rows() -> None:
    scene = busy()
    since = audited(scene.team).reached
    _more(scene)
    scene.sql("UPDATE event SET by = 'mallory' WHERE id = 'item:wrong'")
    later = audited(scene.team, since=since)
    assert (later.intact, later.since) == (True, since.size if since else 0)
    assert not audited(scene.team, since=since, full=True).intact


def test_hiding_a_revocation_from_one_reader_shows_in_the_audit() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob", reason="cancelled")
    scene.sql("DELETE FROM audience WHERE epoch = (SELECT max(epoch) FROM about)")
    report = audited(scene.team)
    assert "the index 'audience'" in report.problems[0]

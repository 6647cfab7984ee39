"""Invariant I5: the audit is append-only, its chain verifies, and truncation shows."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from readmit.records.canonical import decode
from readmit.records.decisions import Envelope
from readmit.scenario import document as scenario
from readmit.scenario.play import played
from readmit.workspace.auditing import audit
from readmit.workspace.workspace import Workspace
from tests.inference.world import SHOES, Ruled, away, foresee, hear, home
from tests.scene import Scene

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.workspace.auditing import AuditReport

NAME = "family-trip"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("audit") / "trip.db"
    with played(scenario.shipped("travel"), file):
        pass
    return file


@pytest.fixture
def trip(original: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    shutil.copy(original, tmp_path / "trip.db")
    shutil.copytree(original.with_name("trip.db.keys"), tmp_path / "trip.db.keys")
    return tmp_path / "trip.db"


def checked(file: Path, *, kept: Envelope | None = None) -> AuditReport:
    with Workspace.open(file, name=NAME) as workspace:
        return audit(workspace.log, kept=kept)


def head_of(file: Path) -> Envelope:
    with Workspace.open(file, name=NAME) as workspace:
        found = workspace.log.audit.signed_head()
    assert found is not None
    return decode(found[1], Envelope, what="head")


def tamper(file: Path, *statements: str) -> None:
    """What an attacker with write access to the file can do."""
    with closing(sqlite3.connect(file)) as sql:
        triggers = sql.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            sql.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            assert sql.execute(statement).rowcount != 0, "the tampering changed nothing"
        sql.commit()


def test_an_untouched_audit_is_intact(trip: Path) -> None:
    report = checked(trip, kept=head_of(trip))
    assert report.problems == ()
    assert (report.returns, report.rows) == (2, report.signed)
    assert report.kept == report.rows
    assert report.events > report.returns


def test_an_empty_workspace_is_intact() -> None:
    with Workspace.open() as workspace:
        report = audit(workspace.log)
    assert (report.intact, report.rows, report.signed) == (True, 0, 0)


def test_other_programs_cannot_change_it_by_accident(trip: Path) -> None:
    with closing(sqlite3.connect(trip)) as sql:
        for table in ("audit", "event", "decision", "audit_head"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                sql.execute(f"DELETE FROM {table}")  # noqa: S608 - names from the line above


@dataclass(frozen=True)
class Tampering:
    statements: tuple[str, ...]
    says: str


TAMPERINGS = {
    "a row altered": Tampering(
        ("UPDATE audit SET body = CAST(replace(body, 'superseded', 'mandatory') AS BLOB) WHERE item = 'h0'",),
        "broken at row",
    ),
    "a row of another type": Tampering(
        ("UPDATE audit SET body = replace(body, 'superseded', 'mandatory') WHERE item = 'h0'",), "could not be read"
    ),
    "a row removed": Tampering(("DELETE FROM audit WHERE pos = (SELECT min(pos) + 3 FROM audit)",), "broken at row 4"),
    "rows swapped": Tampering(
        (
            "UPDATE audit SET pos = -1 WHERE pos = (SELECT min(pos) FROM audit)",
            "UPDATE audit SET pos = pos - 1 WHERE pos = (SELECT min(pos) FROM audit WHERE pos > 0)",
            "UPDATE audit SET pos = (SELECT min(pos) + 1 FROM audit WHERE pos > 0) WHERE pos = -1",
        ),
        "broken at row 1",
    ),
    "the tail cut": Tampering(("DELETE FROM audit WHERE pos = (SELECT max(pos) FROM audit)",), "rows were removed"),
    "the tail and its head cut": Tampering(
        (
            "DELETE FROM audit WHERE pos = (SELECT max(pos) FROM audit)",
            "UPDATE workspace SET audit = audit - 1, audit_hash = (SELECT hash FROM audit ORDER BY pos DESC LIMIT 1)",
        ),
        "the audit was cut or rewritten",
    ),
    "a signature removed": Tampering(
        ("DELETE FROM audit_head WHERE seq = (SELECT max(seq) FROM audit_head)",), "are under no verified signature"
    ),
    "all signatures removed": Tampering(("DELETE FROM audit_head",), "rows 1 to"),
    "a signature altered": Tampering(
        ("UPDATE audit_head SET envelope = CAST(replace(envelope, 'payload\":\"ey', 'payload\":\"e0') AS BLOB)",),
        "does not verify",
    ),
    "a decision unfiled": Tampering(
        ("DELETE FROM decision WHERE envelope IS NULL",), "has no filed decision"
    ),
    "a decision altered": Tampering(
        ("UPDATE decision SET body = CAST(replace(body, 'blocked', 'reset') AS BLOB)",),
        "the filed decision is not the one",
    ),
    "a view taken away": Tampering(
        ("UPDATE decision SET envelope = NULL WHERE envelope IS NOT NULL",), "its signed view is not the view"
    ),
    "rows filed elsewhere": Tampering(("UPDATE decision SET first = first + 1",), "but filed as"),
    "the log altered": Tampering(
        ("UPDATE event SET by = 'A9' WHERE id = 'item:h1'",), "the log is broken at epoch"
    ),
    "the log cut": Tampering(
        (
            "DELETE FROM event WHERE kind = 'expose'",
            "UPDATE workspace SET head = head - 1, link = (SELECT link FROM event ORDER BY pos DESC LIMIT 1)",
        ),
        "an exposure row, but no exposure in the log",
    ),
    "a return cut from the log": Tampering(
        (
            "DELETE FROM event WHERE pos >= (SELECT max(pos) FROM event WHERE kind = 'return')",
            "UPDATE workspace SET head = head - 2, link = (SELECT link FROM event ORDER BY pos DESC LIMIT 1)",
        ),
        "belong to no return in the log",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_shows(name: str, trip: Path) -> None:
    case = TAMPERINGS[name]
    tamper(trip, *case.statements)
    report = checked(trip)
    assert not report.intact
    assert any(case.says in problem for problem in report.problems), report.problems


def test_a_rollback_of_everything_shows_only_against_a_head_kept_elsewhere(original: Path, tmp_path: Path) -> None:
    whole = scenario.shipped("travel")
    file = tmp_path / "trip.db"
    with played(scenario.read(json.dumps(_without_last(whole))), file):
        pass
    backup = tmp_path / "backup.db"
    shutil.copy(file, backup)
    with Workspace.open(file, name=NAME) as workspace:
        workspace.agent("A1", role="planner", task="itinerary").come_back()
    kept = head_of(file)
    assert checked(file, kept=kept).intact
    shutil.copy(backup, file)
    assert checked(file).intact
    rolled_back = checked(file, kept=kept)
    assert [problem for problem in rolled_back.problems if "the head kept elsewhere covers row" in problem]
    # The head of another workspace's audit proves nothing here.
    assert not checked(file, kept=head_of(original)).intact


def _without_last(whole: scenario.Scenario) -> object:
    import msgspec

    plain = msgspec.to_builtins(whole)
    return plain | {"steps": plain["steps"][:-1]}


def test_a_head_outlives_the_retirement_of_its_key_but_not_its_revocation(trip: Path) -> None:
    kept = head_of(trip)
    with Workspace.open(trip, name=NAME) as workspace:
        from datetime import timedelta

        old = workspace.signer().keyid
        workspace.keys.rotate(by="owner", now=workspace.now(), overlap=timedelta())
        assert audit(workspace.log, kept=kept).intact
        workspace.keys.revoke(old, by="owner", reason="stolen", now=workspace.now())
        report = audit(workspace.log, kept=kept)
    assert any("does not verify" in problem for problem in report.problems)


def test_every_unit_of_work_is_counted(trip: Path) -> None:
    seen: list[int] = []
    with Workspace.open(trip, name=NAME) as workspace:
        report = audit(workspace.log, watch=lambda: seen.append(1))
    assert len(seen) == report.rows + report.events


def test_a_delivery_is_in_the_log_and_in_the_audit() -> None:
    """Log and audit each show what was cut from the other, down to the acknowledgement."""
    for kind, row in (("expose", "exposure"), ("acknowledge", "acknowledgement")):
        scene = Scene()
        scene.covered()
        outcome = scene.away()
        outcome.expose()
        outcome.expose()
        outcome.acknowledge()
        assert audit(scene.team.log).problems == ()
        scene.sql("UPDATE audit SET kind = 'note' WHERE kind = ?", row)
        said = f"return {outcome.id!r} has an {row} in the log, but no {row} row"
        assert said in audit(scene.team.log).problems
        assert kind in {event.kind for event in scene.team.log.tail()}


def test_rows_of_a_preparation_are_no_flaw() -> None:
    """Neither before those of the return that it prepared, nor alone, where no return followed."""
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        inference = foresee(workspace, Ruled())
        inference.prepare(agent)
        inference.watch().look()
        outcome = inference.come_back(agent)
        outcome.expose()
        report = audit(workspace.log)
        assert report.problems == ()
        assert [row.kind for row in workspace.log.audit.rows()].count("inference") >= 2

"""Invariant I5: the log and its audit are append-only and signed commit by commit, and any change shows."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit import Workspace
from readmit.diagnosis.verification.head_proofs import signed_head
from readmit.diagnosis.verification.log_verifier import LogVerifier
from readmit.scenario import document as scenario
from readmit.scenario.play import played
from tests.inference.world import SHOES, Ruled, away, foresee, hear, home
from tests.keys import keys_of
from tests.scene import Scene, audited, untriggered

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.diagnosis.verification.audit_check import AuditReport

NAME = "family-trip"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("audit") / "trip.db"
    with played(scenario.shipped("travel"), file):
        pass
    with Workspace.open(file, name=NAME) as workspace:
        for number in range(5):
            workspace.observe(f"Of no concern: {number}.", by="A2")
    return file


@pytest.fixture
def trip(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to tamper with, and one of its keys."""
    shutil.copy(original, tmp_path / "trip.db")
    shutil.copytree(keys_of(original), keys_of(original, tmp_path / "keys"))
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    return tmp_path / "trip.db"


def checked(file: Path, *, kept: bytes | None = None, full: bool = False) -> AuditReport:
    with closing(LogVerifier(file, NAME)) as verifier:
        return verifier.verify(kept=kept, full=full)


def head_of(file: Path) -> bytes:
    with Workspace.open(file, name=NAME) as workspace:
        return signed_head(workspace._desk.log)


def tamper(file: Path, *statements: str) -> None:
    """What an attacker with write access to the file can do."""
    with closing(sqlite3.connect(file)) as sql, untriggered(sql):
        for statement in statements:
            assert sql.execute(statement).rowcount != 0, "the tampering changed nothing"
        sql.commit()


def test_an_untouched_store_is_intact(trip: Path) -> None:
    report = checked(trip, kept=head_of(trip), full=True)
    assert report.problems == ()
    assert report.notes == ()
    assert (report.returns, report.kept) == (2, report.commits)
    assert report.events > report.returns


def test_an_empty_workspace_is_intact() -> None:
    with Workspace.open() as workspace:
        report = audited(workspace)
    assert (report.problems, report.rows, report.commits) == ((), 0, 1)


def test_other_programs_cannot_change_it_by_accident(trip: Path) -> None:
    with closing(sqlite3.connect(trip)) as sql:
        for table in ("audit", "event", "decision", "piece", "commit_record"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                sql.execute(f"DELETE FROM {table}")  # noqa: S608 - names from the line above


@dataclass(frozen=True)
class Tampering:
    statements: tuple[str, ...]
    says: str


TAMPERINGS = {
    "a row altered": Tampering(
        ("UPDATE audit SET body = CAST('{}' AS BLOB) WHERE kind = 'decision'",),
        "its audit rows are not those",
    ),
    "a row of another type": Tampering(
        ("UPDATE audit SET body = '{}' WHERE kind = 'decision'",),
        "could not be read",
    ),
    "a compressed row altered": Tampering(
        ("UPDATE audit SET body = CAST(body || 'x' AS BLOB) WHERE kind = 'decision'",), "it was altered"
    ),
    "a row removed": Tampering(
        ("DELETE FROM audit WHERE pos = (SELECT min(pos) + 1 FROM audit)",), "audit row 2 is not there"
    ),
    "rows swapped": Tampering(
        (
            "UPDATE audit SET pos = -1 WHERE pos = (SELECT min(pos) FROM audit)",
            "UPDATE audit SET pos = pos - 1 WHERE pos = (SELECT min(pos) FROM audit WHERE pos > 0)",
            "UPDATE audit SET pos = (SELECT min(pos) + 1 FROM audit WHERE pos > 0) WHERE pos = -1",
        ),
        "its audit rows are not those",
    ),
    "a row added": Tampering(
        ("INSERT INTO audit SELECT max(pos) + 1, 'r', 'note', '', CAST('{}' AS BLOB) FROM audit",),
        "the table 'audit' has 1 row beyond the end",
    ),
    "the tail cut": Tampering(("DELETE FROM audit WHERE pos = (SELECT max(pos) FROM audit)",), "rows were removed"),
    "the tail and its number cut": Tampering(
        ("DELETE FROM audit WHERE pos = (SELECT max(pos) FROM audit)", "UPDATE workspace SET audit = audit - 1"),
        "the end of the log is not where commit",
    ),
    "the last commit cut": Tampering(
        ("DELETE FROM commit_record WHERE pos = (SELECT max(pos) FROM commit_record)",),
        "the last one, is not there",
    ),
    "a commit removed": Tampering(("DELETE FROM commit_record WHERE pos & 255 = 5",), "commit 5 is not there"),
    "a commit altered": Tampering(
        ("UPDATE commit_record SET body = CAST(body || ' ' AS BLOB) WHERE pos & 255 = 5",),
        "it is of another state of the log",
    ),
    "a commit's column altered": Tampering(
        ("UPDATE commit_record SET audit = audit + 1 WHERE pos & 255 = 5",), "commit 5 says that it is another one"
    ),
    "a hash of the tree altered": Tampering(
        ("UPDATE commit_record SET nodes = zeroblob(length(nodes)) WHERE pos & 255 = 5",),
        "commit 5: its hashes of the tree were altered",
    ),
    "a key's note removed": Tampering(("UPDATE commit_record SET note = NULL WHERE pos & 255 = 1",), "was removed"),
    "a note added": Tampering(
        ("UPDATE commit_record SET note = CAST('x' AS BLOB) WHERE pos & 255 = 5",), "but changes no key"
    ),
    "the signature removed": Tampering(("UPDATE workspace SET note = NULL",), "its signature was removed"),
    "the signature altered": Tampering(
        ("UPDATE workspace SET note = CAST(replace(note, 'readmit/', 'Readmit/') AS BLOB)",), "does not verify"
    ),
    "the edge altered": Tampering(
        ("UPDATE workspace SET edge = zeroblob(length(edge))",), "is not the one that was seen"
    ),
    "a decision unfiled": Tampering(
        ("DELETE FROM decision WHERE return_id = (SELECT min(return_id) FROM decision)",), "has no filed decision"
    ),
    "a decision made up": Tampering(
        ("INSERT INTO decision SELECT ws, 'made-up', seal, first, last FROM decision LIMIT 1",),
        "the table 'decision' has a row for 'made-up'",
    ),
    "a decision exchanged": Tampering(
        ("UPDATE decision SET last = (SELECT max(last) FROM decision)",), "the filed decision is not the one"
    ),
    "candidates altered": Tampering(
        ("UPDATE piece SET body = CAST('[]' AS BLOB)",),
        "of the audit was altered or removed",
    ),
    "candidates removed": Tampering(("DELETE FROM piece",), "of the audit was altered or removed"),
    "candidates cut short": Tampering(
        ("UPDATE piece SET body = CAST(substr(body, 2) AS BLOB)",), "of the audit was altered or removed"
    ),
    "candidates added": Tampering(
        ("INSERT INTO piece SELECT ws, 'made-up', body FROM piece LIMIT 1",),
        "the table 'piece' has 1 row that no decision leads to",
    ),
    "a view taken away": Tampering(
        ("UPDATE decision SET seal = NULL WHERE seal IS NOT NULL",), "its signed view is not the view"
    ),
    "a view's signature altered": Tampering(
        ("UPDATE decision SET seal = CAST(replace(seal, '\"sig\":\"', '\"sig\":\"AAAA') AS BLOB)",),
        "its signed view is not the view",
    ),
    "rows filed elsewhere": Tampering(("UPDATE decision SET first = first + 1",), "but filed as"),
    "the log altered": Tampering(
        ("UPDATE event SET by = 'A9' WHERE id = 'item:h1'",), "is not what was written"
    ),
    "an event's text altered": Tampering(
        ("UPDATE event SET body = CAST(replace(body, 'Riverside', 'Sunrise') AS BLOB) WHERE id = 'item:h1'",),
        "is not what was written",
    ),
    "an event's leaf altered": Tampering(
        ("UPDATE event SET leaf = zeroblob(32) WHERE id = 'item:h1'",), "is not what was written"
    ),
    "an event removed": Tampering(("DELETE FROM event WHERE id = 'item:h1'",), "is not there: it was removed"),
    "an event added": Tampering(
        (
            """INSERT INTO event SELECT pos + 100, 'item:h9', kind, by, at, learnt, body, digest, leaf, signature, given
            FROM event WHERE id = 'item:h1'""",
        ),
        "the table 'event' has 1 row beyond the end",
    ),
    "the log cut": Tampering(
        ("DELETE FROM event WHERE kind = 'expose'", "UPDATE workspace SET head = head - 1"),
        "the end of the log is not where commit",
    ),
    "a digest of an index altered": Tampering(
        ("UPDATE node SET body = zeroblob(length(body)) WHERE level = 0 AND start = ''",), "the table 'node'"
    ),
    "a digest of an index removed": Tampering(
        ("DELETE FROM node WHERE level = 0 AND start = ''",), "the table 'node' lacks"
    ),
    "a digest of an index added": Tampering(
        ("INSERT INTO node SELECT ws, 0, 'zz', body FROM node LIMIT 1",), "that no signed state leads to"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_shows(name: str, trip: Path) -> None:
    case = TAMPERINGS[name]
    tamper(trip, *case.statements)
    report = checked(trip)
    assert not report.intact
    assert any(case.says in problem for problem in report.problems), report.problems


def test_a_store_set_back_together_with_its_keys_shows_against_a_head_kept_elsewhere(
    original: Path, tmp_path: Path
) -> None:
    of_another = head_of(original)
    whole = scenario.shipped("travel")
    file = tmp_path / "trip.db"
    with played(scenario.read_scenario(json.dumps(_without_last(whole))), file):
        pass
    shutil.copy(file, tmp_path / "backup.db")
    shutil.copytree(keys_of(file), tmp_path / "backup-keys")
    with Workspace.open(file, name=NAME) as workspace:
        workspace.agent("A1", role="planner", task="itinerary").come_back()
    kept = head_of(file)
    assert checked(file, kept=kept).intact
    shutil.copy(tmp_path / "backup.db", file)
    assert [one for one in checked(file).problems if "was rolled back" in one], "the pin with the keys shows it"
    shutil.rmtree(keys_of(file))
    shutil.copytree(tmp_path / "backup-keys", keys_of(file))
    assert checked(file).intact
    rolled_back = checked(file, kept=kept)
    assert [problem for problem in rolled_back.problems if "it was rolled back" in problem]
    # The head of another log proves nothing here.
    assert [problem for problem in checked(file, kept=of_another).problems if "does not verify" in problem]


def _without_last(whole: scenario.Scenario) -> object:
    plain = msgspec.to_builtins(whole)
    return plain | {"steps": plain["steps"][:-1]}


def test_a_head_outlives_the_retirement_of_its_key_but_not_its_revocation(trip: Path) -> None:
    kept = head_of(trip)
    with Workspace.open(trip, name=NAME) as workspace:
        old = workspace._desk.keys.signer().keyid
        workspace.as_owner().admin.keys.rotate(overlap=timedelta())
        assert audited(workspace, kept=kept).problems == ()
        workspace.as_owner().admin.keys.revoke(old, reason="stolen")
        report = audited(workspace, kept=kept)
    assert any("does not verify" in problem for problem in report.problems)


def test_every_unit_of_work_is_counted(trip: Path) -> None:
    seen: list[int] = []
    with Workspace.open(trip, name=NAME) as workspace:
        report = audited(workspace, watch=lambda: seen.append(1))
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
        assert audited(scene.team).problems == ()
        scene.sql("UPDATE audit SET kind = 'note' WHERE kind = ?", row)
        said = f"return {outcome.id!r} has an {row} in the log, but no {row} row"
        assert said in audited(scene.team).problems
        assert kind in {event.kind for event in scene.team._desk.log.tail()}


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
        report = audited(workspace)
        assert report.problems == ()
        assert [row.kind for row in workspace._desk.log.audit.rows()].count("inference") >= 2

"""A store of an earlier release, opened by this one: its indexes are those that its log comes to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.store.indexes import INDEXES
from readmit.store.location import is_url
from readmit.store.schema import MIGRATIONS
from readmit.workspace.auditing import audit
from tests.scene import HOUR, START
from tests.store.older import make_older

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from tests.postgres import Server

TEAMS = ("red", "blue\0ish")
LATEST = START + 9 * HOUR


def clock() -> Callable[[], datetime]:
    """A clock that was set back once: the last event is not the latest."""
    hours: Iterator[int] = iter((0, 1, 9))
    return lambda: START + next(hours, 2) * HOUR


def write_events(team: Workspace) -> None:
    """One of everything that an index of a later release holds."""
    word = "né\0" + team.name
    source = team.observe("The hotel confirms.", by=word)
    for number in range(3):
        team.record(
            f"text {number}\0", id=f"h{number}", by=word, supports=["d"], slot=f"hotel{number}", sources=[source]
        )
    team.record("mine", id="p", by=word, supports=["own"], slot="diary", principals=[word], private=True)
    for number in range(2):
        team.record("Said\0twice.", id=f"s{number}", by=word, sources=[source])
    team.oblige("Book it.", id="o1", by=word, required=["d"], sources=[source])
    team.oblige("Rest.", id="o2", by=word, required=["d"], principals=[word])
    team.progress("Half way.", id="f", by=word, obligation="o1", slot="state")
    team.suspect("h1", source, by=word)
    pair = Pair(item="h1", evidence=source)
    team.judge(Verdict(pair=pair, answer=Answer.UNSURE, confidence=Decimal(1)), by="judge")
    team.revoke("h2", by=word)
    # What ends more than one thing, or something of another writer.
    team.record("another", id="r1", by="judge", slot="hotel1", sources=[source])
    team.record("a third", id="r2", by=word, slot="hotel1", sources=[source])
    team.record("own again", id="r3", by="judge", slot="hotel1", purposes=["trip"], sources=[source])
    team.progress("Nearly.", id="f2", by="judge", obligation="o1", sources=[source])
    team.progress("Done.", id="f3", by=word, obligation="o1", sources=[source])
    team.rebase("hotel1", task="trip", by=word)
    team.resolve(team.dispute(["h0", "h1", "s0"], by=word, id="quarrel"), keep=["h0"], by=word)
    team.link("h0", "d", by=word, withdrawn=True)
    team.agent("ann", role="planner", task="trip").depart()


@pytest.fixture
def new(place: Path | str, request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """The same teams in a store of this release, to compare with."""
    made: Path | str = request.getfixturevalue("fresh_url")() if is_url(place) else tmp_path / "new.db"
    for name in TEAMS:
        with Workspace.open(made, name=name, clock=clock()) as team:
            write_events(team)
    return made


def rows(team: Workspace) -> dict[str, list[Any]]:
    return {index: list(team.log.indexed(index)) for index in INDEXES}


@pytest.mark.parametrize("migrations", range(1, len(MIGRATIONS) + 1))
def test_an_older_store_gains_what_its_log_comes_to(
    place: Path | str, new: Path | str, migrations: int, request: pytest.FixtureRequest
) -> None:
    server: Server | None = request.getfixturevalue("server") if is_url(place) else None
    make_older(place, new, migrations, server)
    if migrations < 4:
        _without_findings(place, server)
    for name in TEAMS:
        with Workspace.open(place, name=name, clock=clock()) as team, Workspace.open(new, name=name) as other:
            log = team.log
            assert [event.digest for event in log.tail()] == [event.digest for event in other.log.tail()]
            assert rows(team) == rows(other)
            assert log.learnt == LATEST
            assert [log.is_slot(slot) for slot in ("hotel0", "state", "diary", "d")] == [True, True, False, False]
            assert [log.is_dependency(one) for one in ("d", "own", "hotel0")] == [True, False, False]
            assert log.duties_opened("né\0" + name, since=START) == 1
            assert log.ended("judge", since=START) == 3, "a verdict, and two of the other writer's statements"
            kin = log.kin([log.item("s0"), log.item("f"), log.item("h0")], until=log.head, known=frozenset())
            assert [event.id for event in kin] == ["item:s0", "item:s1", "item:f", "item:f2", "item:f3"]
            report = audit(log)
            assert report.intact, report.problems
            team.observe("It goes on.", by="bob")
            assert log.learnt == LATEST
            assert audit(log).intact


def _without_findings(place: Path | str, server: Server | None) -> None:
    """Suspicions and verdicts were not counted before the fourth migration."""
    kinds = "SELECT pos & 1099511627775 FROM {0}event WHERE kind IN ('suspect', 'judge')"
    if server is not None:
        within = str(place).rpartition("schema=")[2] + "."
        gone = f"DELETE FROM {within}invalidation WHERE epoch IN ({kinds.format(within)})"
        server.sql(gone, database="team")
        return
    with closing(sqlite3.connect(place)) as file, file:
        file.execute(f"DELETE FROM invalidation WHERE epoch IN ({kinds.format('')})")


def test_an_older_store_whose_log_was_altered_opens_and_the_audit_reports_it(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "new.db", clock=clock()) as team:
        write_events(team)
    make_older(tmp_path / "old.db", tmp_path / "new.db", 4)
    with closing(sqlite3.connect(tmp_path / "old.db")) as file, file:
        file.execute("UPDATE event SET body = ? WHERE id = 'item:h1'", (b'{"kind":"fa',))
    with Workspace.open(tmp_path / "old.db", clock=clock()) as team:
        assert team.log.is_slot("hotel0")
        assert not audit(team.log).intact

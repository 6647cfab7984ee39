"""A synchronous standby takes over: nothing acknowledged is lost, and nothing is handed over twice."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import StoreError, TamperedError
from tests.cli.run import said
from tests.conftest import NIGHTLY
from tests.crash.failover import PATIENCE, fail_over_under_load
from tests.postgres import PASSWORD, ROLE, Server, Standby

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KILLS, PROCESSES = (60 if NIGHTLY else 5), 4

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")


@pytest.mark.slow
def test_a_promoted_standby_has_everything_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))

    def look(place: str) -> None:
        assert said("audit", "verify", "--db", place)["intact"] is True

    total = fail_over_under_load(tmp_path, random.Random(1), KILLS, PROCESSES, look)
    assert total.kills == KILLS
    assert total.errors
    assert total.exposures > KILLS * PROCESSES
    with capsys.disabled():
        print(f"\nfailover: {total}")


@pytest.fixture
def servers() -> Iterator[tuple[Server, Standby]]:
    with Server(fsync=True) as primary, Standby(primary) as standby:
        primary.lead()
        yield primary, standby


def both(*servers: Server, more: str = "") -> str:
    hosts = ",".join(f"127.0.0.1:{one.port}" for one in servers)
    return f"postgresql://{ROLE}:{PASSWORD}@{hosts}/team?schema=pair{more}"


@pytest.mark.slow
def test_a_store_is_the_same_at_each_of_its_servers(
    servers: tuple[Server, Standby], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = servers
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    with Workspace.open(both(standby, primary)) as team:
        team.observe("Both were named.", by="bob")
    # The standby alone, which cannot be written to.
    with pytest.raises(StoreError, match=r"standby; name every server in the URL"):
        Workspace.open(both(standby)).observe("To a standby.", by="bob")
    primary.kill()
    standby.promote()
    with Workspace.open(both(primary, standby)) as team:
        team.observe("Promoted.", by="bob")
    # Another store at either address is refused, however many are named.
    standby.sql("DROP SCHEMA pair CASCADE", database="team")
    for place in (both(primary, standby), both(standby)):
        with pytest.raises(TamperedError, match="is another store than before"):
            Workspace.open(place)


@pytest.mark.slow
def test_a_commit_that_stopped_waiting_for_its_standby_is_not_acknowledged(servers: tuple[Server, Standby]) -> None:
    primary, standby = servers
    with Workspace.open(both(primary)) as team:
        team.observe("It follows.", by="bob")
        standby.kill()
        caught: list[BaseException] = []

        def write() -> None:
            try:
                team.observe("On one server only.", by="bob")
            except StoreError as error:
                caught.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        with closing(psycopg.connect(primary.administrator, autocommit=True)) as client:
            end = time.monotonic() + PATIENCE
            while not (found := client.execute(waits).fetchall()) and time.monotonic() < end:
                time.sleep(0.02)
            client.execute("SELECT pg_cancel_backend(%s)", found[0])
        writer.join(PATIENCE)
    assert [str(one)[:60] for one in caught] == ["storage failed: the wait for the standby was canceled, so th"]

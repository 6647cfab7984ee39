"""A subscription waits for commits instead of asking for them: on both stores, with writers in other processes.

Unless a test says otherwise, nothing is looked at without a sign for an hour, so what is heard was announced.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from readmit import AsyncWorkspace, Workspace
from readmit.errors import StoreError
from readmit.log.engines import listener
from readmit.log.reads import LogReads
from readmit.presence.subscription import Lookout
from tests.conftest import ROOT
from tests.postgres import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG, HOUR, ITEMS = 240.0, 3_600.0, 12
AT_ONCE = 25.0
"""Seconds for what takes some milliseconds, unless the machine is busy: less than the 30 after which a listener looks
without a sign."""

# Revokes the item that each line of its input names, after running the code of its second argument.
WRITER = """
import os, signal, sys, time
from readmit import Workspace
team = Workspace.open(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    exec(sys.argv[2])
    team.revoke(line.strip(), by="bob")
    print(time.time(), flush=True)
"""


waits = threading.Event()
"""Set when a thread has looked and begins to wait. A sign that comes from then on is kept for it."""


@pytest.fixture(autouse=True)
def _only_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener.CommitListener, "patience", HOUR)
    wait = listener.CommitListener.wait

    def told(one: listener.CommitListener, seconds: float) -> None:
        waits.set()
        wait(one, seconds)

    monkeypatch.setattr(listener.CommitListener, "wait", told)


def prepared(place: Path | str) -> None:
    with Workspace.open(place) as team:
        source = team.observe("The hotels confirm.", by="bob")
        names = [f"h{number}" for number in range(ITEMS)]
        team.oblige("Plan", id="o", required=names, by="bob")
        for name in names:
            team.record(f"Hotel {name} is booked", id=name, slot=name, sources=[source], by="bob")
        ann = team.agent("ann", role="planner", task="trip")
        ann.depart()
        ann.come_back().expose()


class Heard:
    """Ann's subscription, listened to by a thread of its own."""

    def __init__(self, team: Workspace, every: float = HOUR) -> None:
        self.held = team.agent("ann", role="planner", task="trip").subscribe(every=every)
        assert self.held.wait(0) == ()
        self._pool = ThreadPoolExecutor(1)

    def next(self) -> Any:
        waits.clear()
        waiting = self._pool.submit(self.held.wait, LONG)
        assert waits.wait(LONG)
        return waiting


@contextmanager
def hearing(place: Path | str, every: float = HOUR) -> Iterator[Heard]:
    with Workspace.open(place) as team:
        heard = Heard(team, every)
        try:
            yield heard
        finally:
            heard.held.close()


@contextmanager
def writer(place: Path | str, first: str = "pass") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WRITER, str(place), first]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def revoke(process: subprocess.Popen[str], name: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    return float(process.stdout.readline() or "nan")


def items(found: Any) -> set[str]:
    return {one.item for one in found}


def test_a_commit_of_another_process_is_announced(place: Path | str) -> None:
    prepared(place)
    with hearing(place) as heard, writer(place) as other:
        for number in range(3):
            waiting = heard.next()
            committed = revoke(other, f"h{number}")
            assert items(waiting.result(LONG)) == {f"h{number}"}
            assert time.time() - committed < AT_ONCE


def test_no_commit_is_missed_between_a_look_and_the_wait(place: Path | str) -> None:
    prepared(place)
    with hearing(place) as heard, writer(place) as other, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(lambda: [revoke(other, f"h{number}") for number in range(ITEMS)])
        found: set[str] = set()
        while len(found) < ITEMS:
            news = items(heard.held.wait(LONG))
            assert news, f"only {sorted(found)} were heard"
            found |= news
        writing.result(LONG)


def test_a_subscription_that_nothing_happens_to_costs_nothing(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(place)
    reads: list[int] = []
    end = LogReads._end

    def counted(log: LogReads) -> Any:
        reads.append(1)
        return end(log)

    with hearing(place) as heard:
        monkeypatch.setattr(LogReads, "_end", counted)
        waiting = heard.next()
        before = time.process_time()
        time.sleep(1)
        used = time.process_time() - before
        assert not waiting.done()
        assert used < 0.25, "a thread that waits uses no processor; one that asks again and again uses all of it"
        assert len(reads) <= 3
        heard.held.close()
        assert waiting.result(AT_ONCE) == ()


def test_what_nobody_announced_is_found_by_looking(place: Path | str) -> None:
    """The sign of a commit may be lost: a full table of descriptors, a server between the two that drops it."""
    prepared(place)
    quiet = "import readmit.log.engines.listener as l; l.Doorbell.ring = lambda _: None"
    silent = f"{quiet}; team.admin.log.connection.bell.ws = 99"
    with hearing(place, every=1.0) as heard, writer(place, silent) as other:
        waiting = heard.next()
        revoke(other, "h0")
        assert items(waiting.result(LONG)) == {"h0"}


def test_an_item_that_ends_by_time_falls_without_a_sign(place: Path | str) -> None:
    prepared(place)
    with hearing(place) as heard, Workspace.open(place) as team:
        end = team._desk.writer.clock() + timedelta(seconds=1.5)
        team.close_validity("h0", end=end, by="bob")
        assert items(heard.held.wait(LONG)) == {"h0"}
        assert end <= team._desk.writer.clock() < end + timedelta(seconds=AT_ONCE)


def test_a_timeout_is_kept(place: Path | str) -> None:
    prepared(place)
    with hearing(place) as heard:
        start = time.monotonic()
        assert heard.held.wait(0.4) == ()
        assert 0.4 <= time.monotonic() - start < AT_ONCE


def test_closing_ends_a_wait_at_once(place: Path | str) -> None:
    prepared(place)
    with hearing(place) as heard:
        waiting = heard.next()
        heard.held.close()
        assert waiting.result(AT_ONCE) == ()
        assert list(heard.held) == []


def test_closing_the_workspace_ends_a_wait_with_an_error(place: Path | str) -> None:
    prepared(place)
    team = Workspace.open(place)
    heard = Heard(team)
    waiting = heard.next()
    team.close()
    with pytest.raises(StoreError, match="this store is closed"):
        waiting.result(AT_ONCE)
    heard.held.close()


def test_ctrl_c_ends_it_at_once(place: Path | str) -> None:
    prepared(place)
    who = ["--principal", "ann", "--role", "planner", "--task", "trip"]
    command = [sys.executable, "-m", "readmit", "subscribe", *who, "--every", "3600", "--db", str(place)]
    with (
        writer(place) as other,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process,
    ):
        revoke(other, "h0")
        assert process.stdout is not None
        assert process.stdout.readline().startswith("h0 is revoked")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=AT_ONCE)[0] == "Stopped.\n"


def test_an_event_loop_is_told_and_ends_at_once(place: Path | str) -> None:
    prepared(place)

    async def story(other: subprocess.Popen[str]) -> set[str]:
        async with AsyncWorkspace.open(place) as team:
            held = team.agent("ann", role="planner", task="trip").subscribe(every=HOUR)
            waiting = asyncio.create_task(held.wait())
            await asyncio.sleep(0.5)
            await asyncio.to_thread(revoke, other, "h0")
            heard = items(await asyncio.wait_for(waiting, LONG))
            cancelled = asyncio.create_task(held.wait())
            await asyncio.sleep(0.3)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(cancelled, AT_ONCE)
            last = asyncio.create_task(held.wait())
            await asyncio.sleep(0.3)
            held.close()
            assert await asyncio.wait_for(last, AT_ONCE) == ()
            return heard

    with writer(place) as other:
        assert asyncio.run(story(other)) == {"h0"}


def test_nothing_stays_open(place: Path | str) -> None:
    prepared(place)
    with Workspace.open(place) as team:
        Heard(team).held.close()
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            held = Heard(team).held
            held.wait(0.01)
            held.close()
            held.close()
        assert len(list(Path("/proc/self/fd").iterdir())) == before


# Of a file.


def test_a_writer_that_is_killed_before_it_rings_is_heard(tmp_path: Path) -> None:
    prepared(tmp_path / "team.db")
    killed = (
        "import readmit.log.engines.listener as l; l.Doorbell.ring = lambda _: os.kill(os.getpid(), signal.SIGKILL)"
    )
    with hearing(tmp_path / "team.db") as heard, writer(tmp_path / "team.db", killed) as other:
        waiting = heard.next()
        revoke(other, "h0")
        assert items(waiting.result(LONG)) == {"h0"}


def test_a_write_ahead_log_that_was_written_back_and_cut_is_still_watched(tmp_path: Path) -> None:
    prepared(tmp_path / "team.db")
    cut = "print(team.admin.log.connection.sql.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall(), file=sys.stderr)"
    with hearing(tmp_path / "team.db") as heard, writer(tmp_path / "team.db", cut) as other:
        for number in range(3):
            waiting = heard.next()
            revoke(other, f"h{number}")
            assert items(waiting.result(LONG)) == {f"h{number}"}


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_write_ahead_log_that_is_gone_ends_it(tmp_path: Path, how: str) -> None:
    prepared(tmp_path / "team.db")
    with hearing(tmp_path / "team.db") as heard:
        waiting = heard.next()
        log = tmp_path / "team.db-wal"
        if how == "deleted":
            log.unlink()
        else:
            (tmp_path / "new").write_bytes(log.read_bytes())
            (tmp_path / "new").replace(log)
        with pytest.raises(StoreError, match="was deleted, moved or replaced while the store was open"):
            waiting.result(AT_ONCE)


def test_where_nothing_is_announced_it_looks_every_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_LINUX", False)
    prepared(tmp_path / "team.db")
    with hearing(tmp_path / "team.db") as heard, writer(tmp_path / "team.db") as other:
        waiting = heard.next()
        revoke(other, "h0")
        assert items(waiting.result(LONG)) == {"h0"}


def test_a_store_in_memory_wakes_its_own_threads() -> None:
    with Workspace.open(":memory:") as team:
        source = team.observe("The hotel confirms.", by="bob")
        team.oblige("Plan", id="o", required=["hotel"], by="bob")
        team.record("Sunrise is booked", id="h", supports=["hotel"], sources=[source], by="bob")
        ann = team.agent("ann", role="planner", task="trip")
        ann.depart()
        ann.come_back().expose()
        heard = Heard(team)
        waiting = heard.next()
        team.revoke("h", by="bob")
        assert items(waiting.result(LONG)) == {"h"}
        heard.held.close()


# Of a server.


@pytest.fixture
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    with Server() as started:
        yield started


def test_a_server_that_restarts_is_waited_for(own_server: Server) -> None:
    place = own_server.url("team")
    prepared(place)
    with hearing(place) as heard:
        waiting = heard.next()
        own_server.stop("fast")
        time.sleep(1.5)
        own_server.start()
        with writer(place) as other:
            revoke(other, "h0")
            assert items(waiting.result(LONG)) == {"h0"}
            again = heard.next()
            revoke(other, "h1")
            assert items(again.result(LONG)) == {"h1"}


def test_a_server_that_stays_away_ends_it(own_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit.presence.subscription.OUTAGE_SECONDS", 1.0)
    place = own_server.url("team")
    prepared(place)
    with Workspace.open(place) as team:
        heard = Heard(team)
        own_server.stop("fast")
        with pytest.raises(StoreError):
            heard.held.wait(0)
        start = time.monotonic()
        with pytest.raises(StoreError):
            heard.held.wait(LONG)
        assert 1.0 <= time.monotonic() - start < LONG / 2
        heard.held.close()


def test_a_workspace_is_not_woken_by_another(fresh_url: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place = fresh_url()
    prepared(place)
    looks: list[int] = []
    look = Lookout.look

    def counted(lookout: Lookout, *, waits: bool) -> Any:
        looks.append(1)
        return look(lookout, waits=waits)

    with hearing(place) as heard, Workspace.open(place, name="other") as other:
        monkeypatch.setattr(Lookout, "look", counted)
        waiting = heard.next()
        seen = len(looks)
        for number in range(5):
            other.observe(f"News {number}", by="cal")
        time.sleep(0.5)
        assert len(looks) == seen
        heard.held.close()
        assert waiting.result(AT_ONCE) == ()

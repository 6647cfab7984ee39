"""The server is killed, its database restarts, its disk is full: nothing acknowledged is lost, no view is partial."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2 as httpx
import pytest

from readmit import Workspace
from tests.conftest import ROOT
from tests.postgres import Server
from tests.server.hosting import OTHER, TEAM
from tests.server.test_verbs import AT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = 60


@dataclass
class Team:
    """Agents and a writer that work until they are stopped, and what the server acknowledged to them."""

    url: str
    over: threading.Event = field(default_factory=threading.Event)
    recorded: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    bundles: list[dict[str, Any]] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)

    def work(self) -> list[threading.Thread]:
        """Start one writer and two agents."""
        works = [self._write, lambda: self._return("planner", "t0"), lambda: self._return("planner", "t1")]
        threads = [threading.Thread(target=self._until_over, args=(one,), daemon=True) for one in works]
        for one in threads:
            one.start()
        return threads

    def _until_over(self, work: Callable[[], None]) -> None:
        while not self.over.is_set():
            # A connection that ends, or an answer that never came, acknowledged nothing.
            with suppress(httpx.HTTPError):
                work()

    def _client(self, word: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {word}"}, timeout=LONG)

    def _write(self) -> None:
        with self._client("writer") as client:
            while not self.over.is_set():
                name = f"r-{uuid4().hex}"
                answer = client.post(f"{AT}/record", json={"text": f"Booked {name}", "id": name})
                self._heard(answer)
                if answer.status_code == 200:
                    self.recorded.append(f"item:{answer.json()}")

    def _return(self, role: str, on: str) -> None:
        agent = {"role": role, "task": on}
        with self._client("agent") as client:
            while not self.over.is_set():
                self._heard(client.post(f"{AT}/depart", json=agent))
                came = client.post(f"{AT}/come_back", json=agent)
                self._heard(came)
                if came.status_code != 200:
                    continue
                self.returned.append(f"return:{came.json()['id']}")
                proof = {**agent, "secret": came.json()["secret"]}
                shown = client.post(f"{AT}/returns/{came.json()['id']}/expose", json=proof)
                self._heard(shown)
                if shown.status_code == 200:
                    self.bundles.append(shown.json())

    def _heard(self, answer: httpx.Response) -> None:
        self.statuses.add(answer.status_code)
        if answer.status_code == 503:
            assert not [word for word in ("postgresql", "127.0.0.1", "team.db", "/") if word in answer.json()["detail"]]
            assert int(answer.headers["retry-after"]) > 0
            self.over.wait(0.02)


def prepared(place: str, keys: Path) -> None:
    """Two duties of one agent, each with its evidence, and the agent away from both."""
    for name in (TEAM, OTHER):
        with Workspace.open(place, name=name, keys=keys) as team:
            seen = team.observe("Confirmed.", by="A2")
            for on in ("t0", "t1"):
                team.record(f"Held for {on}", id=f"h-{on}", slot=f"hotel.{on}", task=on, sources=[seen], by="A2")
                team.oblige("Book", required=[f"hotel.{on}"], roles=["planner"], task=on, id=f"o-{on}", by="A2")
                team.agent("A1", role="planner", task=on).depart()


@contextmanager
def running(place: str, keys: Path, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server in a process of its own, which answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.server.child", place, str(keys), str(port), *more]
    process, url = subprocess.Popen(command, cwd=ROOT), f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + LONG
        while True:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < until, "the server did not start"
            with suppress(httpx.HTTPError):
                httpx.get(f"{url}/health")
                break
            time.sleep(0.05)
        yield process, url
    finally:
        process.kill()
        process.wait()


def worked(team: Team, seconds: float, outage: Callable[[], object]) -> None:
    """Let the team work, then the outage, and then end it."""
    threads = team.work()
    until = time.monotonic() + LONG
    while not (team.recorded and team.bundles):
        assert time.monotonic() < until, f"nothing was acknowledged: {team.statuses}"
        time.sleep(0.01)
    time.sleep(seconds)
    outage()
    team.over.set()
    for one in threads:
        one.join(LONG)
        assert not one.is_alive()


def whole(team: Team, place: str, keys: Path) -> int:
    """Everything that was acknowledged is on the log, and every view that was handed over is one that was decided.

    Returns how many events the log has of such writers in all.
    """
    with Workspace.open(place, name=TEAM, keys=keys) as opened:
        ids = {event.id for event in opened.admin.log.tail()}
        assert set(team.recorded) | set(team.returned) <= ids
        for bundle in team.bundles:
            past = opened.returned(bundle["view"]["return_id"])
            assert past.items == tuple(one["id"] for one in bundle["view"]["items"])
            assert sorted(past.items) == sorted(one["id"] for one in bundle["items"])
            assert past.replay().matches
            assert f"expose:{past.id}" in ids
    command = [sys.executable, "-m", "readmit", "audit", "verify", "--full", "--db", place, "--workspace", TEAM]
    said = subprocess.run(command, env={"READMIT_KEYS": str(keys)}, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return sum(one.startswith(("item:r-", "return:")) for one in ids)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "team.db")
    made: str = request.getfixturevalue("fresh_url")()
    return made


@pytest.mark.parametrize("times", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_loses_nothing(
    place: str, tmp_path: Path, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    keys, chance, acknowledged, exposed = tmp_path / "keys", random.Random(times), 0, 0
    prepared(place, keys)
    for _ in range(times):
        with running(place, keys) as (process, url):
            team = Team(url)
            worked(team, chance.random() / 2, process.kill)
        written = whole(team, place, keys)
        acknowledged += len(team.recorded) + len(team.returned)
        exposed += len(team.bundles)
    with capsys.disabled() if times > 1 else nullcontext():
        print(f"\n{times} kills, {acknowledged} acknowledged, {written - acknowledged} more, {exposed} exposures")
    with running(place, keys) as (_, url):
        team = Team(url)
        worked(team, 0.1, lambda: None)
    assert team.statuses <= {200, 409}


def test_a_database_that_restarts_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")
    keys = tmp_path / "keys"
    with Server(fsync=True) as database:
        place = database.url("restarted")
        prepared(place, keys)

        def restart() -> None:
            database.stop()
            time.sleep(0.3)
            database.start()
            before = len(team.recorded), len(team.returned)
            until = time.monotonic() + LONG
            while len(team.recorded) <= before[0] + 1 or len(team.returned) <= before[1] + 1:
                assert time.monotonic() < until, f"the server does not find its database again: {team.statuses}"
                time.sleep(0.02)

        with running(place, keys) as (_, url):
            team = Team(url)
            worked(team, 0.2, restart)
        assert 503 in team.statuses
        assert team.statuses <= {200, 409, 503}
        whole(team, place, keys)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """Nothing more is written, and everything that was acknowledged is there once there is room again."""
    place, keys = str(tmp_path / "team.db"), tmp_path / "keys"
    prepared(place, keys)

    def until_full() -> None:
        until = time.monotonic() + LONG
        while 503 not in team.statuses:
            assert time.monotonic() < until, team.statuses
            time.sleep(0.02)
        with httpx.Client(base_url=team.url, headers={"Authorization": "Bearer all"}) as client:
            assert client.get(AT).status_code == 200

    with running(place, keys, str(1 << 20)) as (_, url):
        team = Team(url)
        worked(team, 0, until_full)
    whole(team, place, keys)
    with running(place, keys) as (_, url):
        after = Team(url)
        worked(after, 0.1, lambda: None)
    whole(after, place, keys)

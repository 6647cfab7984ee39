"""What does HTTP add to a return, how many returns a second does a server decide, and what does it do with too many?

The server and the clients are processes of their own, on loopback. Every client keeps one connection. A return has
1,000 candidates, and its answer no dispositions.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from tests.postgres import Server as Database

from benchmarks.result import Result, at_least, at_most, scratch, sized
from benchmarks.team import DEPARTURE, POLICY, TASK, start
from readmit import Workspace
from readmit.server import Caller, Credentials, ServerSettings, make_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CANDIDATES = sized(1_000, 100)
CLIENTS = (1, 8, 64)
SECONDS = sized(12, 1)
SINGLES, STRETCH = sized(400, 10), 20
NAME = "team"
PATH = f"/v1/workspaces/{NAME}/come_back"
BODY = json.dumps({"role": "planner", "task": TASK, "checkpoint": DEPARTURE})
ONE = Caller(principal="A1", roles=("planner",), workspaces=(NAME,), rights=frozenset({"agent"}), credential="bench")


class _Everybody(Credentials):
    async def caller(self, headers: Mapping[str, str]) -> Caller:  # noqa: ARG002 - what credentials cost is not asked
        return ONE


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    results: list[Result] = []
    with scratch() as folder, Database(fsync=True) as database:
        for kind, place in (("SQLite", str(Path(folder, "team.db"))), ("PostgreSQL", database.url())):
            with Workspace.open(place, name=NAME, policy=POLICY) as team, team.batch():
                start(team, CANDIDATES, step)
            results += _measured(kind, place)
    return results


def _measured(kind: str, place: str) -> Iterator[Result]:
    with _serving(place) as port:
        embedded, over_http = _singles(place, port)
        loads = {clients: _load(port, clients, SECONDS) for clients in CLIENTS}
    what = f"{kind}, {CANDIDATES:,} candidates"
    yield at_most(f"{what}: HTTP adds to a return at p50, one client", over_http - embedded, 2.0, "ms")
    yield at_most(f"{what}: the return in the process itself, p50", embedded, None, "ms")
    for clients, load in loads.items():
        many = f"{what}, {clients} client{'s' if clients > 1 else ''}"
        yield at_least(f"{many}: returns", load["each second"], None, "/s")
        for name in ("p50", "p95", "p99"):
            yield at_most(f"{many}: {name}", load[name], None, "ms")
        if clients == 8:
            yield at_most(f"{many}: p99 / p50", load["p99"] / load["p50"], 10.0, "x")
    with _serving(place, waiting=4) as port:
        load = _load(port, CLIENTS[-1], SECONDS / 2)
        after = _load(port, 1, SECONDS / 4)
    answered = set(load["statuses"])
    assert answered <= {"200", "503"}, answered
    assert set(after["statuses"]) == {"200"}, after["statuses"]
    share = load["statuses"].get("503", 0) / sum(load["statuses"].values())
    yield at_least(f"{what}, room for 4 that wait, {CLIENTS[-1]} clients: refused with 503", share * 100, None, "%")
    yield at_most(f"{what}: p50 after that overload / before", after["p50"] / loads[1]["p50"], 2.0, "x")


def _singles(place: str, port: int) -> tuple[float, float]:
    """Milliseconds of a return at p50, embedded and over HTTP, from a process that has done nothing else."""
    command = [sys.executable, "-m", "benchmarks.server", "singles", place, str(port)]
    embedded, over_http = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return embedded, over_http


def singles(place: str, port: str) -> None:
    """Decide returns in this process and over HTTP, in turns, and print how long each took at best p50."""
    here, there = [], []
    connection = _connected(int(port))
    with Workspace.open(place, name=NAME) as team:
        agent = team.principal("A1").agent("A1", role="planner", task=TASK)
        for _ in range(SINGLES):
            here.append(_timed(lambda: agent.come_back(checkpoint=DEPARTURE)))
            there.append(_timed(lambda: _asked(connection)))
    connection.close()
    print(json.dumps([_best_p50(here), _best_p50(there)]))


def _best_p50(times: list[float]) -> float:
    """The least median of several stretches: what is left is the work, not the machine's other business."""
    return min(statistics.median(times[at : at + STRETCH]) for at in range(0, len(times), STRETCH))


def _connected(port: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _asked(connection: http.client.HTTPConnection) -> int:
    connection.request("POST", PATH, BODY, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000


@contextmanager
def _serving(place: str, **settings: int) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "benchmarks.server", "serve", place, str(port), json.dumps(settings)]
    process = subprocess.Popen(command)
    try:
        until = time.monotonic() + 60
        while _status(port) != 200:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def _status(port: int) -> int:
    with suppress(OSError):
        return _asked(_connected(port))
    return 0


def serve(place: str, port: str, settings: str) -> None:
    """Serve one store until this process is ended."""
    app = make_app(ServerSettings(store=place, **json.loads(settings)), _Everybody())
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", access_log=False)


def _load(port: int, clients: int, seconds: float) -> dict[str, Any]:
    """The load of so many clients, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.server", "load", str(port), str(clients), str(seconds)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def load(port: str, clients: str, seconds: str) -> None:
    """Send returns from many threads, each after the last was answered, and print how long they took."""
    times: list[float] = []
    statuses: Counter[str] = Counter()
    until = time.monotonic() + float(seconds)

    def send() -> None:
        connection = _connected(int(port))
        while time.monotonic() < until:
            began = time.perf_counter()
            status = _asked(connection)
            statuses[str(status)] += 1
            if status == 200:
                times.append((time.perf_counter() - began) * 1_000)
            else:
                time.sleep(0.05)

    began = time.monotonic()
    threads = [threading.Thread(target=send) for _ in range(int(clients))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    cuts = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else [times[0]] * 99
    print(
        json.dumps(
            {
                "each second": len(times) / (time.monotonic() - began),
                "p50": cuts[49],
                "p95": cuts[94],
                "p99": cuts[98],
                "statuses": statuses,
            }
        )
    )


if __name__ == "__main__":
    {"serve": serve, "singles": singles, "load": load}[sys.argv[1]](*sys.argv[2:])

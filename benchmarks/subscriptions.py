"""How soon does an agent learn that an item of its view fell, and what does waiting cost?

The item is revoked by another process, which says when its commit was durable. Waiting costs processor time only if
somebody polls: in a file as on a server, nothing happens until a commit is announced.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.postgres import Server

from benchmarks.result import Result, at_most, scratch, sized
from benchmarks.team import POLICY
from readmit import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit import Agent

ITEMS, SETTLED_SECONDS, IDLE_SECONDS = sized(20, 2), 1.0, 5.0
POLLED = 50
"""Milliseconds between two looks of a subscription that polls."""
_REVOKE = """
import sys, time
from readmit import Workspace
with Workspace.open(sys.argv[1]) as team:
    for line in sys.stdin:
        team.revoke(line.strip(), by="A2", reason="no longer offered")
        print(time.monotonic(), flush=True)
"""


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as folder, Server(fsync=True) as server:
        found = {"file": str(Path(folder, "team.db")), "server": server.url()}
        return [row for name, place in found.items() for row in _measured(name, place, step)]


def _measured(name: str, place: str, step: Callable[[int], None]) -> list[Result]:
    with Workspace.open(place, policy=POLICY) as team:
        agent = _holding(team)
        told: list[tuple[str, float]] = []
        heard = threading.Semaphore(0)

        def report(fallen: object) -> None:
            told.append((str(fallen), time.monotonic()))
            heard.release()

        command = [sys.executable, "-c", _REVOKE, place]
        with (
            agent.subscribe(report=report),
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        ):
            assert other.stdin is not None
            assert other.stdout is not None
            late = []
            for number in range(ITEMS):
                print(f"i{number}", file=other.stdin, flush=True)
                committed = float(other.stdout.readline())
                if not heard.acquire(timeout=60):
                    raise SystemExit(f"a subscription on a {name} was not told that i{number} fell")
                late.append(told[-1][1] - committed)
                step(1)
            other.stdin.close()
            other.wait()
            # That the other process closed the store is a sign too, and after a sign a subscription looks.
            time.sleep(SETTLED_SECONDS)
            waiting = _share()
        # What the process does besides, such as drawing the bar of its progress.
        idle = max(0.0, waiting - _share())
    return [
        at_most(
            f"a subscription on a {name} learns of a commit by another process, median",
            median(late) * 1000,
            POLLED,
            "ms",
        ),
        at_most(f"processor time of a subscription on a {name} that waits, of one core", idle * 100, 0.1, "%"),
    ]


def _share() -> float:
    """Share of a core that this process takes while its main thread sleeps."""
    before = time.process_time()
    time.sleep(IDLE_SECONDS)
    return (time.process_time() - before) / IDLE_SECONDS


def _holding(team: Workspace) -> Agent:
    """An agent with a view of items that are all needed."""
    source = team.observe("Everything was looked into.", by="A2", task="trip")
    needed = [f"d{number}" for number in range(ITEMS)]
    for number, name in enumerate(needed):
        team.record(f"Statement {number}", id=f"i{number}", supports=[name], sources=[source], by="A2", task="trip")
    team.oblige("Do it", required=needed, sources=[source], by="lead", task="trip")
    agent = team.agent("A1", role="planner", task="trip")
    agent.depart()
    back = agent.come_back()
    if not back.admitted:
        raise SystemExit(f"not the case meant to be measured: {back.kind}")
    back.expose()
    return agent


if __name__ == "__main__":
    for result in run():
        print(result)

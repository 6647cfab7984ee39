"""What does a return take in memory and on disk, and does a process that wrote a large store still trust it?

Half of 10,000 candidates fall after the departure; the same store without that is the measure. Then everything falls
with one item: a chain of premises, a star around one premise, and one slot, at 2,000 items and at ten times that. Each
runs in a process of its own, whose processor time is the best of three. One more process writes 1,000,000 items and
returns without opening the store again.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_least, at_most, best, peak_memory, scratch, sized
from benchmarks.team import DEPARTURE, POLICY, TASK, VISIBLE, grow, start
from readmit import Workspace
from readmit.lab import desk_of

if TYPE_CHECKING:
    from collections.abc import Callable

FALLEN, WRITTEN = VISIBLE // 2, sized(1_000_000)
SHAPES: dict[str, Callable[[int], dict[str, object]]] = {
    "chain": lambda number: {"depends_on": [f"i{number - 1}"] if number else []},
    "star": lambda number: {"depends_on": ["i0"] if number else []},
    "slot": lambda _: {"slot": "s"},
}
FEW, TIMES = sized(2_000, 100), 10
_LONGEST = "SELECT max(max(length(event.body)), (SELECT max(length(body)) FROM audit)) FROM event WHERE kind = 'return'"


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as directory:
        found = []
        for fallen in (0, FALLEN):
            path = Path(directory, f"{fallen}.db")
            with Workspace.open(path, policy=POLICY) as team, team.batch():
                start(team, VISIBLE, step)
                for number in range(VISIBLE - fallen - 5, VISIBLE - 5):
                    team.revoke(f"i{number}", by=f"A{number % 7}", reason="no longer offered")
            found.append(_in_a_process(str(path)))
        shapes = {
            (shape, count): _in_a_process(_fallen(directory, shape, count, step))
            for shape in SHAPES
            for count in (FEW, FEW * TIMES)
        }
        written = _in_a_process(str(Path(directory, "one.db")), str(WRITTEN))
        step(WRITTEN)
    whole, half = found
    of = f"{VISIBLE:,} candidates, {FALLEN:,} of them fallen"
    return [
        at_most(f"return, {of} / none fallen", half["seconds"] / whole["seconds"], 2.0, "x"),
        at_most(f"peak memory of a return, {of}", half["megabytes"], 150, "MB"),
        at_most(f"the file grows by a return, {of}", half["grown"] / 1e6, None, "MB"),
        at_most("the file grows by a return, none fallen", whole["grown"] / 1e6, None, "MB"),
        *(row for shape in SHAPES for row in _scaling(shape, shapes[shape, FEW], shapes[shape, FEW * TIMES])),
        at_least(f"a process that wrote {WRITTEN:,} items returns", written["admitted"], 1, "of 1"),
        at_most("its peak memory", written["megabytes"], None, "MB"),
    ]


def _fallen(directory: Path, shape: str, count: int, step: Callable[[int], None]) -> str:
    """A store of items that all fall with one."""
    path = Path(directory, f"{shape}{count}.db")
    with Workspace.open(path, policy=POLICY) as team, team.batch():
        source = team.observe("Everything was looked into.", by="A2", task=TASK)
        for number in range(count):
            fields = SHAPES[shape](number)
            team.record(f"Statement {number}", id=f"i{number}", sources=[source], by="A2", task=TASK, **fields)
            step(1)
        team.agent("A1", role="planner", task=TASK).depart(id=DEPARTURE)
        if shape == "slot":
            team.record("The last statement", slot="s", sources=[source], by="A2", task=TASK)
        else:
            team.revoke("i0", by="A2", reason="no longer offered")
    return str(path)


def _scaling(shape: str, few: dict[str, float], many: dict[str, float]) -> list[Result]:
    of = f"return, {shape} of {FEW * TIMES:,} that falls"
    return [
        at_most(f"{of} / {FEW:,}, time", many["seconds"] / few["seconds"], TIMES, "x"),
        at_most(f"{of} / {FEW:,}, calls", many["calls"] / few["calls"], TIMES, "x"),
        at_most(f"{of} / {FEW:,}, what it adds to the file", many["grown"] / few["grown"], TIMES, "x"),
        at_most(f"{of}, peak memory", many["megabytes"], None, "MB"),
        at_most(f"{of}, the longest row that it writes", many["longest"] / 1000, None, "kB"),
    ]


def _in_a_process(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _measure(path: Path, written: int) -> dict[str, float]:
    with Workspace.open(path, policy=POLICY if written else None) as team:
        if written:
            with team.batch():
                start(team, VISIBLE, lambda _: None)
            grow(team, VISIBLE, written, lambda _: None)
        agent = team.agent("A1", role="planner", task=TASK)
        before = _size(team)
        returned = agent.come_back(checkpoint=DEPARTURE)
        grown = _size(team) - before
        longest = desk_of(team).log.connection.sql.execute(_LONGEST, ()).fetchone()[0]
        megabytes = peak_memory()
        seconds = best(lambda: agent.come_back(checkpoint=DEPARTURE), 3, clock=time.process_time)
        with cProfile.Profile() as profile:
            agent.come_back(checkpoint=DEPARTURE)
        calls = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return {
        "admitted": returned.admitted,
        "seconds": seconds,
        "calls": calls,
        "grown": grown,
        "megabytes": megabytes,
        "longest": longest,
    }


def _size(team: Workspace) -> int:
    sql = desk_of(team).log.connection.sql
    (pages,), (each,) = (sql.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(pages) * int(each)


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))

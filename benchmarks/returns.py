"""How long does a return take, against the floor, and does the size of the store matter?

The floor reads the same rows (items and their evidence), decodes them and hashes them once. Returns and floor alternate
in one fresh process per store size, and processor time is compared. The first return after the store was opened proves
everything it reads; later ones keep what was proven. Loading Python modules is measured by ``startup``, not here.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.result import Result, at_most, best, peak_memory, scratch, sized
from benchmarks.team import DEPARTURE, EVENTS_SINCE, TASK, VISIBLE, build, fill
from readmit import Workspace
from readmit.lab import desk_of
from readmit.log.engines.sql import SHIFT
from readmit.records.canonical import SALT_BYTES
from readmit.records.evidence import Evidence
from readmit.records.items import AnyItem

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL, LARGE = sized(100_000, 2_000), sized(1_000_000, 6_000)
_BODIES = "SELECT body FROM event WHERE kind IN ('record', 'open', 'observe') AND pos IN"
_OF_TASK = "FROM audience WHERE ws = 1 AND class = 'state' AND task = ? AND principal = '' AND role = ''"
_ITEMS = f"SELECT ? + epoch {_OF_TASK}"
_BEHIND = f"SELECT ? + evidence FROM binding WHERE ws = 1 AND item IN (SELECT epoch {_OF_TASK})"  # noqa: S608 - our own names


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as directory:
        path = Path(directory, "team.db")
        build(path, step)
        fill(path, VISIBLE, SMALL, step)
        small = _measured(path)
        fill(path, SMALL, LARGE, step)
        large = _measured(path)
    events = f"{VISIBLE:,} candidates, {EVENTS_SINCE:,} events since departure"
    return [
        at_most(f"first return / floor, {events}, {SMALL:,} items", small["first"] / small["floor"], 3.0, "x"),
        at_most("later return / floor", small["later"] / small["floor"], 1.5, "x"),
        at_most(f"first return, {LARGE:,} / {SMALL:,} items", large["first"] / small["first"], 1.5, "x"),
        at_most(f"peak memory of a first return, {SMALL:,} items", small["megabytes"], 150, "MB"),
        at_most("peak memory after later ones, exposure and replay", small["megabytes later"], 150, "MB"),
        at_most("exposure / floor", small["expose"] / small["floor"], None, "x"),
        at_most("replay / floor", small["replay"] / small["floor"], 3.0, "x"),
    ]


def _measured(path: Path) -> dict[str, float]:
    """Measure in a process of its own, so that memory is the return's and nothing else is warm."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.returns", str(path)], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(run.stdout)
    return measured


def _measure(path: Path) -> dict[str, float]:
    _load_modules()
    least: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        least[name] = min(least.get(name, float("inf")), best(work, 1, clock=time.process_time))

    def measure() -> tuple[float, float]:
        with Workspace.open(path) as team:
            agent = team.agent("A1", role="planner", task=TASK)
            timed("first", lambda: agent.come_back(checkpoint=DEPARTURE))
            after_first = peak_memory()
            for _ in range(3):
                timed("floor", lambda: _floor(team))
                timed("later", lambda: agent.come_back(checkpoint=DEPARTURE))
            last = agent.come_back(checkpoint=DEPARTURE)
            if not last.admitted or len(last.dispositions) != VISIBLE:
                raise SystemExit(f"not the case meant to be measured: {last.kind}, {len(last.dispositions)} candidates")
            timed("expose", last.expose)
            timed("replay", lambda: team.returned(last.id).replay())
        return after_first, peak_memory()

    # Memory of the first round: later ones begin with what the interpreter has not given back.
    (first, later), *_ = [measure() for _ in range(3)]
    return least | {"megabytes": first, "megabytes later": later}


def _load_modules() -> None:
    """Return once to a small team, with everything that is imported on the way."""
    with scratch() as directory, Workspace.open(Path(directory, "small.db")) as team:
        agent = team.agent("A1", role="planner", task=TASK)
        agent.depart()
        team.returned(agent.come_back().id).replay()


def _floor(team: Workspace) -> list[tuple[object, str]]:
    sql = desk_of(team).log.connection.sql
    read = []
    for epochs, decoder in ((_ITEMS, msgspec.json.Decoder(AnyItem)), (_BEHIND, msgspec.json.Decoder(Evidence))):
        rows = sql.execute(f"{_BODIES} ({epochs})", (1 << SHIFT, TASK)).fetchall()
        read += [(decoder.decode(body[SALT_BYTES:]), hashlib.sha256(body).hexdigest()) for (body,) in rows]
    return read


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]))))

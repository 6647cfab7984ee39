"""How long does a return take, against the floor, and does the size of the store matter?

The floor reads the same rows (items and their evidence), decodes them and hashes them once. Return and floor
alternate in one fresh process per store size.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.result import Result, at_most, best, scratch
from benchmarks.team import DEPARTURE, EVENTS_SINCE, TASK, VISIBLE, build, fill
from readmit import Workspace
from readmit.records.evidence import Evidence
from readmit.records.items import AnyItem
from readmit.store.schema import SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL, LARGE = 100_000, 1_000_000


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
        at_most(f"return / floor, {events}, {SMALL:,} items", small["return"] / small["floor"], 3.0, "x"),
        at_most(f"same return, {LARGE:,} / {SMALL:,} items", large["return"] / small["return"], 1.5, "x"),
        at_most(f"peak memory of that return, {SMALL:,} items", small["megabytes"], 200, "MB"),
        at_most("exposure / floor", small["expose"] / small["floor"], None, "x"),
        at_most("replay / floor", small["replay"] / small["floor"], None, "x"),
    ]


def _measured(path: Path) -> dict[str, float]:
    """Measure in a process of its own, so that memory is the return's and nothing else is warm."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.returns", str(path)], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(run.stdout)
    return measured


def _measure(path: Path) -> dict[str, float]:
    with Workspace.open(path) as team:
        agent = team.agent("A1", role="planner", task=TASK)
        last = agent.come_back(checkpoint=DEPARTURE)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if not last.admitted or len(last.dispositions) != VISIBLE:
            raise SystemExit(f"not the case meant to be measured: {last.kind}, {len(last.dispositions)} candidates")
        floor = returned = float("inf")
        for _ in range(5):
            floor = min(floor, best(lambda: _floor(team), 1))
            returned = min(returned, best(lambda: agent.come_back(checkpoint=DEPARTURE), 1))
        exposed = best(agent.come_back(checkpoint=DEPARTURE).expose, 1)
        replayed = best(lambda: team.replay(last.id), 2)
    return {"floor": floor, "return": returned, "expose": exposed, "replay": replayed, "megabytes": megabytes}


def _floor(team: Workspace) -> list[tuple[object, str]]:
    sql = team.log.connection.sql  # type: ignore[attr-defined]
    read = []
    for kind, decoder in (("state", msgspec.json.Decoder(AnyItem)), ("observation", msgspec.json.Decoder(Evidence))):
        rows = sql.execute(
            "SELECT body FROM event WHERE kind IN ('record', 'open', 'observe') AND pos IN "
            "(SELECT ? + epoch FROM audience WHERE ws = 1 AND class = ? AND task = ? AND principal = '' AND role = '')",
            (1 << SHIFT, kind, TASK),
        ).fetchall()
        read += [(decoder.decode(body), hashlib.sha256(body).hexdigest()) for (body,) in rows]
    return read


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]))))

"""What does a return cost if some of its evidence can be looked at again?

The same 10,000 candidates: without probes; with one behind every twentieth, looked at before and still fresh; and with
files that are looked at before every return, as files are by default. The three alternate, and processor time is
measured, because each return reads the same stores. Last, a file behind every candidate, all of them due, in a process
that has not seen them yet, with every look written down: what that takes beyond a return without probes. Run it with
``python -m benchmarks sources``.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_most, scratch, sized
from readmit import Policy, Workspace
from readmit.sources import File

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit import Agent

ITEMS, EVERY, DEPENDENCIES = sized(10_000, 400), 20, 40
TASK, DEPARTURE = "trip", "bench"
DAY = 86_400
ROUNDS = sized(5, 2)


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as folder, ExitStack() as opened:
        agents = []
        ahead = timedelta()
        # None: no probe. Otherwise the lifetime that each probe states.
        for name, lifetime in (("plain", None), ("fresh", 30 * DAY), ("files", 0)):
            clock = lambda: datetime.now(UTC) + ahead  # noqa: E731 - it reads what is moved on below
            team = Workspace.open(folder / f"{name}.db", policy=Policy(budgets={"items": 64}), clock=clock)
            agents.append(_built(opened.enter_context(team), folder, step, lifetime=lifetime))
        # Everything is looked at once, so that a look is on record for each.
        ahead = timedelta(days=31)
        for agent in agents:
            _back(agent)
        times = [
            min(several) for several in zip(*([_back(agent) for agent in agents] for _ in range(ROUNDS)), strict=True)
        ]
        every, beside = _everything_due(folder, step)
    without, fresh, files = times
    share = f"{ITEMS:,} candidates, {100 // EVERY} % of them with a probe"
    return [
        at_most(f"return / return without probes, {share}, looked at before and fresh", fresh / without, 1.2, "x"),
        at_most(
            f"return / return without probes, {share}, each a file and looked at again", files / without, None, "x"
        ),
        at_most(
            f"{ITEMS:,} due file sources in one return, CPU beyond a return without probes", every - beside, 0.5, "s"
        ),
    ]


def _everything_due(folder: Path, step: Callable[[int], None]) -> tuple[float, float]:
    """Processor time of a return that looks at all its sources for the first time, and of one that has none."""
    policy = Policy(budgets={"items": 64})
    for name, lifetime in (("all", 0), ("none", None)):
        with Workspace.open(folder / f"{name}.db", policy=policy) as team:
            _built(team, folder, step, lifetime=lifetime, every=1)
    # The version of a file that has just changed is not trusted.
    time.sleep(2.5)
    times: dict[str, list[float]] = {"all": [], "none": []}
    for number in range(1, ROUNDS + 1):
        # So late that the look before is too old, and this one is written down.
        clock = lambda ahead=timedelta(days=number): datetime.now(UTC) + ahead  # noqa: E731
        for name, taken in times.items():
            with Workspace.open(folder / f"{name}.db", clock=clock) as team:
                before = team.epoch
                taken.append(_back(team.agent("A1", role="planner", task=TASK)))
                if (team.epoch - before > 1) != (name == "all"):
                    raise SystemExit("not the case meant to be measured: which looks are written down")
    return min(times["all"]), min(times["none"])


def _back(agent: Agent) -> float:
    start = time.process_time()
    back = agent.come_back(checkpoint=DEPARTURE)
    if not back.admitted or len(back.dispositions) != ITEMS + 1:
        raise SystemExit(f"not the case meant to be measured: {back.kind}, {len(back.dispositions)} candidates")
    return time.process_time() - start


def _built(
    team: Workspace, folder: Path, step: Callable[[int], None], *, lifetime: int | None, every: int = EVERY
) -> Agent:
    with team.batch():
        for number in range(ITEMS):
            text = f"Statement {number} about the part of the plan that somebody looked into and wrote down."
            if number % every == 0:
                note = folder / f"note{number}.txt"
                note.write_text(f"{text}\n", encoding="utf-8")
            if lifetime is not None and number % every == 0:
                seen = team.observe(probe=File(note.name, lifetime=lifetime), by="A2", task=TASK)
            else:
                seen = team.observe(f"Observed: {text}", by="A2", task=TASK)
            supports = [f"d{number % DEPENDENCIES}"]
            team.record(
                text, id=f"i{number}", slot=f"s.{number}", supports=supports, sources=[seen], by="A2", task=TASK
            )
            step(1)
        needed = [f"d{number}" for number in range(DEPENDENCIES)]
        team.oblige("Do it", required=needed, critical=needed[:1], by="lead", task=TASK)
        agent = team.agent("A1", role="planner", task=TASK)
        agent.depart(id=DEPARTURE)
    return agent

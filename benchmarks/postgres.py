"""What does a server cost beside a file, and does the size of the store matter there either?

Both hold the same team on the same disk, both commit durably, and they are asked in turns.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from tests.postgres import Server

from benchmarks.result import Result, at_least, at_most, scratch, sized
from benchmarks.team import DEPARTURE, EVENTS_SINCE, POLICY, TASK, VISIBLE, build, fill
from readmit import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL, LARGE = VISIBLE, sized(100_000, 2_000)
ROUNDS, SINGLES, LOOP, MANY = sized(5, 2), sized(40, 5), sized(500, 5), sized(5_000, 5)
TEXT = "Observation {}, long enough to be like a real one."


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as folder, Server(fsync=True) as server:
        places = (str(Path(folder, "team.db")), server.url())
        for place in places:
            Workspace.open(place, policy=POLICY).close()
        appends = _turns(places, _appends)
        plain = _plain(places[1])
        for place in places:
            build(place, step)
        small = _turns(places, _returns)
        for place in places:
            fill(place, SMALL, LARGE, step)
        large = _turns(places, _returns)
    size = f"{VISIBLE:,} candidates, {EVENTS_SINCE:,} events since departure"
    return [
        at_least("durable events / plain inserts on the same server, one connection each", plain, 0.7, "x"),
        *(at_most(f"{what}, server / file", there / here, None, "x") for what, here, there in _pairs(appends)),
        *(at_most(f"{what} on the server", there * 1000, None, "ms") for what, _, there in _pairs(appends)),
        *(at_most(f"{what}, {size}, {SMALL:,} items, server / file", b / a, None, "x") for what, a, b in _pairs(small)),
        *(at_most(f"{what}, same, {LARGE:,} items, server / file", b / a, None, "x") for what, a, b in _pairs(large)),
        at_most(
            f"same return on the server, {LARGE:,} / {SMALL:,} items", large[1]["return"] / small[1]["return"], 1.5, "x"
        ),
    ]


def _pairs(measured: list[dict[str, float]]) -> list[tuple[str, float, float]]:
    here, there = measured
    return [(what, here[what], there[what]) for what in here]


def _turns(places: tuple[str, str], measure: Callable[[Workspace, int], dict[str, float]]) -> list[dict[str, float]]:
    """The best of several rounds of each, in turns: the disk and the machine change their mood by the second."""
    best: list[dict[str, float]] = [{}, {}]
    for turn in range(ROUNDS):
        for place, known in zip(places, best, strict=True):
            with Workspace.open(place) as team:
                for what, seconds in measure(team, turn).items():
                    known[what] = min(seconds, known.get(what, seconds))
    return best


def _plain(url: str) -> float:
    """Events per plain insert in the same time, in turns. Both commit with the server's own ``synchronous_commit``."""
    ours = theirs = 0.0
    with psycopg.connect(url.partition("?")[0], autocommit=True) as plain, Workspace.open(url) as team:
        plain.execute("CREATE TABLE public.plain (id BIGSERIAL PRIMARY KEY, body BYTEA)")
        for turn in range(ROUNDS):
            theirs += _timed(lambda: _inserts(plain))
            ours += _timed(lambda turn=turn: _singles(team, f"beside {turn}"))
    return theirs / ours


def _inserts(plain: psycopg.Connection[tuple[object, ...]]) -> None:
    for _ in range(SINGLES):
        plain.execute("INSERT INTO public.plain (body) VALUES (%s)", (b"x" * 300,))


def _singles(team: Workspace, turn: str) -> None:
    for number in range(SINGLES):
        team.observe(TEXT.format(f"{turn}.{number}"), by="A1", task="other")


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _appends(team: Workspace, turn: int) -> dict[str, float]:
    def loop() -> None:
        with team.batch():
            for number in range(LOOP):
                team.observe(TEXT.format(f"loop {turn}.{number}"), by="A1", task="other")

    def many() -> None:
        team.observe_many([TEXT.format(f"many {turn}.{number}") for number in range(MANY)], by="A1", task="other")

    return {
        "one durable event": _timed(lambda: _singles(team, f"single {turn}")) / SINGLES,
        "one event of a batch of calls": _timed(loop) / LOOP,
        "one event of a batch in one call": _timed(many) / MANY,
    }


def _returns(team: Workspace, _: int) -> dict[str, float]:
    agent = team.agent("A1", role="planner", task=TASK)
    last = agent.come_back(checkpoint=DEPARTURE)
    if not last.admitted or len(last.dispositions) != VISIBLE:
        raise SystemExit(f"not the case meant to be measured: {last.kind}, {len(last.dispositions)} candidates")
    returned = _timed(lambda: agent.come_back(checkpoint=DEPARTURE))
    return {"return": returned, "exposure": _timed(agent.come_back(checkpoint=DEPARTURE).expose)}


if __name__ == "__main__":
    for result in run():
        print(result)

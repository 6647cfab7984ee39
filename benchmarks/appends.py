"""What does a durable event cost beyond SQLite's own commit, and what do batches and threads save?"""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_least, at_most, scratch, sized
from readmit import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, SINGLES, BATCHES, BATCH = sized(8, 2), sized(50, 5), sized(5, 2), sized(5_000, 50)
WRITERS, SHARED = (1, 4, 16), sized(160, 32)


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as directory, Workspace.open(Path(directory, "team.db")) as team:
        bare = sqlite3.connect(Path(directory, "bare.db"), isolation_level=None, check_same_thread=False)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, body BLOB)")
        _commits(bare)
        _appends(team, -1)
        ours = theirs = 0.0
        worked: list[float] = []
        # Alternating, because the disk's mood changes by the second.
        for turn in range(ROUNDS):
            start = time.process_time()
            theirs += _timed(lambda: _commits(bare))
            between = time.process_time()
            ours += _timed(lambda turn=turn: _appends(team, turn))
            worked.append((time.process_time() - between) - (between - start))
            step(1)
        shared = [_together(team, bare, writers) for writers in WRITERS]
        batches, loops = [], []
        for turn in range(BATCHES):
            batches.append(_timed(lambda turn=turn: _batch(team, turn)) / BATCH)
            loops.append(_timed(lambda turn=turn: _loop(team, turn)) / BATCH)
        bare.close()
    batch, loop = min(batches), min(loops)
    single = ours / (ROUNDS * SINGLES)
    return [
        at_most("one bare durable commit on this disk", theirs / (ROUNDS * SINGLES) * 1000, None, "ms"),
        at_least("durable appends, signature included / bare SQLite commits, same sync level", theirs / ours, 0.6, "x"),
        at_most("processor time of an append beyond a bare commit", min(worked) / SINGLES * 1000, 0.15, "ms"),
        *(
            at_least(f"durable appends / bare commits, {writers} threads each", ratio, bar, "x")
            for writers, ratio, bar in zip(WRITERS, shared, (None, 1, 2), strict=True)
        ),
        at_least(f"batch of {BATCH:,} in one call / single appends, events per second", single / batch, 20, "x"),
        at_least(f"batch of {BATCH:,} calls / single appends, events per second", single / loop, 20, "x"),
        at_least(f"batch of {BATCH:,} calls / in one call, events per second", batch / loop, 0.5, "x"),
        at_most("one event of a batch in one call", batch * 1_000_000, None, "µs"),
        at_most("one event of a batch of calls", loop * 1_000_000, None, "µs"),
    ]


def _together(team: Workspace, bare: sqlite3.Connection, writers: int) -> float:
    """Appends per bare commit in the same time, each by this many threads that write one after the other."""
    one = threading.Lock()

    def commit(_: int) -> None:
        with one:
            _commit(bare)

    def append(number: int) -> None:
        text = f"Observation {writers}.{number} of a thread, long enough to be like a real one."
        team.observe(text, by="A1", task="trip")

    with ThreadPoolExecutor(writers) as pool:
        theirs = _timed(lambda: list(pool.map(commit, range(SHARED))))
        return theirs / _timed(lambda: list(pool.map(append, range(SHARED))))


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _commits(bare: sqlite3.Connection) -> None:
    for _ in range(SINGLES):
        _commit(bare)


def _commit(bare: sqlite3.Connection) -> None:
    bare.execute("BEGIN IMMEDIATE")
    bare.execute("INSERT INTO event (body) VALUES (?)", (b"x" * 300,))
    bare.execute("COMMIT")


def _appends(team: Workspace, turn: int) -> None:
    for number in range(SINGLES):
        team.observe(f"Single observation {turn}.{number}, long enough to be like a real one.", by="A1", task="trip")


def _batch(team: Workspace, turn: int) -> None:
    texts = (f"Observation {turn}.{number} of a batch, long enough to be like a real one." for number in range(BATCH))
    team.observe_many(texts, by="A1", task="trip")


def _loop(team: Workspace, turn: int) -> None:
    with team.batch():
        for number in range(BATCH):
            text = f"Observation {turn}.{number} of a loop, long enough to be like a real one."
            team.observe(text, by="A1", task="trip")


if __name__ == "__main__":
    for result in run():
        print(result)

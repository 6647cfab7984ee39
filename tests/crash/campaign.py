"""Many kills in little time: writers are forked from a process that has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from contextlib import suppress
from itertools import count
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, NamedTuple

from readmit import Workspace
from tests.crash.team import STEPS, prepare, usable, verify

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

ROUNDS = 12
"""How often the writers of one store are killed before it is verified."""
_FAILED = "failed: "
_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload(["tests.crash.campaign", "readmit.log.engines.postgres", "cryptography.hazmat.primitives"])


class Figures(NamedTuple):
    """What a campaign did, and what it found."""

    kills: int = 0
    acknowledged: int = 0
    unacknowledged: int = 0
    """Events of steps whose end was not reported: committed just before a kill."""
    returns: int = 0
    exposures: int = 0

    def __add__(self, other: object) -> Figures:
        assert isinstance(other, Figures)
        return Figures(*(one + two for one, two in zip(self, other, strict=True)))

    def __str__(self) -> str:
        return (
            f"{self.kills:,} kills, {self.acknowledged:,} acknowledged events and none lost, {self.unacknowledged:,} "
            f"committed and not acknowledged, {self.returns:,} returns replayed, {self.exposures:,} exposures"
        )


def write(place: str, keys: Path | None, name: str, steps: list[str], out: Connection) -> None:
    """Do steps until killed, and report each that returned, or what went wrong."""
    try:
        team = Workspace.open(place, keys=keys)
        for number in count():
            out.send_bytes(STEPS[steps[number % len(steps)]](team, f"{name}-{number}").encode())
    except BaseException as error:  # noqa: BLE001 - reported
        out.send_bytes(f"{_FAILED}{error!r}".encode())


class Writer:
    """A process that writes until it is killed."""

    def __init__(self, place: str, keys: Path | None, name: str, steps: list[str]) -> None:
        self.reports, out = _fork.Pipe(duplex=False)
        self._process = _fork.Process(target=write, args=(place, keys, name, steps, out), daemon=True)
        self._process.start()
        out.close()

    def kill(self) -> None:
        assert self._process.pid is not None
        with suppress(ProcessLookupError):  # an outage of its server has ended it
            os.kill(self._process.pid, signal.SIGKILL)

    def end(self, *, outage: bool) -> list[str]:
        """What it reported, once it is gone. In an outage of its server it may have ended with an error by name."""
        seen: list[str] = []
        with suppress(EOFError):
            while True:
                report = self.reports.recv_bytes().decode()
                if report.startswith(_FAILED):
                    assert outage, report
                    assert report.startswith(f"{_FAILED}StoreError("), report
                else:
                    seen += report.split()
        self._process.join()
        self.reports.close()
        return seen


def on_one_store(
    place: str, keys: Path | None, chance: random.Random, rounds: int, stop: Callable[[], None] | None = None
) -> Figures:
    """Kill the writers of a store again and again, at any moment, then verify the store and use it.

    ``stop`` kills the server under them, and starts it again.
    """
    prepare(place, keys)
    seen: list[str] = []
    kills = 0
    for turn in range(rounds):
        steps = chance.sample(list(STEPS), k=chance.randint(1, len(STEPS)))
        # Two get in each other's way, so most of the time there is one.
        writers = [Writer(place, keys, f"w{turn}-{number}", steps) for number in range(chance.choice((1, 1, 2)))]
        # Mostly while they write, sometimes while they open the store.
        if chance.random() < 0.8:
            wait([writer.reports for writer in writers])
        time.sleep(chance.uniform(0, 0.08))
        if stop is not None:
            stop()
        for writer in writers:
            time.sleep(chance.uniform(0, 0.02))
            writer.kill()
        for writer in writers:
            seen += writer.end(outage=stop is not None)
        kills += len(writers) if stop is None else 1
    with verify(place, seen, keys) as team:
        written = [event.id for event in team._desk.log.tail() if ":w" in event.id]
        usable(team, "last")
    return Figures(
        kills,
        len(seen),
        len(written) - len(seen),
        sum(name.startswith("return:") for name in written),
        sum(name.startswith("expose:") for name in written),
    )

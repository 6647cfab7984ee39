"""Two servers, of which one is killed and the other promoted, under processes that go on working."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from readmit import Workspace
from readmit.errors import ExposureError, StoreError
from readmit.events import EventKind
from tests.crash.team import verify
from tests.postgres import PASSWORD, ROLE, Server, Standby

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit import Return

_fork = multiprocessing.get_context("forkserver")
PATIENCE = 120
"""Seconds for what takes one or two, unless the machine is busy."""


class Pair:
    """A primary and its synchronous standby, which change roles again and again at the same two addresses."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._primary: Server = stack.enter_context(Server(fsync=True))
        self._standby = stack.enter_context(Standby(self._primary))
        self._primary.lead()

    def url(self, schema: str) -> str:
        """Both servers. That the one that writes is meant need not be said."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in sorted((self._primary.port, self._standby.port)))
        return f"postgresql://{ROLE}:{PASSWORD}@{hosts}/team?schema={schema}"

    def fail_over(self, *, parted: float | None) -> None:
        """Kill the primary and promote the standby, which was parted from it for so many seconds.

        Whatever the primary acknowledges while they are parted is lost.
        """
        if parted is not None:
            self._standby.part()
            time.sleep(parted)
        self._primary.kill()
        self._standby.promote()

    def replace(self) -> None:
        """Put a new standby where the killed primary was."""
        killed, self._primary = self._primary, self._standby
        killed.__exit__()
        self._standby = self._stack.enter_context(Standby(self._primary, port=killed.port))
        self._primary.lead()


class Failovers(NamedTuple):
    """What the processes did, and what was found afterwards."""

    kills: int
    acknowledged: int
    unacknowledged: int
    """Committed, while whether it was so was never reported before its repetition."""
    returns: int
    exposures: int
    errors: int
    """Calls that failed while no server answered, each repeated until it did not."""
    longest: float
    """Seconds from a kill to the first acknowledgement of the slowest process."""

    def __str__(self) -> str:
        return (
            f"{self.kills:,} kills, {self.acknowledged:,} acknowledged events and none lost, {self.unacknowledged:,} "
            f"committed and not acknowledged, {self.returns:,} returns replayed, {self.exposures:,} exposures, "
            f"{self.errors:,} calls repeated, at most {self.longest:.1f} s until every process went on"
        )


def _day(team: Workspace, name: str, number: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """What a process does again and again: each call with the event that it writes. Any of them may be repeated."""
    one = f"{name}-{number}"
    agent = team.agent(name, role="planner", task=name)
    yield f"item:{one}", lambda: team.record(f"statement {one}", id=one, by=name, task=name)
    yield f"depart:{one}", lambda: agent.depart(id=one)
    returned: list[Return] = []
    yield f"return:{one}", lambda: returned.append(agent.come_back(id=one, checkpoint=one))
    yield f"expose:{one}", lambda: returned[-1].expose()  # noqa: PLW0108 - not returned yet


def work(place: str, keys: Path, folder: Path, name: str) -> None:
    """Work with one handle until told to stop, and write down what was acknowledged."""
    with Workspace.open(place, keys=keys) as team, (folder / name).open("a") as seen:
        number = 0
        while not (folder / "stop").exists():
            for event, call in _day(team, name, number):
                _acknowledge(event, call, seen.write)
                seen.flush()
            number += 1


def _acknowledge(event: str, call: Callable[[], object], write: Callable[[str], object]) -> None:
    """Call until it is acknowledged. Each line is the time, what came of it, and the event."""
    end, repeated = time.monotonic() + PATIENCE, False
    while True:
        try:
            call()
        except StoreError as error:
            if time.monotonic() > end:
                raise
            write(f"{time.time()} failed {event} {type(error).__name__}\n")
            repeated = True
            time.sleep(0.02)
        except ExposureError:
            if not repeated:  # the answer of the first was lost, and the view is consumed
                raise
            write(f"{time.time()} consumed {event}\n")
            return
        else:
            write(f"{time.time()} done {event}\n")
            return


def prepare(place: str, keys: Path, names: list[str]) -> None:
    """Something to return to, for each process."""
    with Workspace.open(place, keys=keys) as team:
        for name in names:
            source = team.observe("confirmed", by=name, task=name)
            team.oblige("book it", id=f"o-{name}", required=["d"], sources=[source], by=name, task=name)
            team.record("booked", id=f"h-{name}", supports=["d"], sources=[source], by=name, task=name)


def _lines(folder: Path, names: list[str]) -> list[list[str]]:
    return [line.split() for name in names for line in (folder / name).read_text().splitlines()]


def _until_each_goes_on(folder: Path, names: list[str], since: float) -> float:
    """Wait until every process was acknowledged something after a moment. Returns how long that took."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError, ValueError):
            firsts = [
                min((float(at) for at, what, *_ in _lines(folder, [name]) if what == "done" and float(at) > since))
                for name in names
            ]
            return max(firsts) - since
        time.sleep(0.05)
    raise AssertionError(f"a process was acknowledged nothing for {PATIENCE} seconds")


def fail_over_under_load(
    folder: Path, chance: random.Random, kills: int, processes: int, look: Callable[[str], None]
) -> Failovers:
    """Kill the primary so many times under processes that write, depart, return and expose.

    ``look`` gets the address at the end, while the servers run.
    """
    names, longest = [f"w{number}" for number in range(processes)], 0.0
    keys, seen = folder / "keys", folder / "seen"
    seen.mkdir()
    with ExitStack() as stack:
        servers = Pair(stack)
        place = servers.url("failover")
        prepare(place, keys, names)
        running = [_fork.Process(target=work, args=(place, keys, seen, name), daemon=True) for name in names]
        for one in running:
            one.start()
            stack.callback(one.kill)
        _until_each_goes_on(seen, names, 0.0)
        for number in range(kills):
            time.sleep(chance.uniform(0.2, 1.0))
            parted = chance.choice((None, chance.uniform(0, 0.5)))
            killed = time.time() + (parted or 0)
            servers.fail_over(parted=parted)
            longest = max(longest, _until_each_goes_on(seen, names, killed))
            if number < kills - 1:
                servers.replace()
        (seen / "stop").touch()
        for one in running:
            one.join(PATIENCE)
        assert [one.exitcode for one in running] == [0] * processes
        look(place)
        return _found(place, keys, seen, names)._replace(kills=kills, longest=longest)


def _found(place: str, keys: Path, seen: Path, names: list[str]) -> Failovers:
    lines = _lines(seen, names)
    done = [event for _, what, event, *_ in lines if what == "done"]
    assert len(set(done)) == len(done)
    with verify(place, done, keys) as team:
        written = [event.id for event in team._desk.log.tail() if f":{event.by}-" in event.id]
        kinds = [event.kind for event in team._desk.log.tail()]
    handed = [one for one in done if one.startswith("expose:")]
    assert {one for one in written if one.startswith("expose:")} >= set(handed)
    return Failovers(
        0, len(done), len(set(written) - set(done)), kinds.count(EventKind.RETURN), kinds.count(EventKind.EXPOSE),
        sum(what == "failed" for _, what, *_ in lines), 0.0,
    )  # fmt: skip

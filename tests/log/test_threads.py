"""Threads that share one workspace: each sees what is committed, and nothing of another's open batch."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.crash.team import prepare, verify
from tests.scene import START, audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = 120.0


@pytest.fixture
def team(place: Path | str) -> Iterator[Workspace]:
    with Workspace.open(place, clock=lambda: START) as opened:
        yield opened


def in_one_state(team: Workspace) -> tuple[int, int]:
    with team._desk.log.reading():
        return team._desk.log.head, len(list(team._desk.log.tail()))


READS: dict[str, Callable[[Workspace], object]] = {
    "the epoch": lambda team: team.epoch,
    "the events": lambda team: [event.id for event in team._desk.log.tail()],
    "a name": lambda team: team._desk.log.beginning_with("item", "of-the-batch", limit=9),
    "the last moment": lambda team: team._desk.log.learnt,
    "one state": in_one_state,
}


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "undone"])
@pytest.mark.parametrize("case", READS)
def test_a_thread_does_not_see_the_open_batch_of_another(team: Workspace, case: str, *, kept: bool) -> None:
    team.record("before", by="bob", id="before")
    before = READS[case](team)
    wrote, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with team.batch():
            team.observe("waits to be written", by="bob")
            team.record("text", by="bob", id="of-the-batch")
            wrote.set()
            assert go_on.wait(LONG)
            if not kept:
                raise KeyError

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        assert wrote.wait(LONG)
        reading = pool.submit(READS[case], team)
        with pytest.raises(TimeoutError):
            reading.result(0.2)
        go_on.set()
        found = reading.result(LONG)
        if kept:
            writing.result(LONG)
        else:
            with pytest.raises(KeyError):
                writing.result(LONG)
    assert found == READS[case](team)
    assert kept or found == before


def test_a_batch_of_another_thread_is_not_a_batch_of_this_one(place: Path | str) -> None:
    """Only an exposure inside a batch is refused."""
    prepare(place)
    with Workspace.open(place) as team:
        outcome = team.agent("ann", role="planner", task="trip").come_back(checkpoint="left")
        began, go_on = threading.Event(), threading.Event()

        def write() -> None:
            with team.batch():
                team.observe("elsewhere", by="bob", task="other")
                began.set()
                assert go_on.wait(LONG)

        with ThreadPoolExecutor(2) as pool:
            writing = pool.submit(write)
            assert began.wait(LONG)
            assert not team._desk.log.pending
            exposing = pool.submit(outcome.expose)
            go_on.set()
            assert {item.id for item in exposing.result(LONG).items} == {"o", "f", "h"}
            writing.result(LONG)


def test_threads_read_while_others_write(place: Path | str) -> None:
    """Every page of a long read is right, although the statements in between are those of other threads."""
    team = Workspace.open(place, clock=lambda: START)
    done = threading.Event()

    def write(number: int) -> None:
        for turn in range(15):
            with team.batch():
                for part in range(5):
                    team.observe(f"{number} {turn} {part}", by=f"w{number}")
            team.record(f"text {number} {turn}", by=f"w{number}", id=f"i{number}-{turn}", slot=f"s{number}")

    def read(number: int) -> None:
        while not done.is_set():
            check_a_long_read(team, number)

    with ThreadPoolExecutor(6) as pool:
        writing = [pool.submit(write, number) for number in range(3)]
        reading = [pool.submit(read, number) for number in range(3)]
        wait(writing, return_when=FIRST_EXCEPTION)
        done.set()
        for one in (*writing, *reading):
            one.result(LONG)
    assert team.epoch == 1 + 3 * 15 * 6
    assert audited(team).intact
    team.close()
    verify(place).close()


def check_a_long_read(team: Workspace, number: int) -> None:
    events = list(team._desk.log.tail())
    assert [event.epoch for event in events] == list(range(1, len(events) + 1))
    for event in events[-5:]:
        assert team._desk.log.event(event.epoch) == event
    for name in team._desk.log.beginning_with("item", f"i{number}-", limit=50):
        assert team._desk.log.item(name).slot == f"s{number}"
    assert len(events) <= team.epoch


def test_a_generator_goes_on_in_another_thread(team: Workspace, place: Path | str) -> None:
    team.observe_many([f"text {number}" for number in range(50)], by="bob")
    events = iter(team._desk.log.tail())
    with ThreadPoolExecutor(1) as pool:
        first = next(events)
        rest = pool.submit(list, events).result(LONG)
    assert [first.epoch, *(event.epoch for event in rest)] == list(range(1, 52))
    assert team._desk.log.connection.end_of_log is None

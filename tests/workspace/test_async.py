"""The async workspace: the same verbs, no blocked event loop, and cancellation that leaves nothing half done."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from statistics import median
from typing import TYPE_CHECKING, Any, assert_type

import pytest

from readmit import Agent, AsyncAgent, AsyncReturn, AsyncWorkspace, Bundle, Policy, Return, Workspace
from readmit.errors import RecordError, StoreError
from readmit.log.engines.sqlite import BUSY_SECONDS
from readmit.sources import File

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
    from pathlib import Path

LATE = 240.0
"""Seconds after which something that waits is taken to wait for ever."""
# What is no verb, or is a property there and takes an await here.
ELSEWHERE = {
    "open",
    "close",
    "batch",
    "agent",
    "principal",
    "subscribe",
    "delivery",
    "as_owner",
    "epoch",
    "name",
    "identity",
}


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, LATE))


def verbs_of(kind: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


TWINS = {Workspace: AsyncWorkspace, Agent: AsyncAgent, Return: AsyncReturn}


@pytest.mark.parametrize("twin", TWINS, ids=lambda kind: kind.__name__)
def test_every_verb_is_there_with_the_same_arguments(twin: type) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(policy=Policy(returns={"fill": "never"})) as team:
            agent = team.agent("A1", role="planner", task="trip")
            await agent.depart()
            handles: dict[type, Any] = {Workspace: team, Agent: agent, Return: await agent.come_back()}
            handle = handles[twin]
            assert type(handle) is TWINS[twin]
            for name, verb in verbs_of(twin).items():
                if name in ELSEWHERE:
                    continue
                own = getattr(handle, name)
                expected = [one for one in inspect.signature(verb).parameters.values() if one.name != "self"]
                assert list(inspect.signature(own).parameters.values()) == expected, name
                assert inspect.iscoroutinefunction(own), name
                assert own.__doc__ == verb.__doc__, name
            assert {name for name in dir(twin) if not name.startswith("_")} <= {*dir(handle), *ELSEWHERE}

    play(story())


def test_opening_takes_the_same_arguments() -> None:
    assert inspect.signature(AsyncWorkspace.open) == inspect.signature(Workspace.open)


def test_a_whole_return(place: Path | str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place, name="trip") as team:
            assert team.name == "trip"
            seen = await team.observe("Sunrise confirms.", by="A2")
            await team.oblige("Know the hotel", id="o", required=["hotel"], by="A2")
            await team.record("Sunrise is booked", id="h0", slot="hotel", sources=[seen], by="A2")
            agent = team.agent("A1", role="planner", task="trip")
            assert agent.identity.principal == "A1"
            await agent.depart()
            news = await team.observe("Riverside instead.", by="A2")
            await team.record("Riverside is booked", id="h1", slot="hotel", sources=[news], by="A2")
            returned = await agent.come_back()
            assert (returned.kind, returned.missing) == ("admitted", ())
            assert returned.view is not None
            assert [item.id for item in returned.view.items] == ["o", "h1"]
            bundle = await returned.expose()
            assert_type((seen, returned, bundle), tuple[str, AsyncReturn, Bundle])
            assert "Riverside" in bundle.markdown()
            assert (await returned.explain("h0")).disposition.state == "superseded"
            await returned.acknowledge()
            assert (await returned.replay()).matches
            assert await team.admin.policy() == Policy()
            epoch = await team.epoch()
        with Workspace.open(place, name="trip") as again:
            assert again.epoch == epoch

    play(story())


def test_errors_are_those_of_the_sync_workspace() -> None:
    async def story() -> None:
        async with AsyncWorkspace.open() as team:
            with pytest.raises(RecordError, match="by"):
                await team.observe("text", bye="A1")  # type: ignore[call-arg]

    play(story())


# The event loop is not blocked.


@asynccontextmanager
async def heartbeat() -> AsyncIterator[list[float]]:
    """The gaps between the turns of a task that asks for one every few milliseconds."""
    gaps: list[float] = []

    async def beat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    task = asyncio.create_task(beat())
    try:
        yield gaps
    finally:
        task.cancel()


def test_the_loop_keeps_running_while_a_verb_waits_for_another_writer(place: Path | str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place) as team:
            with Workspace.open(place) as other:
                async with heartbeat() as gaps:
                    with other.batch():
                        other.observe("They write.", by="A2")
                        waiting = asyncio.create_task(team.observe("We wait.", by="A1"))
                        while len(gaps) < 40:
                            await asyncio.sleep(0.01)
                            assert not waiting.done()
                    await asyncio.wait_for(waiting, LATE)
                assert median(gaps) < 0.5, "the loop stood still while the verb waited"

    play(story())


# Batches.


def test_a_batch_is_one_commit_and_other_tasks_wait_for_it(place: Path | str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place) as team:
            before = await team.epoch()
            inside = asyncio.Event()

            async def outsider() -> None:
                await inside.wait()
                await team.observe("from outside", by="A2")

            waiting = asyncio.create_task(outsider())
            with suppress(ValueError):
                async with team.batch():
                    await team.observe("first", by="A1")
                    inside.set()
                    await asyncio.sleep(0.05)
                    assert not waiting.done()
                    await asyncio.gather(*(team.observe(f"task {number}", by="A1") for number in range(3)))
                    raise ValueError
            await asyncio.wait_for(waiting, LATE)
            assert await team.epoch() == before + 1
            async with team.batch():
                await team.observe("first", by="A1")
                with suppress(ValueError):
                    async with team.batch():
                        await team.observe("second", by="A1")
                        raise ValueError
            assert await team.epoch() == before + 2

    play(story())


def test_a_task_that_outlives_its_batch_writes_after_it() -> None:
    async def story() -> None:
        async with AsyncWorkspace.open() as team:
            go = asyncio.Event()

            async def late() -> None:
                await go.wait()
                await team.observe("late", by="A1")

            with suppress(ValueError):
                async with team.batch():
                    started = asyncio.create_task(late())
                    await asyncio.sleep(0)
                    raise ValueError
            before = await team.epoch()
            go.set()
            await asyncio.wait_for(started, LATE)
            assert await team.epoch() == before + 1

    play(story())


def test_batches_of_two_workspaces_within_each_other() -> None:
    async def story() -> None:
        async with AsyncWorkspace.open() as one, AsyncWorkspace.open() as two, one.batch(), two.batch():
            await one.observe("one", by="A1")
            await two.observe("two", by="A1")

    play(story())


# Cancellation.


async def cancelled_after(work: Awaitable[object], delay: float) -> bool:
    """Run something and cancel it after a while; whether that came in time."""
    task = asyncio.ensure_future(work)
    await asyncio.wait([task], timeout=delay)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), LATE)
    return task.cancelled()


async def is_free(team: AsyncWorkspace, other: Workspace) -> None:
    """Nothing holds the handle or the store."""
    await asyncio.wait_for(team.observe(f"ours at {time.perf_counter()}", by="A1"), LATE)
    await asyncio.wait_for(asyncio.to_thread(other.observe, f"theirs at {time.perf_counter()}", by="A2"), LATE)


DELAYS = [number * 0.0004 for number in range(25)]


def test_a_cancelled_batch_is_whole_or_nothing_wherever_it_is_cancelled(place: Path | str) -> None:
    async def story() -> None:
        counts: set[int] = set()
        async with AsyncWorkspace.open(place) as team:
            with Workspace.open(place) as other:
                for number, delay in enumerate([*DELAYS, LATE]):

                    async def three(number: int = number) -> None:
                        async with team.batch():
                            for part in range(3):
                                await team.observe(f"{number}, part {part}", by="A1")

                    before = await team.epoch()
                    await cancelled_after(three(), delay)
                    counts.add(await team.epoch() - before)
                    await is_free(team, other)
        assert counts == {0, 3}

    play(story())


def test_a_cancelled_verb_is_done_or_not_and_may_be_done_again(place: Path | str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place) as team:
            with Workspace.open(place) as other:
                for number, delay in enumerate(DELAYS):
                    before = await team.epoch()
                    await cancelled_after(team.observe("what was seen", by="A1", id=f"e{number}"), delay)
                    assert await team.epoch() - before in {0, 1}
                    await team.observe("what was seen", by="A1", id=f"e{number}")
                    assert await team.epoch() - before == 1
                    await is_free(team, other)

    play(story())


def test_a_return_that_was_cancelled_is_asked_for_again(place: Path | str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place, policy=Policy(returns={"fill": "nothing_owed"})) as team:
            seen = await team.observe("It rains.", by="A2")
            await team.record("It rains", id="rain", sources=[seen], by="A2")
            agent = team.agent("A1", role="planner", task="trip")
            for delay in DELAYS[::3]:
                await agent.depart()
                await cancelled_after(agent.come_back(), delay)
                returned = await agent.come_back()
                await cancelled_after(returned.expose(), delay)
                first = await returned.expose()
                assert [item.id for item in first.items] == ["rain"]
                await cancelled_after(returned.acknowledge(), delay)
                await returned.acknowledge()

    play(story())


WAITING: dict[str, Callable[[AsyncWorkspace], Awaitable[object]]] = {}


def waiting(work: Callable[[AsyncWorkspace], Awaitable[object]]) -> Callable[[AsyncWorkspace], Awaitable[object]]:
    WAITING[work.__name__] = work
    return work


@waiting
async def a_verb(team: AsyncWorkspace) -> None:
    await team.observe("too late", by="A1")


@waiting
async def a_batch(team: AsyncWorkspace) -> None:
    async with team.batch():
        await team.observe("too late", by="A1")


@pytest.mark.parametrize("what", WAITING)
def test_cancelled_while_another_process_writes_it_holds_nothing(place: Path | str, what: str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place) as team:
            with Workspace.open(place) as other:
                with other.batch():
                    other.observe("They write.", by="A2")
                    begun = time.perf_counter()
                    assert await cancelled_after(WAITING[what](team), 0.1)
                    assert time.perf_counter() - begun < BUSY_SECONDS, "a cancelled task waits for no store"
                await is_free(team, other)

    play(story())


def test_an_opening_that_is_cancelled_closes_what_it_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    class Slow(Workspace):
        def close(self) -> None:
            closed.append(self.name)
            super().close()
            done.set()

    go_on, done = threading.Event(), threading.Event()

    def slowly(name: str) -> Workspace:
        assert go_on.wait(LATE)
        return Slow.open(name=name)

    async def story() -> None:
        opening: Any = import_module("readmit.workspace.async_workspace").Opening

        assert await cancelled_after(opening(lambda: slowly("left"))._opened(), 0.05)
        go_on.set()
        assert await asyncio.to_thread(done.wait, LATE)
        assert closed == ["left"]

    play(story())


def test_a_closed_workspace_says_so_and_may_be_closed_again() -> None:
    async def story() -> None:
        team = await AsyncWorkspace.open()
        await team.close()
        await team.close()
        with pytest.raises(StoreError, match="closed"):
            await team.observe("text", by="A1")

    play(story())


def test_a_workspace_whose_task_is_cancelled_is_closed(tmp_path: Path) -> None:
    async def story() -> None:
        inside: asyncio.Future[AsyncWorkspace] = asyncio.get_running_loop().create_future()

        async def work() -> None:
            async with AsyncWorkspace.open(tmp_path / "team.db") as team:
                inside.set_result(team)
                await asyncio.sleep(LATE)

        task = asyncio.create_task(work())
        team = await inside
        assert await cancelled_after(task, 0)
        with pytest.raises(StoreError, match="closed"):
            await team.observe("text", by="A1")

    play(story())


def test_the_doctor_looks_at_an_agent_of_either_kind() -> None:
    async def story() -> None:
        async with AsyncWorkspace.open() as team:
            agent = team.agent("A1", role="planner", task="trip")
            await agent.depart()
            twin = await team.run(lambda workspace: workspace.agent("A1", role="planner", task="trip"))
            assert await team.doctor(agent) == await team.run(lambda workspace: workspace.doctor(twin))
            assert await team.doctor() == await team.run(lambda workspace: workspace.doctor())

    play(story())


def test_what_has_no_verb_is_run_on_the_workspace_itself() -> None:
    async def story() -> None:
        async with AsyncWorkspace.open() as team:
            assert await team.run(lambda twin: list(twin.admin.keys.trusted(twin._desk.writer.clock())))

    play(story())


def test_a_look_at_sources_does_not_wait_for_the_return(tmp_path: Path) -> None:
    async def story() -> None:
        notes = tmp_path / "notes.txt"
        notes.write_text("The port is 80.", encoding="utf-8")
        async with AsyncWorkspace.open(tmp_path / "team.db") as team:
            seen = await team.observe(probe=File("notes.txt"), by="bob")
            await team.record("The port is 80", id="p", sources=[seen], by="bob")
            agent = team.agent("A1", role="planner", task="trip")
            await agent.depart()
            notes.write_text("The port is 81.", encoding="utf-8")
            looked = await agent.look()
            assert looked is not None
            assert [one.evidence for one in looked.found] == [seen]
            assert (await agent.come_back()).items == ()

    play(story())

"""Several writers of one key: threads, async tasks and processes. A value and its sources change together."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph.store.sqlite", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from readmit.backends.bank_lock import lock_name
from readmit.backends.langgraph import LangGraphMemory, ReturnedStore, TeamStore, sources
from readmit.backends.langgraph.graph_places import GraphPlace, record_id
from readmit.errors import NotAllowedError, QuarantineError
from readmit.memory import Memory
from tests.backends.langgraph.trip import Trip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from langgraph.store.base import BaseStore, Op, Result

    from readmit import Agent

pytestmark = pytest.mark.backends
PLACE = ("dates",)
TURNS = 0.3


class Meanwhile(InMemoryStore):
    """Lets something happen after a put, before the caller learns of it: another put, or a timeout."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[], None] | None = None
        self.fails = False

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        results = super().batch(listed)
        if self.fails and any(isinstance(op, PutOp) for op in listed):
            self.fails = False
            raise TimeoutError("no answer within a minute")
        if any(isinstance(op, PutOp) for op in listed) and (then := self.then) is not None:
            self.then = None
            other = threading.Thread(target=then)
            other.start()
            # A writer that waits for its turn is still there afterwards.
            other.join(TURNS)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        results = super().batch(listed)
        if any(isinstance(op, PutOp) for op in listed):
            await asyncio.sleep(TURNS / 10)
        return results


class Shared:
    """A trip whose store can be interrupted between a value and its sources."""

    def __init__(self) -> None:
        self.trip = Trip()
        self.inner = Meanwhile()
        backend = LangGraphMemory(self.inner, self.trip.team.name, history=self.trip.team.admin.log.memories)
        self.memory = Memory(self.trip.team, backend)
        self.failed: list[BaseException] = []
        self.done = threading.Event()

    def at_work(self) -> TeamStore:
        backend: Any = self.memory.backend
        return TeamStore(backend, log=self.trip.team.admin.log, agent=self.trip.planner)

    def back(self, agent: Agent | None = None) -> ReturnedStore:
        agent = agent or self.trip.planner
        agent.depart()
        return ReturnedStore(self.memory.returned(agent.come_back().expose()), team=True)

    def interrupted(self, first: BaseStore, second: BaseStore) -> None:
        """Both put the same key; the second begins after the first has written, and before it has filed."""

        def put() -> None:
            try:
                with sources(self.trip.dates):
                    second.put(PLACE, "when", {"month": "June"})
            except BaseException as error:  # noqa: BLE001 - handed to the test
                self.failed.append(error)
            self.done.set()

        self.inner.then = put
        with sources(self.trip.dates):
            first.put(PLACE, "when", {"month": "May"})
        assert self.done.wait(20)

    def bound(self) -> dict[str, int]:
        """How many sources the text of each record has."""
        return {record.text: len(found) for record, found in self.memory.records()}


@pytest.fixture
def shared() -> Iterator[Shared]:
    made = Shared()
    yield made
    made.trip.team.close()


def test_two_nodes_of_one_returned_agent_may_put_one_key(shared: Shared) -> None:
    store = shared.back()
    shared.interrupted(store, store)
    assert shared.failed == []
    assert store.get(PLACE, "when").value == {"month": "June"}  # type: ignore[union-attr]


def test_of_two_returned_agents_the_second_is_refused_and_the_first_keeps_its_value(shared: Shared) -> None:
    scout = shared.trip.team.agent("scout", role="planner", task="trip")
    first, second = shared.back(), shared.back(scout)
    shared.interrupted(first, second)
    assert [type(one) for one in shared.failed] == [NotAllowedError]
    assert first.get(PLACE, "when").value == {"month": "May"}  # type: ignore[union-attr]


def test_of_two_nodes_at_work_the_last_value_has_its_sources(shared: Shared) -> None:
    store = shared.at_work()
    shared.interrupted(store, store)
    assert shared.failed == []
    assert shared.bound() == {'{"month": "June"}': 1}
    assert shared.back().get(PLACE, "when").value == {"month": "June"}  # type: ignore[union-attr]


def test_an_operators_update_waits_for_a_put(shared: Shared) -> None:
    store = shared.at_work()
    with sources(shared.trip.dates):
        store.put(PLACE, "when", {"month": "April"})
    ((record, _),) = shared.memory.records()
    done = threading.Event()

    def update() -> None:
        shared.memory.update(record.id, "June", sources=[shared.trip.dates], by="scout")
        done.set()

    shared.inner.then = update
    with sources(shared.trip.dates):
        store.put(PLACE, "when", {"month": "May"})
    assert done.wait(20)
    assert shared.back().get(PLACE, "when").value == {"text": "June"}  # type: ignore[union-attr]


def test_four_parallel_nodes_of_a_graph_may_put_one_key(shared: Shared) -> None:
    from langgraph.graph import END, START, StateGraph

    from tests.backends.langgraph.trip import State

    store = shared.back()
    graph = StateGraph(State)
    for number in range(4):

        async def node(_: State, store: BaseStore, number: int = number) -> State:
            await store.aput(PLACE, "when", {"month": number})
            return {}

        graph.add_node(f"n{number}", node)
        graph.add_edge(START, f"n{number}")
        graph.add_edge(f"n{number}", END)
    asyncio.run(graph.compile(store=store).ainvoke({}))
    assert store.get(PLACE, "when").value["month"] in range(4)  # type: ignore[union-attr]


def test_a_put_that_timed_out_after_it_was_written_can_be_repeated(shared: Shared) -> None:
    store = shared.back()
    shared.inner.fails = True
    with pytest.raises(TimeoutError):
        store.put(PLACE, "when", {"month": "May"})
    assert store.get(PLACE, "when").value == {"month": "May"}, "its sources are known"  # type: ignore[union-attr]
    store.put(PLACE, "when", {"month": "June"})
    assert store.get(PLACE, "when").value == {"month": "June"}  # type: ignore[union-attr]


def test_an_overwriting_put_that_timed_out_leaves_a_value_that_is_out_until_it_is_repeated(shared: Shared) -> None:
    store = shared.back()
    store.put(PLACE, "when", {"month": "May"})
    shared.inner.fails = True
    with pytest.raises(TimeoutError):
        store.put(PLACE, "when", {"month": "June"})
    assert store.get(PLACE, "when") is None
    store.put(PLACE, "when", {"month": "June"})
    assert store.get(PLACE, "when").value == {"month": "June"}  # type: ignore[union-attr]


@pytest.mark.parametrize("returned", [False, True])
def test_an_agent_that_departs_while_it_waits_for_its_turn_writes_nothing(shared: Shared, returned: bool) -> None:
    store: BaseStore = shared.back() if returned else shared.at_work()
    ledger = shared.trip.team.admin.log.sources
    lock = lock_name(shared.memory.backend.name, record_id(GraphPlace("", PLACE, "when")))
    assert ledger.take(lock)

    def put() -> None:
        try:
            store.put(PLACE, "when", {"month": "May"})
        except QuarantineError as error:
            shared.failed.append(error)

    waiting = threading.Thread(target=put)
    waiting.start()
    time.sleep(TURNS)
    shared.trip.planner.depart()
    ledger.free(lock)
    waiting.join(20)
    assert len(shared.failed) == 1
    assert list(shared.inner.search(())) == []


OTHER = """
import sys, time
from langgraph.store.sqlite import SqliteStore
from readmit import Policy, Workspace
from readmit.backends.langgraph import LangGraphMemory, TeamStore, sources

class Slow(SqliteStore):
    def batch(self, ops):
        done = super().batch(ops)
        print("written", flush=True)
        time.sleep(1)
        return done

import sqlite3
file, store = sys.argv[1:]
connection = sqlite3.connect(store, isolation_level=None, check_same_thread=False)
with Workspace.open(file, policy=Policy(returns={"fill": "always"})) as team:
    memory = LangGraphMemory(Slow(connection), team.name, history=team.admin.log.memories)
    agent = team.agent("planner", role="planner", task="trip")
    with sources("may"):
        TeamStore(memory, log=team.admin.log, agent=agent).put(("dates",), "when", {"month": "May"})
"""


def test_a_writer_in_another_process_waits_its_turn(tmp_path: Path) -> None:
    """Without a lock the other process would file its sources last, for a text that is no longer there."""
    import sqlite3

    from langgraph.store.sqlite import SqliteStore

    from readmit import Policy, Workspace

    file, other = str(tmp_path / "team.db"), str(tmp_path / "store.db")
    connection = sqlite3.connect(other, isolation_level=None, check_same_thread=False)
    inner = SqliteStore(connection)
    inner.setup()
    with Workspace.open(file, policy=Policy(returns={"fill": "always"})) as team:
        seen = team.observe("We travel in May.", by="scout", task="trip")
        team.record("We travel in May.", id="may", by="scout", sources=[seen], task="trip")
        memory = LangGraphMemory(inner, team.name, history=team.admin.log.memories)
        planner = team.agent("planner", role="planner", task="trip")
        with subprocess.Popen([sys.executable, "-c", OTHER, file, other], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "written\n"
            with sources("may"):
                TeamStore(memory, log=team.admin.log, agent=planner).put(PLACE, "when", {"month": "June"})
        assert child.returncode == 0
        planner.depart()
        store = ReturnedStore(Memory(team, memory).returned(planner.come_back().expose()))
        assert store.get(PLACE, "when").value == {"month": "June"}  # type: ignore[union-attr]
    connection.close()

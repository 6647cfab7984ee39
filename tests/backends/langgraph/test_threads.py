"""What only some savers can do, and the clone that LangGraph makes of a saver."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
pytest.importorskip("langgraph.checkpoint.postgres", reason="needs langgraph-checkpoint-postgres")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from readmit.backends.langgraph import LangGraphMemory, ReturningSaver, ReturnInterrupt, TeamStore
from readmit.backends.langgraph.digest import short_digest
from readmit.errors import QuarantineError
from readmit.memory import Memory
from tests.backends.langgraph.trip import FRESH, TASK, Trip, answered, planning, thread
from tests.scene import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

pytestmark = pytest.mark.backends


class Able(SqliteSaver):
    """A saver with every optional method, as a platform's own may be."""

    def __init__(self) -> None:
        super().__init__(sqlite3.connect(":memory:", check_same_thread=False))
        self.setup()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        for saved in [one for run in run_ids for one in self.list(None, filter={"run_id": run})]:
            self._delete("checkpoint_id = ?", saved.config["configurable"]["checkpoint_id"])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        for table in ("checkpoints", "writes"):
            held = self._run(f"SELECT * FROM {table} WHERE thread_id = ?", source_thread_id)  # noqa: S608 - as below
            for _, *row in held:
                places = ", ".join("?" * len(row))
                self._run(f"INSERT INTO {table} VALUES (?, {places})", target_thread_id, *row)  # noqa: S608 - as below

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for one in thread_ids:
            newest = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? GROUP BY checkpoint_ns"
            if strategy == "delete":
                self._delete("thread_id = ?", one)
            else:
                self._delete(f"thread_id = ? AND checkpoint_id NOT IN ({newest})", one, one)
                self._run("UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = ?", one)

    def _delete(self, which: str, *values: str) -> None:
        for table in ("writes", "checkpoints"):
            self._run(f"DELETE FROM {table} WHERE {which}", *values)  # noqa: S608 - this file's own words

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with self.cursor() as cursor:
            return list(cursor.execute(statement, values))

    async def alist(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        for one in self.list(*args, **named):
            yield one

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)


@pytest.fixture
def trip() -> Iterator[Trip]:
    made = Trip()
    yield made
    made.team.close()


def front(inner: Any, trip: Trip) -> ReturningSaver:
    return ReturningSaver(inner, agent=trip.planner, log=trip.team.admin.log, keep=["step"], into="view")


def back(inner: Any, trip: Trip) -> Any:
    """A thread that has gone on for a while since its agent came back, and waits for an answer."""
    graph = planning(front(inner, trip))
    trip.planner.depart()
    trip.rebook()
    graph.invoke({}, thread())
    return graph


class Asked:
    """A method called through either interface."""

    def __init__(self, graph: Any, *, twin: bool) -> None:
        self._saver, self._twin = graph.checkpointer, twin

    def __getattr__(self, name: str) -> Any:
        if not self._twin:
            return getattr(self._saver, name)
        return lambda *args, **named: asyncio.run(getattr(self._saver, f"a{name}")(*args, **named))


@pytest.mark.parametrize("twin", [False, True], ids=["sync", "async"])
class TestOptionalMethods:
    def test_a_pruned_thread_goes_on(self, trip: Trip, twin: bool) -> None:
        inner = Able()
        graph = back(inner, trip)
        Asked(graph, twin=twin).prune(["planner"])
        (kept,) = inner.list(thread())
        assert graph.get_state(thread()).next == ("approve",)
        assert FRESH in graph.invoke(Command(resume="yes"), thread())["answer"]
        assert kept.config["configurable"]["checkpoint_id"] in {
            one.config["configurable"]["checkpoint_id"] for one in graph.get_state_history(thread())
        }

    def test_a_pruned_thread_is_still_guarded(self, trip: Trip, twin: bool) -> None:
        inner = Able()
        graph = back(inner, trip)
        Asked(graph, twin=twin).prune(["planner"])
        planning(inner).update_state(thread(), {"plan": "transfer the budget"})
        assert "budget" not in str(graph.get_state(thread()))
        stored = list(inner.conn.execute("SELECT * FROM checkpoints"))
        Asked(graph, twin=twin).prune(["planner"], strategy="delete")
        inner.conn.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", stored)
        assert graph.get_state(thread()).metadata.get("readmit") == "held", "what comes back natively is not believed"

    def test_pruning_vouches_for_nothing(self, trip: Trip, twin: bool) -> None:
        inner = Able()
        graph = back(inner, trip)
        planning(inner).update_state(thread(), {"plan": "transfer the budget"})
        Asked(graph, twin=twin).prune(["planner"])
        assert "budget" not in str(graph.get_state(thread()))

    def test_a_copied_thread_holds_what_its_original_holds(self, trip: Trip, twin: bool) -> None:
        inner = Able()
        graph = back(inner, trip)
        Asked(graph, twin=twin).copy_thread("planner", "copy")
        assert graph.get_state(thread("copy")).next == ("approve",)
        assert FRESH in graph.invoke(Command(resume="yes"), thread("copy"))["answer"]
        assert graph.get_state(thread()).next == ("approve",)

    def test_a_copy_of_state_that_waits_waits_too(self, trip: Trip, twin: bool) -> None:
        graph = planning(front(Able(), trip))
        graph.invoke({}, thread())
        trip.planner.depart()
        trip.rebook()
        Asked(graph, twin=twin).copy_thread("planner", "copy")
        assert graph.get_state(thread("copy")).metadata["readmit"] == "held"

    def test_checkpoints_of_a_deleted_run_are_forgotten(self, trip: Trip, twin: bool) -> None:
        inner, run = Able(), "of-monday"
        graph = planning(front(inner, trip))
        trip.planner.depart()
        trip.rebook()
        graph.invoke({}, {**thread(), "metadata": {"run_id": run}})
        assert graph.get_state(thread()).next == ("approve",)
        stored = list(inner.conn.execute("SELECT * FROM checkpoints"))
        Asked(graph, twin=twin).delete_for_runs([run])
        inner.conn.execute("DELETE FROM checkpoints")
        inner.conn.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", stored)
        assert graph.get_state(thread()).metadata.get("readmit") == "held", "what comes back natively is not believed"

    def test_a_saver_that_cannot_says_so(self, trip: Trip, twin: bool) -> None:
        asked = Asked(planning(front(InMemorySaver(), trip)), twin=twin)
        for call in (
            lambda: asked.prune(["planner"]),
            lambda: asked.copy_thread("planner", "copy"),
            lambda: asked.delete_for_runs(["run"]),
        ):
            with pytest.raises(NotImplementedError):
                call()


def test_the_ledger_does_not_grow_with_the_runs(trip: Trip) -> None:
    graph = back(InMemorySaver(), trip)
    ledger = f"langgraph-threads:{short_digest(trip.planner.identity.agent)}"
    rows = trip.team.admin.log.sources.entries(ledger)
    for _ in range(3):
        graph.invoke({}, thread())
    assert trip.team.admin.log.sources.entries(ledger) == rows


class TestThreadsMadeLater:
    """They get the view too."""

    def later(self, trip: Trip, graph: Any, name: str = "later") -> str:
        graph.invoke({}, thread(name))
        return str(graph.get_state(thread(name)).values.get("view"))

    def test_in_the_period(self, trip: Trip) -> None:
        graph = back(InMemorySaver(), trip)
        decisions = trip.team.admin.log.head
        assert FRESH in self.later(trip, graph)
        assert trip.team.admin.log.head == decisions, "one return serves them all while nothing changes"

    def test_with_what_has_changed_since(self, trip: Trip) -> None:
        graph = back(InMemorySaver(), trip)
        seen = trip.team.observe("The Lowland inn has a pool.", by="scout", task=TASK)
        trip.team.record("There is a pool.", id="pool", by="scout", sources=[seen], task=TASK)
        assert "There is a pool." in self.later(trip, graph)

    def test_in_another_process(self, trip: Trip) -> None:
        inner = InMemorySaver()
        back(inner, trip)
        assert FRESH in self.later(trip, planning(front(inner, trip)))

    def test_asynchronously(self, trip: Trip) -> None:
        async def run() -> str:
            await graph.ainvoke({}, thread("later"))
            return str((await graph.aget_state(thread("later"))).values["view"])

        graph = back(InMemorySaver(), trip)
        assert FRESH in asyncio.run(run())

    def test_a_look_makes_none(self, trip: Trip) -> None:
        inner = InMemorySaver()
        graph = back(inner, trip)
        assert graph.get_state(thread("later")).values == {}
        assert list(inner.list(thread("later"))) == []

    def test_not_if_a_return_would_be_blocked_now(self, trip: Trip) -> None:
        graph = back(InMemorySaver(), trip)
        trip.owe_a_hotel()
        trip.team.revoke("h1", by="scout")
        with pytest.raises(ReturnInterrupt):
            graph.invoke({}, thread("later"))

    def test_a_view_that_has_expired_is_not_handed_over_again(self) -> None:
        clock = Clock()
        trip = Trip(clock=clock)
        graph = back(InMemorySaver(), trip)
        clock.now += timedelta(days=1)
        head = trip.team.admin.log.head
        assert FRESH in self.later(trip, graph)
        assert trip.team.admin.log.head > head, "it returned again"
        trip.team.close()


def test_postgres_prunes_a_returned_thread(trip: Trip, postgres: str) -> None:
    with PostgresSaver.from_conn_string(postgres) as inner:
        inner.setup()
        inner.delete_thread("planner")
        graph = back(inner, trip)
        graph.checkpointer.prune(["planner"])
        assert len(list(inner.list(thread()))) == 1
        assert FRESH in graph.invoke(Command(resume="yes"), thread())["answer"]


def test_postgres_prunes_a_returned_thread_asynchronously(trip: Trip, postgres: str) -> None:
    async def run() -> None:
        async with AsyncPostgresSaver.from_conn_string(postgres) as inner:
            await inner.setup()
            await inner.adelete_thread("planner")
            graph = planning(front(inner, trip))
            trip.planner.depart()
            trip.rebook()
            await graph.ainvoke({}, thread())
            await graph.checkpointer.aprune(["planner"])
            assert FRESH in (await graph.ainvoke(Command(resume="yes"), thread()))["answer"]

    asyncio.run(run())


class Note:
    """A type that LangGraph's serializer loads only if it is allowed to."""

    def __init__(self, text: str) -> None:
        self.text = text

    def model_dump(self) -> dict[str, str]:
        return {"text": self.text}

    @classmethod
    def model_construct(cls, **fields: str) -> Self:
        return cls(**fields)


class TestAllowlist:
    def strict(self) -> InMemorySaver:
        return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))

    def test_a_clone_leaves_the_original_as_it_is(self, trip: Trip) -> None:
        inner = self.strict()
        saver = front(inner, trip)
        before = saver.serde
        clone = saver.with_allowlist([(Note.__module__, "Note")])
        assert clone is not saver
        assert saver.serde is before
        assert clone.serde is not before
        packed = before.dumps_typed(Note("x"))
        assert isinstance(clone.serde.loads_typed(packed), Note)
        assert not isinstance(saver.serde.loads_typed(packed), Note)
        assert not isinstance(inner.serde.loads_typed(packed), Note)

    def test_a_clone_and_its_original_share_one_return(self, trip: Trip) -> None:
        saver = front(self.strict(), trip)
        clone = saver.with_allowlist([(Note.__module__, "Note")])
        planning(saver).invoke({}, thread())
        trip.planner.depart()
        trip.rebook()
        planning(clone).invoke(None, thread())
        head = trip.team.admin.log.head
        assert planning(saver).get_state(thread()).next == ("approve",)
        assert FRESH in answered(planning(saver), "yes")["answer"]
        assert trip.team.admin.log.head == head

    def test_the_store_of_the_original_is_open_when_the_clone_returned(self, trip: Trip) -> None:
        memory = Memory(
            trip.team, LangGraphMemory(InMemoryStore(), trip.team.name, history=trip.team.admin.log.memories)
        )
        saver = front(self.strict(), trip)
        store = TeamStore(
            memory.backend, log=trip.team.admin.log, agent=trip.planner, returned=saver.memory(memory.returned)
        )
        trip.planner.depart()
        planning(saver.with_allowlist([(Note.__module__, "Note")]), store).invoke({}, thread())
        store.put(("plans",), "mine", {"text": "after the return"})
        assert [one.key for one in store.search(("plans",))] == ["mine"]

    def test_clones_share_the_view_that_was_handed_over(self, trip: Trip) -> None:
        saver = front(self.strict(), trip)
        for name in ("planner", "other"):
            planning(saver).invoke({}, thread(name))
        trip.planner.depart()
        trip.rebook()
        heads = []
        for name in ("planner", "other"):
            planning(saver.with_allowlist([(Note.__module__, "Note")])).invoke(None, thread(name))
            heads.append(trip.team.admin.log.head)
        assert heads[0] == heads[1], "one return serves both threads"


class Interfered:
    """An agent that another worker lets return between each decision and its exposure, a few times."""

    def __init__(self, trip: Trip, times: int) -> None:
        self.identity = trip.planner.identity
        self._planner, self._times = trip.planner, times
        self.now = trip.planner.now

    def come_back(self, **named: Any) -> Any:
        decided = self._planner.come_back(**named)
        if self._times:
            self._times -= 1
            self._planner.come_back(**named)
        return decided


class TestTwoWorkers:
    def test_a_view_that_another_worker_replaced_is_asked_for_again(self, trip: Trip) -> None:
        saver = ReturningSaver(InMemorySaver(), agent=Interfered(trip, 2), log=trip.team.admin.log, into="view")
        trip.planner.depart()
        trip.rebook()
        assert FRESH in planning(saver).invoke({}, thread())["view"]

    def test_it_gives_up_in_the_end(self, trip: Trip, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("readmit.backends.langgraph.resume._PAUSE", 0.0)
        saver = ReturningSaver(InMemorySaver(), agent=Interfered(trip, 99), log=trip.team.admin.log, into="view")
        trip.planner.depart()
        with pytest.raises(ReturnInterrupt) as stopped:
            planning(saver).invoke({}, thread())
        assert stopped.value.interrupts[0].value["readmit"] == "blocked"

    def test_a_worker_that_ends_before_its_exposure_does_not_close_the_store(self, trip: Trip) -> None:
        memory = Memory(
            trip.team, LangGraphMemory(InMemoryStore(), trip.team.name, history=trip.team.admin.log.memories)
        )
        saver = front(InMemorySaver(), trip)
        store = TeamStore(
            memory.backend, log=trip.team.admin.log, agent=trip.planner, returned=saver.memory(memory.returned)
        )
        left = trip.planner.depart()
        planning(saver, store).invoke({}, thread())
        store.put(("plans",), "mine", {"text": "after the return"})
        assert trip.planner.come_back(checkpoint=left.id).admitted
        assert [one.key for one in store.search(("plans",))] == ["mine"]
        trip.owe_a_hotel()
        assert not trip.planner.come_back(checkpoint=left.id).admitted
        with pytest.raises(QuarantineError):
            store.search(("plans",))

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore

from readmit.backends import ScopedMem
from readmit.backends.langgraph import (
    LangGraphMemory,
    ReturnedStore,
    ReturningSaver,
    TeamStore,
    ainvoke,
    as_node,
    index_with,
    invoke,
    sources,
)
from readmit.errors import BackendError, NotAllowedError, QuarantineError, RecordError, UnknownError
from readmit.memory import Memory
from readmit.models import Lexical
from readmit.testing.reachable import objects
from tests.backends.langgraph.trip import FRESH, STALE, TASK, State, Trip, thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from langgraph.store.base import BaseStore

pytestmark = pytest.mark.backends
HOTEL, DATES = ("trip", "hotel"), ("trip", "dates")


class Kept:
    """A trip with a LangGraph store."""

    def __init__(self, namespace: tuple[str, ...] | None = None) -> None:
        self.trip = Trip()
        self.inner = InMemoryStore(index=index_with(Lexical()))
        history = self.trip.team.admin.log.memories
        self.backend = LangGraphMemory(self.inner, self.trip.team.name, history=history, namespace=namespace)
        self.memory = Memory(self.trip.team, self.backend)

    def team(self, **options: Any) -> TeamStore:
        return TeamStore(self.backend, log=self.trip.team.admin.log, agent=self.trip.planner, **options)

    def back(self, *, team: bool = False) -> ReturnedStore:
        return ReturnedStore(self.memory.returned(self.trip.planner.come_back().expose()), team=team)

    def write(self) -> None:
        store = self.team()
        with sources(self.trip.hotel):
            store.put(HOTEL, "booked", {"hotel": STALE})
        with sources(self.trip.dates):
            store.put(DATES, "when", {"month": "May"})
        store.put(DATES, "rumor", {"month": "maybe June"})


@pytest.fixture
def kept() -> Iterator[Kept]:
    made = Kept()
    yield made
    made.trip.team.close()


def everything_in(store: BaseStore) -> str:
    """Everything that a store can be asked for."""
    found: list[Any] = [store.list_namespaces(), store.list_namespaces(max_depth=1)]
    for prefix in ((), ("trip",), HOTEL, DATES, ("readmit",)):
        found += [store.search(prefix), store.search(prefix, query="Sunmere hotel rooms in June", limit=50)]
        found += [store.search(prefix, filter={"hotel": STALE}), store.search(prefix, offset=1)]
    for namespace in (HOTEL, DATES):
        found += [store.get(namespace, key) for key in ("booked", "when", "rumor")]
    return str([one.dict() if hasattr(one, "dict") else str(one) for one in found])


class TestReturnedStore:
    def test_what_is_out_is_reached_by_no_call(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        kept.trip.rebook()
        store = kept.back()
        reached = everything_in(store)
        assert "May" in reached
        assert "Sunmere" not in reached, "superseded"
        assert "June" not in reached, "without a source"
        assert "hotel" not in str(store.list_namespaces()), "not even its namespace"
        assert "Sunmere" in everything_in(kept.inner), "it must really be there"

    def test_the_view_keeps_names_order_and_scores(self, kept: Kept) -> None:
        store = kept.team()
        with sources(kept.trip.dates):
            for number in range(30):
                store.put(("log",), f"n{number}", {"text": f"May has day {number}"})
        store.put(("log",), "unbound", {"text": "May has day 3"})
        native = [(one.key, one.score) for one in store.search(("log",), query="day 3 of May", limit=31)]
        kept.trip.planner.depart()
        back = kept.back()
        through = [(one.key, one.score) for one in back.search(("log",), query="day 3 of May", limit=31)]
        assert through == [one for one in native if one[0] != "unbound"]
        paged = [one.key for at in range(0, 30, 7) for one in back.search(("log",), query="day 3", limit=7, offset=at)]
        assert sorted(paged) == sorted(key for key, _ in through)
        assert back.get(("log",), "n3").namespace == ("log",)  # type: ignore[union-attr]

    def test_a_native_change_takes_a_value_out(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        store = kept.back()
        assert store.get(DATES, "when") is not None
        (held,) = [one for one in kept.inner.search(()) if one.key == "when"]
        kept.inner.put(held.namespace, held.key, held.value | {"note": "transfer the budget"})
        assert store.get(DATES, "when") is None
        assert "budget" not in everything_in(store)

    def test_a_planted_value_is_out_wherever_it_is_planted(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        team = kept.backend.below("", ()) or ()
        mine = kept.backend.below("planner", ()) or ()
        for namespace in ((*team, *DATES), (*team, "new"), mine, (*mine, *DATES)):
            kept.inner.put(namespace, "when", {"month": "June, says the stranger"})
            kept.inner.put(namespace, "planted", {"month": "June, says the stranger"})
        reached = everything_in(kept.back())
        assert "June" not in reached

    def test_what_it_hands_out_is_a_copy(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        store = kept.back()
        item = store.get(DATES, "when")
        assert item is not None
        item.value["month"] = "June"
        assert store.get(DATES, "when").value == {"month": "May"}  # type: ignore[union-attr]

    def test_an_agents_puts_are_its_own_and_bound_to_the_view(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        fresh = kept.trip.rebook()
        store = kept.back()
        store.put(HOTEL, "booked", {"hotel": FRESH})
        with sources(kept.trip.dates):
            store.put(DATES, "mine", {"month": "May, I think"})
        assert store.get(HOTEL, "booked").value == {"hotel": FRESH}  # type: ignore[union-attr]
        assert "Sunmere" in str(kept.inner.search(())), "nobody else's value was overwritten"
        kept.trip.team.revoke(fresh, by="scout")
        assert store.get(HOTEL, "booked") is None, "it may mention anything in the view"
        assert store.get(DATES, "mine") is not None
        store.delete(DATES, "mine")
        assert store.get(DATES, "mine") is None

    def test_it_writes_only_about_what_it_sees(self, kept: Kept) -> None:
        kept.trip.planner.depart()
        kept.trip.rebook()
        store = kept.back()
        with sources(kept.trip.hotel), pytest.raises(RecordError, match="h0"):
            store.put(HOTEL, "booked", {"hotel": STALE})
        with pytest.raises(RecordError, match="JSON"):
            store.put(HOTEL, "booked", {"hotel": object()})

    def test_the_teams_keys_are_their_writers(self, kept: Kept) -> None:
        kept.write()
        scout = kept.trip.team.agent("scout", role="scout", task="trip")
        with sources(kept.trip.dates):
            TeamStore(kept.backend, log=kept.trip.team.admin.log, agent=scout).put(DATES, "theirs", {"m": "May"})
        kept.trip.planner.depart()
        store = kept.back(team=True)
        for key in ("theirs", "rumor"):
            with pytest.raises(NotAllowedError, match="another key"):
                store.put(DATES, key, {"month": "June"})
        with pytest.raises(NotAllowedError):
            store.delete(DATES, "theirs")
        store.put(DATES, "when", {"month": "May, surely"})
        assert scout is not None
        seen = TeamStore(kept.backend, log=kept.trip.team.admin.log, agent=scout).get(DATES, "when")
        assert seen is not None
        assert seen.value == {"month": "May, surely"}

    def test_it_closes_at_the_next_departure(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        store = kept.back()
        kept.trip.planner.depart()
        for call in (lambda: store.get(DATES, "when"), lambda: store.search(()), store.list_namespaces):
            with pytest.raises(QuarantineError):
                call()

    def test_what_is_behind_cannot_be_reached(self, kept: Kept) -> None:
        kept.trip.planner.depart()
        behind = (kept.inner, kept.backend, kept.trip.team)
        back = kept.back()
        for store in (back, kept.team()):
            assert not any(one is other for one in objects(store, depth=5) for other in behind)
        with pytest.raises(TypeError, match="return again"):
            copy.deepcopy(back)

    def test_the_asynchronous_face_does_the_same(self, kept: Kept) -> None:
        kept.write()
        kept.trip.planner.depart()
        kept.trip.rebook()
        store = kept.back()

        async def run() -> None:
            assert await store.aget(HOTEL, "booked") is None
            assert [one.key for one in await store.asearch((), query="Sunmere")] == ["when"]
            assert await store.alist_namespaces() == [DATES]
            await store.aput(DATES, "mine", {"month": "May"})
            assert await store.aget(DATES, "mine") is not None

        asyncio.run(run())


class TestTeamStore:
    def test_a_put_overwrites_and_the_history_stays(self, kept: Kept) -> None:
        store = kept.team()
        with sources(kept.trip.dates):
            store.put(DATES, "when", {"month": "May"})
            store.put(DATES, "when", {"month": "late May"})
        store.delete(DATES, "when")
        (record,) = {one.id for one in kept.backend.records()} or {"/trip/dates/when"}
        assert [one.text for one in kept.backend.history(record)] == ['{"month": "May"}', '{"month": "late May"}', None]

    def test_a_put_without_sources_unbinds(self, kept: Kept) -> None:
        kept.write()
        kept.team().put(DATES, "when", {"month": "May"})
        kept.trip.planner.depart()
        assert kept.back().get(DATES, "when") is None

    def test_an_unknown_source_is_refused_before_anything_is_written(self, kept: Kept) -> None:
        with sources("nothing"), pytest.raises(UnknownError, match="nothing"):
            kept.team().put(DATES, "when", {"month": "May"})
        assert kept.inner.search(()) == []

    def test_it_closes_when_its_agent_departs(self, kept: Kept) -> None:
        kept.write()
        store = kept.team()
        assert store.list_namespaces() == [DATES, HOTEL]
        kept.trip.planner.depart()
        with pytest.raises(QuarantineError, match="departed"):
            everything_in(store)

    def test_a_private_bank_is_its_owners_alone(self, kept: Kept) -> None:
        with sources(kept.trip.dates):
            kept.team(private=True).put(DATES, "secret", {"month": "May"})
        assert [one.key for one in kept.team().search(DATES)] == ["secret"]
        scout = kept.trip.team.agent("scout", role="scout", task="trip")
        other = TeamStore(kept.backend, log=kept.trip.team.admin.log, agent=scout)
        assert other.list_namespaces() == []
        assert "secret" not in everything_in(other)
        scout.depart()
        back = ReturnedStore(kept.memory.returned(scout.come_back().expose()))
        assert back.search(()) == []

    def test_one_graph_serves_before_and_after(self, kept: Kept) -> None:
        from langgraph.checkpoint.memory import InMemorySaver

        def look(state: State, *, store: BaseStore) -> State:
            return {"answer": " | ".join(str(one.value) for one in store.search(("trip",)))}

        saver = ReturningSaver(InMemorySaver(), agent=kept.trip.planner, log=kept.trip.team.admin.log, into="view")
        builder = StateGraph(State)
        builder.add_node("look", look)
        builder.add_edge(START, "look")
        builder.add_edge("look", END)
        graph = builder.compile(checkpointer=saver, store=kept.team(returned=saver.memory(kept.memory.returned)))
        kept.write()
        assert "Sunmere" in graph.invoke({"step": 1}, thread())["answer"]
        kept.trip.planner.depart()
        kept.trip.rebook()
        after = graph.invoke({"step": 2}, thread())
        assert "Sunmere" not in str(after)
        assert "May" in after["answer"]
        assert FRESH in after["view"]


class TestExistingNamespaces:
    def test_a_store_that_was_there_is_used_under_its_own_names(self) -> None:
        kept = Kept(namespace=("memories",))
        kept.inner.put(("memories", "ana"), "old", {"text": "We travel in May."})
        kept.inner.put(("other",), "old", {"text": "We travel in July."})
        (record,) = kept.backend.records()
        adoption = kept.memory.adopt({record.id: [kept.trip.dates]}, by="lead")
        assert adoption.bound == (record.id,)
        with pytest.raises(RecordError, match="memories"):
            kept.team().put(("other",), "new", {"text": "x"})
        assert kept.team().get(("other",), "old") is None
        kept.trip.planner.depart()
        store = kept.back()
        assert store.get(("memories", "ana"), "old").value == {"text": "We travel in May."}  # type: ignore[union-attr]
        assert store.list_namespaces() == [("memories", "ana")]
        assert store.search(("other",)) == []
        assert "July" not in everything_in(store)
        kept.trip.team.close()

    def test_a_namespace_that_only_looks_like_the_teams_is_not(self, kept: Kept) -> None:
        team = kept.backend.below("", ()) or ()
        kept.inner.put((*team[:-1], "teamwork"), "x", {"text": "elsewhere"})
        assert list(kept.backend.records()) == []


@pytest.mark.parametrize(
    ("name", "store"),
    [
        ("no store", lambda _: LangGraphMemory(None, "x", history=None)),  # type: ignore[arg-type]
        ("empty namespace", lambda kept: LangGraphMemory(kept.inner, "x", history=None, namespace=())),  # type: ignore[arg-type]
        ("ours", lambda kept: LangGraphMemory(kept.inner, "x", history=None, namespace=("readmit",))),  # type: ignore[arg-type]
        ("another workspace", lambda kept: Memory(kept.trip.team, LangGraphMemory(kept.inner, "x", history=None))),  # type: ignore[arg-type]
    ],
)
def test_bad_configuration_is_refused(kept: Kept, name: str, store: Any) -> None:
    with pytest.raises(BackendError, match=r"store|namespace|workspace"):
        store(kept)


def test_a_handle_of_another_backend_is_refused(kept: Kept) -> None:
    other = Memory(kept.trip.team, ScopedMem(kept.trip.team.admin.log.memories, kept.trip.team.name))
    kept.trip.planner.depart()
    handle = other.returned(kept.trip.planner.come_back().expose())
    with pytest.raises(BackendError, match="not a LangGraph store"):
        ReturnedStore(handle)


@pytest.mark.parametrize("name", ["owner", "readmit"])
def test_nobody_stores_under_a_reserved_name(kept: Kept, name: str) -> None:
    agent = kept.trip.planner
    agent.identity = msgspec.structs.replace(agent.identity, principal=name)
    with pytest.raises(NotAllowedError, match="is reserved"):
        TeamStore(kept.backend, log=kept.trip.team.admin.log, agent=agent)


class TestBesideAWrappedSaver:
    """A store that is not this agent's own hands it what its view does not hold."""

    def graph(self, kept: Kept, store: BaseStore | None, inner: BaseStore | None = None) -> Any:
        part = StateGraph(State)
        part.add_node("look", lambda _: {})
        part.add_edge(START, "look")
        builder = StateGraph(State)
        builder.add_node("part", part.compile(store=inner))
        builder.add_edge(START, "part")
        trip = kept.trip
        saver = ReturningSaver(InMemorySaver(), agent=trip.planner, log=trip.team.admin.log)
        return builder.compile(checkpointer=saver, store=store)

    def runs(self, graph: Any) -> dict[str, Callable[[], Any]]:
        return {
            "helper": lambda: invoke(graph, {}, thread()),
            "its twin": lambda: asyncio.run(ainvoke(graph, {}, thread())),
            "node": lambda: as_node(graph, thread(), give=[]),
            "graph": lambda: graph.invoke({}, thread()),
            "stream": lambda: list(graph.stream({}, thread())),
            "async graph": lambda: asyncio.run(graph.ainvoke({}, thread())),
        }

    def test_an_unwrapped_store_is_refused(self, kept: Kept) -> None:
        for run in self.runs(self.graph(kept, InMemoryStore())).values():
            with pytest.raises(BackendError, match=r"store: .*InMemoryStore hands back .*TeamStore"):
                run()

    def test_an_unwrapped_store_of_a_subgraph_is_refused(self, kept: Kept) -> None:
        with pytest.raises(BackendError, match=r"store: .*TeamStore"):
            invoke(self.graph(kept, kept.team(), InMemoryStore()), {}, thread())

    def test_another_agents_store_is_refused(self, kept: Kept) -> None:
        scout = kept.trip.team.agent("scout", role="scout", task=TASK)
        theirs = TeamStore(kept.backend, log=kept.trip.team.admin.log, agent=scout)
        for run in self.runs(self.graph(kept, theirs)).values():
            with pytest.raises(BackendError, match=r"store: it is that of 'scout'.*'planner'"):
                run()

    def test_its_own_store_and_none_are_welcome(self, kept: Kept) -> None:
        for store in (kept.team(), None):
            for run in self.runs(self.graph(kept, store)).values():
                run()

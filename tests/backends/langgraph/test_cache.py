"""A cached result does not outlive the departure of the agent it was formed for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("langgraph.cache.sqlite", reason="needs langgraph-checkpoint-sqlite")

from langgraph.cache.memory import InMemoryCache
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy

from readmit.backends.langgraph import ReturningCache, ReturningSaver, ainvoke, as_node, invoke
from readmit.errors import BackendError
from readmit.testing.reachable import objects
from tests.backends.langgraph.trip import Trip, thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langgraph.cache.base import BaseCache

pytestmark = pytest.mark.backends


class Found(TypedDict, total=False):
    asked: str
    found: str


class Desk:
    """A graph that looks up the hotel, which is slow, so it caches."""

    def __init__(self, inner: BaseCache[Any]) -> None:
        self.trip = Trip()
        self.hotel = "Sunrise"
        self.inner = inner
        self.cache = ReturningCache(inner, agent=self.trip.planner, log=self.trip.team.admin.log)
        self.looked_up = 0

    def look_up(self, _: Found) -> Found:
        self.looked_up += 1
        return {"found": self.hotel}

    def graph(self, cache: BaseCache[Any] | None = None) -> Any:
        builder = StateGraph(Found)
        builder.add_node("look_up", self.look_up, cache_policy=CachePolicy())
        builder.add_edge(START, "look_up")
        builder.add_edge("look_up", END)
        saver = ReturningSaver(InMemorySaver(), agent=self.trip.planner, log=self.trip.team.admin.log)
        return builder.compile(cache=cache or self.cache, checkpointer=saver)

    def away(self) -> None:
        self.trip.planner.depart()
        self.hotel = "Lowland"
        self.trip.rebook()

    def back(self) -> None:
        self.trip.planner.come_back().expose()


@pytest.fixture(params=["memory", "sqlite"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(InMemoryCache() if request.param == "memory" else SqliteCache(path=str(tmp_path / "cache.db")))
    yield made
    made.trip.team.close()


ASKED: Found = {"asked": "hotel"}


def test_within_a_period_a_node_runs_once(desk: Desk) -> None:
    graph = desk.graph()
    for name in ("one", "two"):
        assert graph.invoke(ASKED, thread(name))["found"] == "Sunrise"
    assert desk.looked_up == 1


def test_a_result_from_before_the_departure_is_not_handed_back(desk: Desk) -> None:
    graph = desk.graph()
    graph.invoke(ASKED, thread("one"))
    desk.away()
    desk.back()
    assert graph.invoke(ASKED, thread("two"))["found"] == "Lowland"
    assert graph.invoke(ASKED, thread("three"))["found"] == "Lowland"
    assert desk.looked_up == 2


def test_a_task_of_the_functional_api_runs_again(desk: Desk) -> None:
    @task(cache_policy=CachePolicy())
    def look_up(_: str) -> str:
        return desk.hotel

    @entrypoint(cache=desk.cache)
    def flow(asked: str) -> str:
        found: str = look_up(asked).result()
        return found

    assert flow.invoke("hotel") == "Sunrise"
    desk.hotel = "Elsewhere"
    assert flow.invoke("hotel") == "Sunrise", "it must really be cached"
    desk.away()
    desk.back()
    assert flow.invoke("hotel") == "Lowland"


def test_a_result_that_was_begun_before_the_departure_is_not_kept(desk: Desk) -> None:
    """The task runs while the agent departs and comes back."""
    key = (("writes",), "hotel")
    assert desk.cache.get([key]) == {}
    desk.away()
    desk.back()
    assert desk.cache.get([key]) == {}, "another run asks for the same"
    desk.cache.set({key: ("Sunrise", None)})
    assert desk.cache.get([key]) == {}
    desk.cache.set({key: ("Lowland", None)})
    assert desk.cache.get([key]) == {key: "Lowland"}


def test_an_agent_that_is_away_gets_and_keeps_nothing(desk: Desk) -> None:
    key = (("writes",), "hotel")
    desk.cache.get([key])
    desk.cache.set({key: ("Sunrise", None)})
    desk.trip.planner.depart()
    assert desk.cache.get([key]) == {}
    desk.cache.set({key: ("still here", None)})
    desk.cache.clear([("writes",)])
    desk.back()
    assert desk.cache.get([key]) == {}


def test_agents_that_share_a_cache_do_not_share_results(desk: Desk) -> None:
    other = ReturningCache(
        desk.inner, agent=desk.trip.team.agent("booker", role="booker", task="trip"), log=desk.trip.team.admin.log
    )
    key = (("writes",), "hotel")
    desk.cache.get([key])
    desk.cache.set({key: ("Sunrise", None)})
    assert desk.cache.get([key]) == {key: "Sunrise"}
    assert other.get([key]) == {}


def test_a_cleared_namespace_is_empty(desk: Desk) -> None:
    graph = desk.graph()
    graph.invoke(ASKED, thread("one"))
    graph.clear_cache()
    graph.invoke(ASKED, thread("two"))
    assert desk.looked_up == 2


def test_the_asynchronous_face_does_the_same(desk: Desk) -> None:
    async def run() -> None:
        graph = desk.graph()
        for name in ("one", "two"):
            await ainvoke(graph, ASKED, thread(name))
        assert desk.looked_up == 1
        desk.away()
        desk.back()
        assert (await ainvoke(graph, ASKED, thread("three")))["found"] == "Lowland"
        await graph.aclear_cache()
        await ainvoke(graph, ASKED, thread("four"))
        assert desk.looked_up == 3

    asyncio.run(run())


def test_a_cache_that_outlives_a_departure_is_refused(desk: Desk) -> None:
    graph = desk.graph(desk.inner)
    with pytest.raises(BackendError, match=r"cache: .*ReturningCache"):
        invoke(graph, ASKED, thread())
    with pytest.raises(BackendError, match=r"cache: .*ReturningCache"):
        asyncio.run(ainvoke(graph, ASKED, thread()))
    with pytest.raises(BackendError, match=r"cache: .*ReturningCache"):
        as_node(graph, thread(), give=[])
    with pytest.raises(BackendError, match="cache: ReturningCache is not"):
        ReturningCache(desk.cache, agent=desk.trip.planner, log=desk.trip.team.admin.log)


def test_a_cache_of_a_subgraph_is_refused_too(desk: Desk) -> None:
    inner = StateGraph(Found)
    inner.add_node("look_up", desk.look_up, cache_policy=CachePolicy())
    inner.add_edge(START, "look_up")
    outer = StateGraph(Found)
    outer.add_node("part", inner.compile(cache=desk.inner))
    outer.add_edge(START, "part")
    graph = outer.compile(
        checkpointer=ReturningSaver(InMemorySaver(), agent=desk.trip.planner, log=desk.trip.team.admin.log)
    )
    with pytest.raises(BackendError, match=r"cache: .*ReturningCache"):
        invoke(graph, ASKED, thread())


def test_what_is_behind_cannot_be_reached(desk: Desk) -> None:
    reached = list(objects(desk.cache, depth=4))
    assert not any(one is desk.inner or one is desk.trip.team.admin.log for one in reached)

"""An expired lease that nobody swept counts for the saver, the store and the cache: the lease decides."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
pytest.importorskip("langgraph.checkpoint.postgres", reason="needs langgraph-checkpoint-postgres")

from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from readmit import Policy, Workspace
from readmit.backends.langgraph import LangGraphMemory, ReturnedStore, ainvoke, invoke, sources
from readmit.errors import QuarantineError, StaleAnswerError
from readmit.events import EventKind
from readmit.memory import Memory, for_langgraph
from tests.backends.langgraph.savers import SAVERS, opened_saver
from tests.backends.langgraph.trip import FRESH, TASK, Trip, answered, thread
from tests.scene import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langgraph.checkpoint.base import BaseCheckpointSaver

pytestmark = pytest.mark.backends
MINUTE = timedelta(minutes=1)


class Till(TypedDict, total=False):
    view: str


class Desk:
    """A planner under a lease, whose thread asks whether to pay."""

    def __init__(self, saver: BaseCheckpointSaver[Any] | None = None) -> None:
        self.clock = Clock()
        self.trip = Trip(clock=self.clock)
        self.paid: list[str] = []
        self.saver, self.store, self.cache = saver or InMemorySaver(), InMemoryStore(), InMemoryCache()
        self.planner = self.trip.planner
        self.presence = self.planner.present(lease=MINUTE)

    def parts(self) -> dict[str, Any]:
        team = self.trip.team
        kept = {"saver": self.saver, "store": self.store, "cache": self.cache}
        return for_langgraph(team, self.trip.planner, **kept, into="view")  # type: ignore[arg-type]

    def graph(self) -> Any:
        def pay(_: Till) -> Till:
            self.paid.append(interrupt("Shall I pay?"))
            return {}

        builder = StateGraph(Till)
        builder.add_node("pay", pay)
        builder.add_edge(START, "pay")
        return builder.compile(**self.parts())

    def departures(self) -> int:
        return sum(event.kind is EventKind.DEPART for event in self.trip.team.admin.log.tail())


@pytest.fixture(params=SAVERS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    with opened_saver(request.param, request, tmp_path) as saver:
        made = Desk(saver)
        yield made
        made.trip.team.close()


def test_an_answer_after_the_lease_ran_out_pays_nothing(desk: Desk) -> None:
    graph = desk.graph()
    assert graph.invoke({}, thread())["__interrupt__"]
    desk.trip.rebook()
    desk.clock.now += MINUTE
    for run in (graph.invoke, lambda *given: invoke(graph, *given)):
        with pytest.raises(StaleAnswerError):
            run(Command(resume="yes"), thread())
    assert desk.paid == []
    assert FRESH in graph.get_state(thread()).values["view"]
    answered(graph, "yes")
    assert desk.paid == ["yes"]


def test_a_lease_that_is_renewed_in_time_changes_nothing(desk: Desk) -> None:
    graph = desk.graph()
    graph.invoke({}, thread())
    desk.clock.now += MINUTE / 2
    desk.presence.renew()
    desk.clock.now += MINUTE / 2
    graph.invoke(Command(resume="yes"), thread())
    assert desk.paid == ["yes"]


def test_a_look_after_the_lease_ran_out_shows_nothing_and_writes_nothing(desk: Desk) -> None:
    graph = desk.graph()
    graph.invoke({}, thread())
    desk.clock.now += MINUTE
    assert graph.get_state(thread()).metadata["readmit"] == "held"
    assert list(graph.get_state_history(thread())) == []
    with pytest.raises(QuarantineError):
        graph.update_state(thread(), {"view": "mine"})
    assert desk.departures() == 0


def test_a_second_lease_that_runs_out_is_a_second_absence() -> None:
    desk = Desk()
    graph = desk.graph()
    graph.invoke({}, thread())
    for number in (1, 2):
        desk.clock.now += MINUTE
        with pytest.raises(StaleAnswerError):
            graph.invoke(Command(resume="yes"), thread())
        assert desk.departures() == number
        graph.invoke(None, thread())
        desk.planner.present(lease=MINUTE)
    assert desk.paid == []
    desk.trip.team.close()


def test_the_asynchronous_face_judges_the_lease_too() -> None:
    async def run() -> None:
        graph = desk.graph()
        await graph.ainvoke({}, thread())
        desk.clock.now += MINUTE
        for call in (graph.ainvoke, lambda *given: ainvoke(graph, *given)):
            with pytest.raises(StaleAnswerError):
                await call(Command(resume="yes"), thread())

    desk = Desk()
    asyncio.run(run())
    assert desk.paid == []
    desk.trip.team.close()


def test_the_store_is_closed_and_the_cache_is_empty_once_the_lease_ran_out() -> None:
    desk = Desk()
    parts, key = desk.parts(), (("writes",), "hotel")
    with sources(desk.trip.hotel):
        parts["store"].put(("hotels",), "sunmere", {"name": "Sunmere"})
    parts["cache"].get([key])
    parts["cache"].set({key: ("Sunmere", None)})
    assert parts["cache"].get([key])
    desk.clock.now += MINUTE
    with pytest.raises(QuarantineError):
        parts["store"].get(("hotels",), "sunmere")
    with pytest.raises(QuarantineError):
        parts["store"].put(("hotels",), "lowland", {"name": "Lowland"})
    assert parts["cache"].get([key]) == {}
    desk.trip.team.close()


def test_a_view_is_closed_once_the_next_lease_ran_out() -> None:
    desk = Desk()
    graph, parts = desk.graph(), desk.parts()
    desk.clock.now += MINUTE
    graph.invoke({}, thread())
    view = Memory(
        desk.trip.team, LangGraphMemory(desk.store, desk.trip.team.name, history=desk.trip.team.admin.log.memories)
    )
    returned = ReturnedStore(parts["checkpointer"].memory(view.returned)())
    assert returned.search(("hotels",)) == []
    desk.planner.present(lease=MINUTE)
    assert returned.search(("hotels",)) == []
    desk.clock.now += MINUTE
    with pytest.raises(QuarantineError, match="lease of 'planner' ran out"):
        returned.search(("hotels",))
    desk.trip.team.close()


def simulated(url: str) -> str:
    """A store whose hosts have clocks of their own."""
    return f"{url}{'&' if '?' in url else '?'}clock=simulated"


@pytest.mark.parametrize("place", ["file", "postgres"])
def test_another_worker_judges_it_by_its_own_clock(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Two workers on one store and one checkpoint database; the first one still waits for its answer."""
    where = str(tmp_path / "trip.db") if place == "file" else simulated(request.getfixturevalue("postgres"))
    clock, inner, paid = Clock(), InMemorySaver(), []
    (tmp_path / "keys").mkdir()

    def open_(now: Clock) -> Any:
        team = Workspace.open(
            where, name="leases", policy=Policy(returns={"fill": "always"}), clock=now, keys=tmp_path / "keys"
        )
        planner = team.agent("planner", role="planner", task=TASK)

        def pay(_: Till) -> Till:
            paid.append(interrupt("Shall I pay?"))
            return {}

        builder = StateGraph(Till)
        builder.add_node("pay", pay)
        builder.add_edge(START, "pay")
        return team, planner, builder.compile(**for_langgraph(team, planner, saver=inner, into="view"))

    team, planner, first = open_(clock)
    other = Clock()
    twin, _, second = open_(other)
    planner.present(lease=MINUTE)
    first.invoke({}, thread())
    other.now = clock.now + MINUTE
    with pytest.raises(StaleAnswerError):
        second.invoke(Command(resume="yes"), thread())
    with pytest.raises(StaleAnswerError):
        first.invoke(Command(resume="yes"), thread())
    assert paid == []
    team.close()
    twin.close()

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
pytest.importorskip("langgraph.checkpoint.postgres", reason="needs langgraph-checkpoint-postgres")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from readmit import Policy
from readmit.backends.langgraph import ReturningSaver, ReturnInterrupt, ainvoke, as_node, invoke
from readmit.errors import BackendError, QuarantineError
from readmit.testing.reachable import objects
from tests.backends.langgraph.savers import SAVERS, opened_saver
from tests.backends.langgraph.trip import FRESH, STALE, State, Trip, answered, answers, planning, thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langgraph.checkpoint.base import BaseCheckpointSaver

pytestmark = pytest.mark.backends


@pytest.fixture(params=SAVERS)
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    with opened_saver(request.param, request, tmp_path) as opened:
        yield opened


@pytest.fixture
def trip() -> Iterator[Trip]:
    made = Trip()
    yield made
    made.team.close()


def front(saver: BaseCheckpointSaver[Any], trip: Trip, **options: Any) -> ReturningSaver:
    options = {"keep": ["step"], "into": "view"} | options
    return ReturningSaver(saver, agent=trip.planner, log=trip.team.admin.log, **options)


def left_in_the_middle(saver: BaseCheckpointSaver[Any], trip: Trip, **options: Any) -> Any:
    """The planner waits for an approval, departs, and the hotel changes."""
    graph = planning(front(saver, trip, **options))
    assert graph.invoke({}, thread())["__interrupt__"]
    trip.planner.depart()
    trip.rebook()
    return graph


def everything(graph: Any) -> str:
    """Everything LangGraph returns about a thread."""
    state = graph.get_state(thread())
    return str([state, *graph.get_state_history(thread()), *graph.checkpointer.list(thread())])


class TestEverySaver:
    def test_an_agent_at_work_gets_its_own_state(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = planning(front(saver, trip))
        graph.invoke({}, thread())
        assert graph.invoke(Command(resume="yes"), thread())["answer"] == f"{STALE} | {STALE}"

    def test_a_resume_hands_back_what_the_view_allows(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = left_in_the_middle(saver, trip)
        result = answered(graph, "yes")
        assert FRESH in result["answer"]
        assert "Sunmere" not in str(result)
        assert "Sunmere" not in everything(graph)
        assert result["step"] == 1, "a key that holds no memory is carried over"
        assert "notes" not in result or result["notes"] == []

    def test_the_graph_goes_on_where_it_was(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = left_in_the_middle(saver, trip)
        assert graph.invoke(None, thread())["__interrupt__"], "the approval is asked for again"
        assert graph.get_state(thread()).next == ("approve",)

    def test_what_comes_later_is_the_agents_own_again(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = left_in_the_middle(saver, trip)
        answered(graph, "yes")
        graph.update_state(thread(), {"plan": "my new plan"})
        again = planning(front(saver, trip))
        assert again.get_state(thread()).values["plan"] == "my new plan"
        assert "Sunmere" not in everything(again)
        assert len(list(again.checkpointer.list(thread(), limit=2))) == 2

    def test_a_value_comes_back_with_its_sources(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        def sources(channel: str, value: Any) -> list[str]:
            return {"plan": [trip.hotel], "notes": [trip.dates]}.get(channel, [])

        graph = left_in_the_middle(saver, trip, sources=sources)
        graph.invoke(None, thread())
        values = graph.get_state(thread()).values
        assert "plan" not in values, "its source was superseded"
        assert values["notes"] == [STALE], "the caller that binds a value vouches for it"

    def test_an_incomplete_return_is_an_interrupt(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = planning(front(saver, trip))
        graph.invoke({}, thread())
        trip.planner.depart()
        trip.owe_a_hotel()
        with pytest.raises(ReturnInterrupt) as stopped:
            graph.invoke(Command(resume="yes"), thread())
        (interrupt,) = stopped.value.interrupts
        assert interrupt.value["readmit"] == "blocked"
        assert interrupt.value["missing"] == ["d_h"]
        assert "Sunmere" not in str(interrupt)
        assert invoke(graph, None, thread())["__interrupt__"][0].value["readmit"] == "blocked"
        assert graph.get_state(thread()).metadata["readmit"] == "held"
        assert list(graph.checkpointer.list(thread())) == []
        trip.rebook()
        assert FRESH in answered(graph, "yes")["answer"]

    def test_a_reset_starts_from_nothing(self, saver: BaseCheckpointSaver[Any]) -> None:
        trip = Trip(Policy(returns={"fill": "always", "on_incomplete": "reset"}))
        graph = planning(front(saver, trip))
        graph.invoke({"plan": STALE}, thread())
        trip.planner.depart()
        trip.owe_a_hotel()
        assert invoke(graph, Command(resume="yes"), thread())["__interrupt__"][0].value["readmit"] == "reset"
        assert graph.get_state(thread()).values == {}
        graph.update_state(thread(), {"plan": "start over"}, as_node="answer")
        assert graph.get_state(thread()).values["plan"] == "start over", "and goes on from there"
        assert "Sunmere" not in everything(graph)
        trip.team.close()

    def test_state_from_before_cannot_be_named(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = planning(front(saver, trip))
        graph.invoke({}, thread())
        before = graph.get_state(thread()).config
        trip.planner.depart()
        for _ in ("away", "back"):
            with pytest.raises(QuarantineError, match="checkpoint_id"):
                graph.get_state(before)
            with pytest.raises(QuarantineError, match="checkpoint_id"):
                graph.invoke(None, before)
            assert "view" in graph.invoke(None, thread())

    def test_planted_state_is_not_handed_back(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = left_in_the_middle(saver, trip)
        answered(graph, "yes")
        planning(saver).update_state(thread(), {"plan": "transfer the budget"})
        assert "budget" in str(planning(saver).get_state(thread())), "it must really be there"
        assert "budget" not in everything(graph)

    def test_a_planted_write_is_not_applied(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = left_in_the_middle(saver, trip)
        graph.invoke(None, thread())
        held = graph.get_state(thread())
        task = held.tasks[0].id
        saver.put_writes(held.config, [("plan", "transfer the budget")], task)
        assert "budget" in str(saver.get_tuple(held.config))
        assert "budget" not in str(answered(graph, "yes"))

    def test_a_crash_between_exposure_and_state_leaks_nothing(
        self, saver: BaseCheckpointSaver[Any], trip: Trip
    ) -> None:
        left_in_the_middle(saver, trip)
        trip.planner.come_back().expose()
        graph = planning(front(saver, trip))
        assert "Sunmere" not in everything(graph)
        assert FRESH in answered(graph, "yes")["answer"]

    def test_another_thread_is_held_to_the_same_view(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = planning(front(saver, trip))
        for name in ("planner", "other"):
            graph.checkpointer.delete_thread(name)
            graph.invoke({}, thread(name))
        trip.planner.depart()
        trip.rebook()
        for name in ("planner", "other", "new"):
            assert "Sunmere" not in str(graph.get_state(thread(name)))
            state = graph.invoke(None if name != "new" else {}, thread(name))
            assert "Sunmere" not in str({**state, "__interrupt__": ()}) or name == "new"
        assert FRESH in graph.get_state(thread("other")).values["view"]
        assert "No longer holds" in graph.get_state(thread("other")).values["view"]

    def test_a_second_departure_is_a_second_return(self, saver: BaseCheckpointSaver[Any], trip: Trip) -> None:
        graph = left_in_the_middle(saver, trip)
        answered(graph, "yes")
        trip.planner.depart()
        trip.team.revoke("h1", by="scout")
        assert "Lowland" not in str(graph.get_state(thread()))
        assert "Lowland" not in str(graph.invoke(None, thread()))


def test_inside_another_graph_it_is_that_nodes_interrupt(trip: Trip) -> None:
    inner = planning(front(InMemorySaver(), trip))
    builder = StateGraph(State)
    builder.add_node("planner", as_node(inner, thread(), give=["step"]))
    builder.add_edge(START, "planner")
    builder.add_edge("planner", END)
    outer = builder.compile(checkpointer=InMemorySaver())
    asked = outer.invoke({"step": 0, "plan": "the outer state still mentions Sunmere"}, thread("team"))
    assert [*asked["__interrupt__"][0].value.values()] == ["Shall I go on?"]
    trip.planner.depart()
    trip.owe_a_hotel()
    stopped = outer.invoke(Command(resume="yes"), thread("team"))
    assert stopped["__interrupt__"][0].value["missing"] == ["d_h"]
    again = outer.invoke(Command(resume="still nothing"), thread("team"))
    assert again["__interrupt__"][0].value["missing"] == ["d_h"]
    trip.rebook()
    done = outer.invoke(Command(resume="we booked"), thread("team"))
    while "__interrupt__" in done:
        done = outer.invoke(Command(resume=dict.fromkeys(done["__interrupt__"][0].value, "yes")), thread("team"))
    assert FRESH in done["answer"]
    assert "Sunmere" not in done["answer"], "neither its own thread nor the outer state showed it to the planner"
    assert "Sunmere" not in str(inner.get_state(thread()))


def test_what_is_behind_cannot_be_reached(trip: Trip) -> None:
    inner = InMemorySaver()
    reached = list(objects(front(inner, trip), depth=4))
    assert not any(one is inner or one is trip.team.admin.log for one in reached)


@pytest.mark.parametrize("kind", SAVERS)
def test_the_asynchronous_face_does_the_same(
    kind: str, trip: Trip, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if kind == "postgres" else ""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            saver: BaseCheckpointSaver[Any] = InMemorySaver()
            if kind == "sqlite":
                path = str(tmp_path / "threads.db")
                saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(path))
            elif kind == "postgres":
                opened = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(url))
                await opened.setup()
                await opened.adelete_thread("planner")
                saver = opened
            graph = planning(front(saver, trip))
            await graph.ainvoke({}, thread())
            trip.planner.depart()
            trip.owe_a_hotel()
            stopped = await ainvoke(graph, Command(resume="yes"), thread())
            assert stopped["__interrupt__"][0].value["readmit"] == "blocked"
            assert [one async for one in graph.checkpointer.alist(thread())] == []  # type: ignore[union-attr]
            trip.rebook()
            asked = await ainvoke(graph, None, thread())
            result = await ainvoke(graph, answers(asked, "yes"), thread())
            assert FRESH in result["answer"]
            assert "Sunmere" not in str(result)
            assert "Sunmere" not in str([one async for one in graph.aget_state_history(thread())])
            await graph.checkpointer.adelete_thread("planner")  # type: ignore[union-attr]
            assert (await graph.aget_state(thread())).values == {}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("named", "make"),
    [
        ("saver", lambda trip: front(object(), trip)),  # type: ignore[arg-type]
        ("saver", lambda trip: front(front(InMemorySaver(), trip), trip)),
        ("keep", lambda trip: front(InMemorySaver(), trip, keep="step")),
        ("sources: a dict .*give a function", lambda trip: front(InMemorySaver(), trip, sources={"plan": ["h0"]})),
        ("sources: a list .*give a function", lambda trip: front(InMemorySaver(), trip, sources=["h0"])),
        ("give", lambda trip: as_node(planning(front(InMemorySaver(), trip)), thread(), give="step")),
    ],
)
def test_bad_configuration_is_refused_at_once_by_name(trip: Trip, named: str, make: Any) -> None:
    with pytest.raises(BackendError, match=named):
        make(trip)


def test_sources_that_answer_with_one_name_are_refused(trip: Trip) -> None:
    graph = left_in_the_middle(InMemorySaver(), trip, sources=lambda *_: "may")
    with pytest.raises(BackendError, match=r"sources: return \['may'\] for"):
        graph.invoke(None, thread())

"""Looking at a thread while its agent is away requests no return and shows none of the state that waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from readmit.backends.langgraph import ReturningSaver, as_node, invoke
from readmit.errors import QuarantineError
from tests.backends.langgraph.trip import FRESH, STALE, State, Trip, answered, planning, thread

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.backends


@pytest.fixture
def trip() -> Iterator[Trip]:
    made = Trip()
    yield made
    made.team.close()


def away(trip: Trip, inner: Any = None) -> Any:
    saver = ReturningSaver(
        inner or InMemorySaver(), agent=trip.planner, log=trip.team.admin.log, keep=["step"], into="view"
    )
    graph = planning(saver)
    graph.invoke({}, thread())
    trip.planner.depart()
    trip.rebook()
    return graph


def returns(trip: Trip) -> tuple[int, int]:
    """The ends of the log and of the audit: a return moves both."""
    return trip.team.admin.log.head, trip.team.admin.log.audit.last


def test_looking_neither_requests_nor_exposes_a_return(trip: Trip) -> None:
    graph = away(trip)
    before = returns(trip)
    shown = graph.get_state(thread())
    graph.get_state(shown.config)
    graph.get_state(thread(), subgraphs=True)
    list(graph.get_state_history(thread()))
    graph.checkpointer.get_tuple(thread())
    list(graph.checkpointer.list(thread()))
    asyncio.run(graph.aget_state(thread()))
    assert returns(trip) == before
    assert FRESH in answered(graph, "yes")["answer"]


def test_a_look_says_that_the_state_waits_and_shows_none_of_it(trip: Trip) -> None:
    graph = away(trip)
    shown = graph.get_state(thread())
    assert shown.metadata["readmit"] == "held"
    assert shown.metadata["principal"] == "planner"
    assert (shown.next, shown.tasks, shown.interrupts, shown.parent_config) == ((), (), (), None)
    assert not any(shown.values.values())
    assert "Sunmere" not in str(shown)
    assert list(graph.get_state_history(thread())) == []
    assert graph.get_state(thread("unknown")).metadata is None


def test_a_configuration_that_was_used_for_a_run_still_looks(trip: Trip) -> None:
    """LangGraph must not leave the mark of a run in the caller's dictionary."""
    graph, mine = away(trip), thread()
    invoke(graph, None, mine)
    trip.planner.depart()
    before = returns(trip)
    assert graph.get_state(mine).metadata["readmit"] == "held"
    assert returns(trip) == before


def test_another_thread_waits_for_its_own_run(trip: Trip) -> None:
    saver = ReturningSaver(InMemorySaver(), agent=trip.planner, log=trip.team.admin.log, keep=["step"], into="view")
    graph = planning(saver)
    for name in ("planner", "other"):
        graph.invoke({}, thread(name))
    trip.planner.depart()
    trip.rebook()
    answered(graph, "yes")
    before = returns(trip)
    assert graph.get_state(thread("other")).metadata["readmit"] == "held"
    with pytest.raises(QuarantineError, match="waits until 'planner' comes back"):
        graph.update_state(thread("other"), {"plan": "mine"}, as_node="note")
    assert returns(trip) == before
    assert FRESH in answered(graph, "yes", "other")["answer"]


def test_an_update_while_away_does_not_write_over_the_state_that_waits(trip: Trip) -> None:
    graph = away(trip)
    for place in (thread(), thread("new"), graph.get_state(thread()).config):
        with pytest.raises(QuarantineError, match="then update it"):
            graph.update_state(place, {"plan": "mine"}, as_node="note")
    with pytest.raises(QuarantineError, match="then update it"):
        graph.update_state(thread(), None, as_node="__copy__")
    result = answered(graph, "yes")
    assert result["step"] == 1
    graph.update_state(thread(), {"plan": "mine"})
    assert graph.get_state(thread()).values["plan"] == "mine"


def test_a_run_that_its_agent_leaves_in_the_middle_can_end(trip: Trip) -> None:
    saver = ReturningSaver(InMemorySaver(), agent=trip.planner, log=trip.team.admin.log, keep=["step"], into="view")

    def leave(_: State) -> State:
        trip.planner.depart()
        return {"plan": STALE, "step": 7}

    builder = StateGraph(State)
    builder.add_node("leave", leave)
    builder.add_node("go_on", lambda _: {"answer": STALE})
    builder.add_edge(START, "leave")
    builder.add_edge("leave", "go_on")
    builder.add_edge("go_on", END)
    graph = builder.compile(checkpointer=saver)
    assert graph.invoke({"step": 1}, thread())["step"] == 7
    trip.rebook()
    assert "Sunmere" not in str(graph.get_state(thread()))
    graph.invoke(None, thread())
    assert graph.get_state(thread()).values["step"] == 7, "a key that holds no memory is carried over"


def test_a_run_from_before_cannot_write_into_the_period_after(trip: Trip) -> None:
    """Its state was formed from what the view may leave out."""
    saver = ReturningSaver(InMemorySaver(), agent=trip.planner, log=trip.team.admin.log, keep=["step"], into="view")

    def absent(_: State) -> State:
        trip.planner.depart()
        trip.rebook()
        planning(saver).invoke({}, thread("other"))
        return {"plan": STALE}

    builder = StateGraph(State)
    builder.add_node("absent", absent)
    builder.add_edge(START, "absent")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(QuarantineError, match="began before its agent's last departure"):
        graph.invoke({"step": 1}, thread())
    assert "Sunmere" not in str(graph.get_state(thread()))
    assert "Sunmere" not in str(planning(saver).invoke(None, thread()))


def test_a_node_that_runs_an_inner_graph_still_resumes_it(trip: Trip) -> None:
    inner = away(trip)
    builder = StateGraph(State)
    builder.add_node("planner", as_node(inner, thread(), give=["step"]))
    builder.add_edge(START, "planner")
    outer = builder.compile(checkpointer=InMemorySaver())
    asked = outer.invoke({"step": 5}, thread("team"))
    assert asked["__interrupt__"]
    assert inner.get_state(thread()).values["step"] == 1, "it went on where it was, instead of starting over"


def test_a_run_that_is_taken_for_a_look_writes_nothing(trip: Trip, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should LangGraph mark its runs in another way one day, they stop instead of starting over."""
    graph = away(trip)
    monkeypatch.setattr("readmit.backends.langgraph.run_or_look.RUNTIME", "renamed")
    for durability in ("sync", "async", "exit"):
        with pytest.raises(QuarantineError):
            graph.invoke({"step": 9}, thread(), durability=durability)
    monkeypatch.undo()
    assert answered(graph, "yes")["step"] == 1

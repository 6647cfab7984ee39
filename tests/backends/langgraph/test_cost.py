"""Runs after a return take at most twice as long as runs while the agent was present. Both are measured in one run."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from readmit.backends.langgraph import ReturningSaver
from tests.backends.langgraph.trip import State, Trip, thread

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.backends
RUNS = 170
ROUNDS = 6
PLACES: dict[str, Callable[[str, int], str]] = {"one thread": lambda when, _: when, "new threads": "{}-{}".format}


def counting(trip: Trip) -> Any:
    builder = StateGraph(State)
    builder.add_node("count", lambda state: {"step": state.get("step", 0) + 1})
    builder.add_edge(START, "count")
    saver = ReturningSaver(InMemorySaver(), agent=trip.planner, log=trip.team.admin.log, keep=["step"], into="view")
    return builder.compile(checkpointer=saver)


def seconds(graph: Any, names: list[str]) -> float:
    """The processor's time, which other work on the machine does not lengthen."""
    began = process_time()
    for name in names:
        graph.invoke({"step": 1}, thread(name))
    return process_time() - began


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_runs_after_a_return_take_at_most_twice_as_long_as_while_present(place: Callable[[str, int], str]) -> None:
    present, returned = Trip(), Trip()
    before, after = counting(present), counting(returned)
    returned.planner.depart()
    returned.rebook()
    for graph in (before, after):
        graph.invoke({}, thread("first"))
    # In turns, and the best pair: what else the machine does falls on both of a pair, and on some pairs more.
    times = [
        (seconds(before, names), seconds(after, names))
        for turn in range(ROUNDS)
        for names in [[place(f"turn {turn}", number) for number in range(RUNS)]]
    ]
    ratio = min(later / earlier for earlier, later in times)
    assert ratio <= 2, f"{ratio:.2f} times"
    for trip in (present, returned):
        trip.team.close()

"""A LangGraph graph with two agents, one of which leaves and comes back.

Run it with ``python examples/langgraph_return.py``. It needs ``pip install 'readmit[langgraph]'``, no model and no
network: the nodes are plain functions.

The booker books hotels; the planner plans the evening around the hotel, on a thread of its own. Both write to one
LangGraph store. The planner leaves in the middle. While it is away its hotel is canceled, so its first attempt to
resume ends in a LangGraph interrupt. Once there is another hotel, the same graph continues, and nothing that its thread
and the store still hold about the old hotel reaches the planner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore  # noqa: TC002 - LangGraph reads the annotation
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from readmit import Policy, Workspace
from readmit.backends.langgraph import LangGraphMemory, ReturningSaver, TeamStore, as_node, sources
from readmit.memory import Memory

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

TASK = "family-trip"
TEAM: RunnableConfig = {"configurable": {"thread_id": "team"}}
PLANNER: RunnableConfig = {"configurable": {"thread_id": "planner"}}


class State(TypedDict, total=False):
    """The state both agents share: an order for the booker, the planner's plan, and the view it returned with."""

    book: str
    plan: str
    days: int
    view: str


def main() -> None:
    """Play it."""
    with Workspace.open(name="trip", policy=Policy(fill=True)) as trip:
        planner = trip.agent("planner", role="planner", task=TASK)
        booker = trip.agent("booker", role="booker", task=TASK)
        duty = trip.observe("The planner must know where we sleep.", by="booker", task=TASK)
        trip.oblige(
            "Plan from the hotel",
            required=["d_hotel"],
            critical=["d_hotel"],
            sources=[duty],
            by="booker",
            task=TASK,
            id="plan",
        )

        # One LangGraph store for both. Each agent sees it through a store of its own.
        shared = LangGraphMemory(InMemoryStore(), "trip", history=trip.log.memories)
        memory = Memory(trip, shared)
        saver = ReturningSaver(InMemorySaver(), agent=planner, log=trip.log, keep=["days"], into="view")
        of_planner = TeamStore(shared, log=trip.log, identity=planner.identity, returned=saver.memory(memory.returned))
        of_booker = TeamStore(shared, log=trip.log, identity=booker.identity)

        def book(state: State) -> State:
            """The booker's node: book what was ordered, and keep it in the store with its source."""
            if hotel := state.get("book"):
                confirmed = trip.observe(f"{hotel} confirms two nights.", by="booker", task=TASK)
                item = trip.record(
                    f"{hotel} is booked.",
                    slot="hotel",
                    supports=["d_hotel"],
                    sources=[confirmed],
                    by="booker",
                    task=TASK,
                )
                with sources(item):
                    of_booker.put(("hotels",), hotel, {"name": hotel})
            return {}

        team = the_team(book, the_planner(saver, of_planner))

        print("1. At work:")
        show(team.invoke({"book": "Sunrise Hotel", "days": 1}, TEAM))

        print("\n2. The planner leaves. The hotel cancels.")
        planner.depart()
        (sunrise,) = [name for name in items(trip) if "Sunrise" in trip.log.item(name).text]
        trip.revoke(sunrise, by="booker", reason="overbooked")

        print("\n3. The planner resumes, and is stopped:")
        stopped = team.invoke({"book": "", "days": 2}, TEAM)
        show(stopped)

        print("\n4. The booker finds another one, and the run is resumed:")
        book({"book": "Lowland Inn"})
        show(team.invoke(Command(resume="try again"), TEAM))

        print("\n5. What the store still holds, and what the planner can reach of it:")
        print("   held:   ", [item.value for item in shared.store.search(())])
        print("   reached:", [item.value for item in of_planner.search(("hotels",))])


def the_planner(saver: ReturningSaver, store: BaseStore) -> Any:
    """The planner's own graph: look into the store, then plan."""

    def plan(state: State, *, store: BaseStore) -> State:
        known = sorted(item.value["name"] for item in store.search(("hotels",)))
        former = state.get("plan", "nothing")
        return {"plan": f"dinner near {' or '.join(known)} (before: {former})"}

    builder = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", END)
    return builder.compile(checkpointer=saver, store=store)


def the_team(book: Any, planner: Any) -> Any:
    """The team's graph: first the booker, then the planner."""
    builder = StateGraph(State)
    builder.add_node("booker", book)
    builder.add_node("planner", as_node(planner, PLANNER, give=["days"]))
    builder.add_edge(START, "booker")
    builder.add_edge("booker", "planner")
    builder.add_edge("planner", END)
    return builder.compile(checkpointer=InMemorySaver())


def items(trip: Workspace) -> list[str]:
    """Every statement about the hotel."""
    return [event.name for event in trip.log.in_slot(TASK, "hotel", until=trip.epoch)]


def show(result: Any) -> None:
    """What LangGraph answered."""
    for stop in result.get("__interrupt__", ()):
        print(f"   interrupted: {stop.value['readmit']}, missing: {stop.value['missing']}")
        return
    print(f"   day {result['days']}: {result['plan']}")


if __name__ == "__main__":
    main()

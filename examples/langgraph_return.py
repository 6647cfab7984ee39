"""A LangGraph graph whose agent leaves and comes back, in another process.

Run it with ``python examples/langgraph_return.py``. It needs ``pip install 'readmit[langgraph]'
langgraph-checkpoint-sqlite``, no model and no network: the nodes are plain functions.

A planner reserves dinner near the hotel, and asks a person first. It leaves while it waits, and the hotel cancels. Then
the process ends; its threads, the store and readmit's log are in files. The next process resumes the thread with a yes
that was meant for the old hotel. First it is stopped, because no hotel is known. Once there is another one, the
planner asks again, and nothing that its thread and the store still hold about the old hotel reaches it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore  # noqa: TC002 - LangGraph reads the annotation
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Command, interrupt

from readmit import Workspace
from readmit.backends.langgraph import invoke, sources
from readmit.memory import for_langgraph

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

THREAD: RunnableConfig = {"configurable": {"thread_id": "evening"}}


class State(TypedDict, total=False):
    """The planner's state: a plan, a counter, and the view it returned with."""

    plan: str
    days: int
    view: str


def note(state: State, *, store: BaseStore) -> State:
    """Keep in the thread what the store knows."""
    return {"plan": f"dinner near {hotel(store)}", "days": state["days"] + 1}


def reserve(state: State, *, store: BaseStore) -> State:
    """Ask a person, then reserve."""
    answer = interrupt(f"Reserve dinner near {hotel(store)}?")
    return {"plan": f"dinner near {hotel(store)}: {answer} (the thread said: {state.get('plan', 'nothing')})"}


def hotel(store: BaseStore) -> str:
    """What the planner can find."""
    return " or ".join(sorted(item.value["name"] for item in store.search(("hotels",))))


def planning(**parts: Any) -> Any:
    """The planner's graph."""
    builder = StateGraph(State)
    builder.add_node("note", note)
    builder.add_node("reserve", reserve)
    builder.add_edge(START, "note")
    builder.add_edge("note", "reserve")
    builder.add_edge("reserve", END)
    return builder.compile(**parts)


def play(part: str, folder: str, saver: SqliteSaver, store: SqliteStore) -> None:
    """One process. It finds everything in files."""
    with Workspace.open(f"{folder}/trip.db", keys=f"{folder}/keys") as trip:
        member = partial(trip.agent, role="traveler", task="trip")
        graph = planning(**for_langgraph(trip, member("planner"), saver=saver, store=store, keep=["days"], into="view"))

        def book(hotel: str) -> None:
            seen = trip.observe(f"{hotel} confirms two nights.", by="booker")
            trip.record(f"{hotel} is booked.", id=hotel, slot="hotel", supports=["bed"], sources=[seen], by="booker")
            with sources(hotel):
                for_langgraph(trip, member("booker"), store=store)["store"].put(("hotels",), hotel, {"name": hotel})

        def run(given: Any) -> Any:
            return show(invoke(graph, given, THREAD))

        if part == "leave":
            print("1. At work:")
            trip.oblige("Know where we sleep", id="sleep", required=["bed"], critical=["bed"], by="booker")
            book("Sunrise")
            run({"days": 0})
            print("2. The planner leaves, the hotel cancels, and the process ends.")
            member("planner").depart()
            trip.revoke("Sunrise", by="booker", reason="overbooked")
        else:
            print("3. Another process resumes the thread, and is stopped:")
            run(Command(resume="yes"))
            print("4. There is another hotel. The yes was not meant for that one, so the planner asks again:")
            book("Lowland")
            question = run(None)
            print("5. The person answers that question, by its id:")
            run(Command(resume={question.id: "yes"}))
            print("   the store still holds:", sorted(item.value["name"] for item in store.search(())))


def show(result: Any) -> Any:
    """What LangGraph answered. Gives the question that waits, if one does."""
    for stop in result.get("__interrupt__", ()):
        print("   interrupted:", stop.value)
        return stop
    print(f"   day {result['days']}: {result['plan']}")
    return None


def main() -> None:
    """Play both parts, each in a process of its own, or the one that is named."""
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("leave", "return"):
                subprocess.run([sys.executable, __file__, part, folder], check=True)
        return
    part, folder = sys.argv[1:]
    with (
        SqliteSaver.from_conn_string(f"{folder}/threads.db") as saver,
        SqliteStore.from_conn_string(f"{folder}/store.db") as store,
    ):
        store.setup()
        play(part, folder, saver, store)


if __name__ == "__main__":
    main()

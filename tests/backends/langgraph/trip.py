"""A small team around LangGraph: one agent with a graph of its own, leaving and coming back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from readmit import Policy, Workspace
from readmit.backends.langgraph import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore

    from readmit import Agent

TASK = "trip"
STALE = "Rooms are booked at the Sunmere hotel."
FRESH = "Rooms are booked at the Lowland inn."


def _joined(left: list[str], right: list[str]) -> list[str]:
    return [*left, *right]


class State(TypedDict, total=False):
    notes: Annotated[list[str], _joined]
    plan: str
    plan_of: list[str]
    step: int
    view: str
    answer: str


class Trip:
    """A workspace, in memory if no place is named, where the planner knows a hotel that changes while it is away."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
        place: Path | str = ":memory:",
    ) -> None:
        options: dict[str, Any] = {} if clock is None else {"clock": clock}
        self.team = Workspace.open(place, policy=policy or Policy(returns={"fill": "always"}), **options)
        seen = self.team.observe(STALE, by="scout", task=TASK)
        self.hotel = self.team.record(STALE, id="h0", by="scout", slot="hotel", sources=[seen], task=TASK)
        dates = self.team.observe("We travel in May.", by="scout", task=TASK)
        self.dates = self.team.record("We travel in May.", id="may", by="scout", sources=[dates], task=TASK)

    @property
    def planner(self) -> Agent:
        return self.team.agent("planner", role="planner", task=TASK)

    def rebook(self) -> str:
        seen = self.team.observe(FRESH, by="scout", task=TASK)
        return self.team.record(FRESH, id="h1", by="scout", slot="hotel", sources=[seen], task=TASK, supports=["d_h"])

    def owe_a_hotel(self) -> None:
        """Without a hotel that counts, a return is not admitted."""
        duty = self.team.observe("The planner must know the hotel.", by="scout", task=TASK)
        self.team.oblige(
            "Know the hotel", required=["d_h"], critical=["d_h"], sources=[duty], by="scout", id="o1", task=TASK
        )


def planning(saver: BaseCheckpointSaver[Any], store: BaseStore | None = None) -> CompiledStateGraph[Any]:
    """Note the hotel, wait for an approval, answer from what is known then."""

    def note(state: State) -> State:
        return {"notes": [STALE], "plan": STALE, "plan_of": ["h0"], "step": state.get("step", 0) + 1}

    def approve(_: State) -> State:
        interrupt("Shall I go on?")
        return {}

    def answer(state: State) -> State:
        known = [*state.get("notes", []), state.get("plan", ""), state.get("view", "")]
        return {"answer": " | ".join(filter(None, known))}

    builder = StateGraph(State)
    builder.add_node("note", note)
    builder.add_node("approve", approve)
    builder.add_node("answer", answer)
    builder.add_edge(START, "note")
    builder.add_edge("note", "approve")
    builder.add_edge("approve", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver, store=store)


def thread(name: str = "planner") -> Any:
    return {"configurable": {"thread_id": name}}


def answers(result: Any, answer: Any) -> Command[Any]:
    """The same answer to every question that a run ended with, each by its id."""
    return Command(resume={one.id: answer for one in result["__interrupt__"]})


def answered(graph: Any, answer: Any, name: str = "planner") -> Any:
    """Let a thread ask what it asks now, and answer that."""
    return invoke(graph, answers(invoke(graph, None, thread(name)), answer), thread(name))

"""Approvals and tool calls without a result never cross a return, whatever ``keep`` and ``sources`` name.

With LangChain's own agent and its own ``HumanInTheLoopMiddleware``.
"""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("langchain.agents", reason="needs langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

from readmit.backends.langgraph import ReturningSaver, ainvoke, invoke
from readmit.backends.langgraph.carried_state import unanswered, without
from readmit.errors import LostStateError
from tests.backends.langgraph.recording import Recording
from tests.backends.langgraph.trip import Trip, thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.backends
BOOK: Any = {"messages": [("user", "Book the Sunmere.")]}
APPROVE = {"decisions": [{"type": "approve"}]}
OPTIONS: dict[str, Callable[[Trip], Any]] = {
    "keep": lambda _: {"keep": ["messages"]},
    "keep all": lambda _: {"keep": ["messages", "__pregel_tasks", "hitl_edited_tool_calls"]},
    "sources": lambda trip: {"sources": lambda *_: [trip.dates]},
}


def call(name: str = "pay", id_: str = "1") -> Any:
    return {"name": name, "args": {"hotel": "Sunmere"}, "id": id_, "type": "tool_call"}


def pays(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    return AIMessage("Done.") if last.type == "tool" or "now" in last.text else AIMessage("", tool_calls=[call()])


class Till:
    """An agent that pays once a person has approved."""

    def __init__(self, mode: str = "batched") -> None:
        self.trip = Trip()
        self.inner = InMemorySaver()
        self.paid: list[str] = []
        self.fails = False
        self.mode = mode
        self.model = Recording(reply=pays)

    def graph(self, **options: Any) -> Any:
        @tool
        def pay(hotel: str) -> str:
            """Pay for a hotel."""
            if self.fails:
                raise ConnectionError
            self.paid.append(hotel)
            return "paid"

        saver = ReturningSaver(self.inner, agent=self.trip.planner, log=self.trip.team.admin.log, **options)
        asks: Any = HumanInTheLoopMiddleware(interrupt_on={"pay": True}, interrupt_mode=self.mode)
        return create_agent(self.model, [pay], middleware=[asks], checkpointer=saver)

    def away(self) -> None:
        self.trip.planner.depart()
        self.trip.rebook()


@pytest.fixture(params=["batched", "per_call"])
def till(request: pytest.FixtureRequest) -> Iterator[Till]:
    made = Till(request.param)
    yield made
    made.trip.team.close()
    # A refused run leaves its threads to the collector, which must not run in one of them.
    gc.collect()


def given(till: Till) -> list[Any]:
    approve = APPROVE if till.mode == "batched" else {"type": "approve"}
    return [None, Command(resume=approve), Command(resume={"0" * 32: approve})]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
class TestHumanInTheLoop:
    def test_an_approval_of_before_runs_no_tool(self, till: Till, options: Callable[[Trip], Any]) -> None:
        graph = till.graph(**options(till.trip))
        assert graph.invoke(BOOK, thread())["__interrupt__"]
        till.away()
        for one in given(till):
            with pytest.raises(LostStateError, match=r"tool calls without a result \(pay\) never cross a return"):
                graph.invoke(one, thread())
            with pytest.raises(LostStateError, match="with new input"):
                invoke(graph, one, thread())
            with pytest.raises(LostStateError):
                asyncio.run(ainvoke(graph, one, thread()))
        assert till.paid == []

    def test_nor_one_that_was_given_before_the_tool_failed(self, till: Till, options: Callable[[Trip], Any]) -> None:
        """The person had approved; the process died before the tool had a result."""
        graph, till.fails = till.graph(**options(till.trip)), True
        (question,) = graph.invoke(BOOK, thread())["__interrupt__"]
        with pytest.raises(ConnectionError):
            graph.invoke(Command(resume={question.id: given(till)[1].resume}), thread())
        till.away()
        till.fails = False
        for one in given(till):
            with pytest.raises(LostStateError, match="pay"):
                invoke(graph, one, thread())
        assert till.paid == []

    def test_the_rest_of_the_conversation_comes_back(self, till: Till, options: Callable[[Trip], Any]) -> None:
        graph = till.graph(**options(till.trip))
        graph.invoke(BOOK, thread())
        till.away()
        done = invoke(graph, {"messages": [("user", "And now?")]}, thread())
        assert [one.text for one in done["messages"]] == ["Book the Sunmere.", "And now?", "Done."]
        assert not unanswered(till.model.sent[-1])
        assert till.paid == []

    def test_it_asks_again_if_the_model_does(self, till: Till, options: Callable[[Trip], Any]) -> None:
        graph = till.graph(**options(till.trip))
        graph.invoke(BOOK, thread())
        till.away()
        again = invoke(graph, {"messages": [("user", "Book it again.")]}, thread())
        assert till.paid == []
        (question,) = again["__interrupt__"]
        invoke(graph, Command(resume={question.id: given(till)[1].resume}), thread())
        assert till.paid == ["Sunmere"]


def test_the_audit_says_that_a_conversation_came_back_in_part(till: Till) -> None:
    graph = till.graph(keep=["messages"])
    graph.invoke(BOOK, thread())
    till.away()
    with pytest.raises(LostStateError):
        invoke(graph, None, thread())
    rows = [one for one in till.trip.team.admin.log.audit.rows() if one.kind == "thread"]
    assert b'"carried":["messages"' in rows[-1].body.replace(b'"branch:to:HumanInTheLoopMiddleware.after_model",', b"")
    assert b"messages" in rows[-1].body.split(b'"left"')[1]


@pytest.mark.parametrize("stops", [True, False])
def test_a_tool_node_of_an_own_graph_runs_no_call_of_before(stops: bool) -> None:
    till = Till()

    @tool
    def pay(hotel: str) -> str:
        """Pay for a hotel."""
        interrupt("Pay?") if not stops else None
        till.paid.append(hotel)
        return "paid"

    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda _: {"messages": [AIMessage("I pay.", tool_calls=[call()])]})
    builder.add_node("tools", ToolNode([pay]))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    saver = ReturningSaver(till.inner, agent=till.trip.planner, log=till.trip.team.admin.log, keep=["messages"])
    graph = builder.compile(checkpointer=saver, interrupt_before=["tools"] if stops else None)
    graph.invoke(BOOK, thread())
    till.away()
    for one in (None, Command(resume="yes")):
        with pytest.raises(LostStateError, match="pay"):
            invoke(graph, one, thread())
    assert till.paid == []
    assert "I pay." in str(graph.get_state(thread()).values)
    till.trip.team.close()


def test_a_conversation_that_is_kept_as_a_history_comes_back_without_them() -> None:
    class Long(TypedDict, total=False):
        messages: Annotated[list[BaseMessage], DeltaChannel(lambda held, new: [*held, *(m for w in new for m in w)])]

    def model(_: Long) -> Any:
        return {"messages": [AIMessage("I pay.", tool_calls=[call()])]}

    def approve(_: Long) -> Any:
        interrupt("Pay?")

    till = Till()
    builder = StateGraph(Long)
    builder.add_node("model", model)
    builder.add_node("approve", approve)
    builder.add_edge(START, "model")
    builder.add_edge("model", "approve")
    saver = ReturningSaver(till.inner, agent=till.trip.planner, log=till.trip.team.admin.log, keep=["messages"])
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("Book.")]}, thread())
    till.away()
    with pytest.raises(LostStateError, match="pay"):
        invoke(graph, None, thread())
    held = graph.get_state(thread()).values["messages"]
    assert [one.text for one in held] == ["Book.", "I pay."]
    assert not unanswered(held)
    till.trip.team.close()


def test_a_call_that_a_user_keeps_in_a_key_of_its_own_does_not_come_back() -> None:
    class Queue(TypedDict, total=False):
        waiting: list[Any]
        step: int

    def work(state: Queue) -> Any:
        till.paid += [one["args"]["hotel"] for one in state.get("waiting", [])]

    till = Till()
    builder = StateGraph(Queue)
    builder.add_node("queue", lambda _: {"waiting": [call()], "step": 1})
    builder.add_node("work", work)
    builder.add_edge(START, "queue")
    builder.add_edge("queue", "work")
    saver = ReturningSaver(till.inner, agent=till.trip.planner, log=till.trip.team.admin.log, keep=["waiting", "step"])
    graph = builder.compile(checkpointer=saver, interrupt_before=["work"])
    graph.invoke({}, thread())
    till.away()
    with pytest.raises(LostStateError, match=r"waiting.*pay"):
        invoke(graph, None, thread())
    assert till.paid == []
    till.trip.team.close()


OPENAI = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "pay"}}]}
CALLS = {
    "a message": [AIMessage("", tool_calls=[call()])],
    "a packet": [Send("tools", [call()])],
    "a dict by role": [OPENAI],
    "a block of content": [AIMessage([{"type": "tool_use", "id": "1", "name": "pay", "input": {}}])],
    "a call without a type": [{"name": "pay", "args": {}, "id": "1"}],
    "a response's output": [{"type": "function_call", "call_id": "1", "name": "pay", "arguments": "{}"}],
}


@pytest.mark.parametrize("held", CALLS.values(), ids=CALLS)
def test_a_call_is_found_however_it_is_written(held: list[Any]) -> None:
    assert unanswered(held) == {"1": "pay"}
    assert unanswered(held, ToolMessage("paid", tool_call_id="1")) == {}
    assert unanswered(held, {"role": "tool", "tool_call_id": "1"}) == {}
    assert not unanswered(without(held, frozenset({"1"})))


def test_what_is_no_call_is_left_alone() -> None:
    described = {"type": "function", "function": {"name": "pay", "parameters": {}}}
    person = {"name": "Ann", "id": "7"}
    assert unanswered([described, person, "pay", 3, None, {"type": ["odd"]}]) == {}


def test_of_two_calls_the_answered_one_stays() -> None:
    both = AIMessage("", tool_calls=[call(id_="1"), call("look", "2")])
    held = [HumanMessage("Book."), both, ToolMessage("found", tool_call_id="2")]
    assert unanswered(held) == {"1": "pay"}
    left = without(held, frozenset({"1"}))
    assert [one.type for one in left] == ["human", "ai", "tool"]
    assert [one["name"] for one in left[1].tool_calls] == ["look"]
    assert [one["name"] for one in both.tool_calls] == ["pay", "look"], "the message itself is as it was"

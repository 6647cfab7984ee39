"""A thread that waits for work does not go on without the state that the work needs. It says what it lacks."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("langchain.agents", reason="needs langchain")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from readmit.backends.langgraph import ReturningSaver, ainvoke, invoke
from readmit.errors import LostStateError
from tests.backends.langgraph.pruning import Pruning
from tests.backends.langgraph.recording import Recording
from tests.backends.langgraph.trip import Trip, answered, answers, thread

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.backends


class Office:
    """A planner on threads that outlive its departures."""

    def __init__(self) -> None:
        self.trip = Trip()
        self.inner = InMemorySaver()

    def saver(self, **options: Any) -> ReturningSaver:
        return ReturningSaver(self.inner, agent=self.trip.planner, log=self.trip.team.admin.log, **options)

    def away(self) -> None:
        self.trip.planner.depart()
        self.trip.rebook()


@pytest.fixture
def office() -> Iterator[Office]:
    made = Office()
    yield made
    made.trip.team.close()
    # A refused run leaves its threads to the collector, which must not run in one of them.
    gc.collect()


def ordering(saver: ReturningSaver) -> Any:
    @entrypoint(checkpointer=saver)
    def order(hotel: Any) -> str:
        return f"{hotel}: {interrupt(f'Pay for {hotel}?')}"

    return order


RESUMES = [None, Command(resume="yes"), Command(resume={"0" * 32: "yes"}), Command(update={"x": 1})]


class TestAFunction:
    @pytest.mark.parametrize("given", RESUMES)
    def test_its_input_is_named_if_it_cannot_be_carried(self, office: Office, given: Any) -> None:
        flow = ordering(office.saver())
        flow.invoke("Sunrise", thread())
        office.away()
        with pytest.raises(LostStateError, match="__start__"):
            flow.invoke(given, thread())
        with pytest.raises(LostStateError, match="__start__"):
            asyncio.run(ainvoke(flow, given, thread()))

    def test_it_starts_again_with_new_input(self, office: Office) -> None:
        flow = ordering(office.saver())
        flow.invoke("Sunrise", thread())
        office.away()
        with pytest.raises(LostStateError):
            flow.invoke(Command(resume="yes"), thread())
        again = invoke(flow, "Lowland", thread())
        assert again["__interrupt__"][0].value == "Pay for Lowland?"
        assert invoke(flow, answers(again, "yes"), thread()) == "Lowland: yes"

    @pytest.mark.parametrize("sourced", [True, False])
    def test_it_goes_on_with_its_own_input_if_that_is_carried(self, office: Office, sourced: bool) -> None:
        options: Any = {"sources": lambda *_: [office.trip.dates]} if sourced else {"keep": ["__start__"]}
        flow = ordering(office.saver(**options))
        flow.invoke("Sunrise", thread())
        office.away()
        assert answered(flow, "yes") == "Sunrise: yes"

    def test_naming_the_lost_state_mends_the_thread(self, office: Office) -> None:
        ordering(office.saver()).invoke("Sunrise", thread())
        office.away()
        with pytest.raises(LostStateError):
            invoke(ordering(office.saver()), None, thread())
        flow = ordering(office.saver(keep=["__start__"]))
        assert answered(flow, "yes") == "Sunrise: yes"

    def test_one_that_has_ended_lost_nothing(self, office: Office) -> None:
        flow = ordering(office.saver())
        flow.invoke("Sunrise", thread())
        flow.invoke(Command(resume="yes"), thread())
        office.away()
        assert invoke(flow, "Lowland", thread())["__interrupt__"]


@tool
def pay(hotel: str) -> str:
    """Pay for a hotel."""
    return f"{hotel} is paid: {interrupt(f'Pay for {hotel}?')}"


BOOK: Any = {"messages": [("user", "Book the Sunmere.")]}


def pays(messages: list[BaseMessage]) -> AIMessage:
    call: Any = {"name": "pay", "args": {"hotel": "Sunmere"}, "id": "1"}
    return AIMessage("Done.") if messages[-1].type == "tool" else AIMessage("", tool_calls=[call])


class TestAnAgent:
    def agent(self, office: Office, **options: Any) -> tuple[Any, Recording]:
        model = Recording(reply=pays)
        return create_agent(model, [pay], checkpointer=office.saver(**options)), model

    @pytest.mark.parametrize("given", RESUMES[:3])
    def test_its_messages_are_named_if_they_cannot_be_carried(self, office: Office, given: Any) -> None:
        graph, model = self.agent(office)
        assert graph.invoke(BOOK, thread())["__interrupt__"]
        office.away()
        with pytest.raises(LostStateError, match="__pregel_tasks, messages"):
            graph.invoke(given, thread())
        with pytest.raises(LostStateError, match=r"keep=.*sources=.*new input"):
            invoke(graph, given, thread())
        assert len(model.sent) == 1, "the model was not asked with an empty conversation"

    def test_new_input_starts_a_new_conversation(self, office: Office) -> None:
        graph, model = self.agent(office)
        graph.invoke(BOOK, thread())
        office.away()
        with pytest.raises(LostStateError):
            graph.invoke(None, thread())
        invoke(graph, {"messages": [("user", "Where do we sleep?")]}, thread())
        assert "Sunmere" not in str(model.sent[-1])


def test_a_waiting_node_is_not_run_without_the_conversation(office: Office) -> None:
    def approve(state: MessagesState) -> Any:
        interrupt(len(state["messages"]))

    builder = StateGraph(MessagesState)
    builder.add_node("approve", approve)
    builder.add_edge(START, "approve")
    graph = builder.compile(checkpointer=office.saver())
    graph.invoke(BOOK, thread())
    office.away()
    with pytest.raises(LostStateError, match="messages"):
        invoke(graph, Command(resume="yes"), thread())


class Order(TypedDict, total=False):
    hotel: str
    nights: int
    view: str


def ordering_in_steps(saver: ReturningSaver) -> Any:
    """A node that waits, and reads what the one before it wrote."""

    def pay(state: Order) -> Order:
        interrupt(f"Pay for {state['hotel']}, {state['nights']} nights?")
        return {}

    builder = StateGraph(Order)
    builder.add_node("choose", lambda _: {"hotel": "Sunmere", "nights": 2})
    builder.add_node("pay", pay)
    builder.add_edge(START, "choose")
    builder.add_edge("choose", "pay")
    return builder.compile(checkpointer=saver)


class TestAWaitingNode:
    def test_its_lost_keys_are_named(self, office: Office) -> None:
        graph = ordering_in_steps(office.saver(into="view"))
        graph.invoke({}, thread())
        office.away()
        with pytest.raises(LostStateError, match=r"a node reads 'hotel'.*left behind hotel, nights: .*keep="):
            invoke(graph, None, thread())
        with pytest.raises(LostStateError, match="left behind hotel, nights"):
            asyncio.run(ainvoke(graph, None, thread()))
        assert graph.get_state(thread()).metadata["readmit_left"] == ["hotel", "nights"]

    @pytest.mark.parametrize("twin", [False, True], ids=["sync", "async"])
    def test_the_graphs_own_error_names_them_too(self, office: Office, twin: bool) -> None:
        graph = ordering_in_steps(office.saver(into="view"))
        graph.invoke({}, thread())
        office.away()
        with pytest.raises(KeyError) as failed:
            asyncio.run(graph.ainvoke(None, thread())) if twin else graph.invoke(None, thread())
        assert any("left behind hotel, nights" in note for note in failed.value.__notes__)

    def test_only_those_that_are_lost(self, office: Office) -> None:
        graph = ordering_in_steps(office.saver(into="view", keep=["hotel"]))
        graph.invoke({}, thread())
        office.away()
        with pytest.raises(LostStateError, match=r"a node reads 'nights'.*left behind nights:"):
            invoke(graph, None, thread())
        graph = ordering_in_steps(office.saver(into="view", keep=["hotel", "nights"]))
        office.trip.planner.depart()
        assert invoke(graph, None, thread())["__interrupt__"][0].value == "Pay for Sunmere, 2 nights?"

    def test_another_key_error_is_its_own(self, office: Office) -> None:
        def pay(_: Order) -> Order:
            interrupt("Pay?")
            raise KeyError("price")

        builder = StateGraph(Order)
        builder.add_node("pay", pay)
        builder.add_edge(START, "pay")
        graph = builder.compile(checkpointer=office.saver(into="view"))
        graph.invoke({"hotel": "Sunmere"}, thread())
        office.away()
        with pytest.raises(KeyError, match="price"):
            answered(graph, "yes")


def test_a_conversation_that_nobody_waits_in_is_left_behind(office: Office) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [("ai", "Sunmere")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=office.saver())
    graph.invoke({"messages": [("user", "Where do we sleep?")]}, thread())
    office.away()
    assert len(invoke(graph, {"messages": [("user", "And now?")]}, thread())["messages"]) == 2


def test_packets_to_parallel_nodes_are_named(office: Office) -> None:
    def book(state: Any) -> Any:
        interrupt(state["hotel"])

    builder = StateGraph(MessagesState)
    builder.add_node("split", lambda _: {})
    builder.add_node("book", book)
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda _: [Send("book", {"hotel": one}) for one in "ab"], ["book"])
    graph = builder.compile(checkpointer=office.saver())
    graph.invoke({"messages": []}, thread())
    office.away()
    with pytest.raises(LostStateError, match="__pregel_tasks"):
        invoke(graph, None, thread())


def test_a_thread_can_be_mended_by_an_update(office: Office) -> None:
    graph, model = TestAnAgent().agent(office)
    graph.invoke(BOOK, thread())
    office.away()
    with pytest.raises(LostStateError):
        invoke(graph, None, thread())
    graph.update_state(thread(), {"messages": [("user", "Book what is best now.")]}, as_node="__start__")
    invoke(graph, None, thread())
    assert "best now" in str(model.sent[-1])


def test_a_second_absence_does_not_make_the_loss_forgotten(office: Office) -> None:
    flow = ordering(office.saver())
    flow.invoke("Sunrise", thread())
    office.away()
    with pytest.raises(LostStateError):
        invoke(flow, None, thread())
    office.trip.planner.depart()
    for given in RESUMES:
        with pytest.raises(LostStateError, match="__start__"):
            invoke(flow, given, thread())
    flow = ordering(office.saver(keep=["__start__"]))
    assert answered(flow, "yes") == "Sunrise: yes"


def test_a_loss_is_known_after_the_state_itself_was_pruned(office: Office) -> None:
    office.inner = Pruning()
    flow = ordering(office.saver())
    flow.invoke("Sunrise", thread())
    office.away()
    with pytest.raises(LostStateError):
        invoke(flow, None, thread())
    flow.checkpointer.prune(["planner"])
    office.trip.planner.depart()
    with pytest.raises(LostStateError, match="__start__"):
        invoke(flow, Command(resume={"0" * 32: "yes"}), thread())

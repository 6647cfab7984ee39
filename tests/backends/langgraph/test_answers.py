"""A person's answer belongs to the question it was given to. A return does not hand it to another one."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from readmit import Policy
from readmit.backends.langgraph import ReturningSaver, ainvoke, as_node, invoke
from readmit.records.errors import StaleAnswerError
from tests.backends.langgraph.pruning import Pruning
from tests.backends.langgraph.trip import Trip, thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from langgraph.checkpoint.base import BaseCheckpointSaver

pytestmark = pytest.mark.backends
SUNRISE, PALACE = "Pay for Sunrise, $280?", "Pay for Grand Palace, $9000?"


class Till(TypedDict, total=False):
    view: str
    paid: list[str]


class Shop:
    """A graph that pays for what is offered now, if a person says yes."""

    def __init__(self) -> None:
        self.trip = Trip()
        self.offer = SUNRISE
        self.paid: list[tuple[str, str]] = []
        self.inner = InMemorySaver()

    def pay(self, _: Till) -> Till:
        offer = self.offer
        self.paid.append((offer, interrupt(offer)))
        return {}

    def saver(self, **options: Any) -> ReturningSaver:
        return ReturningSaver(
            self.inner, agent=self.trip.planner, log=self.trip.team.log, **{"into": "view", **options}
        )

    def graph(self, *nodes: Callable[..., Any], saver: BaseCheckpointSaver[Any] | bool | None = None) -> Any:
        builder = StateGraph(Till)
        for node in nodes or (self.pay,):
            name = getattr(node, "__name__", "part")
            builder.add_node(name, node)
            builder.add_edge(START, name)
            builder.add_edge(name, END)
        return builder.compile(checkpointer=self.saver() if saver is None else saver)

    def away(self, offer: str = PALACE) -> None:
        self.trip.planner.depart()
        self.offer = offer
        self.trip.rebook()


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    yield made
    made.trip.team.close()


def asked(result: Any) -> list[Any]:
    return [one.value for one in result.get("__interrupt__", ())]


def test_a_changed_question_does_not_take_the_old_answer(shop: Shop) -> None:
    graph = shop.graph()
    assert asked(graph.invoke({}, thread())) == [SUNRISE]
    shop.away()
    with pytest.raises(StaleAnswerError, match="asked again"):
        graph.invoke(Command(resume="yes"), thread())
    assert asked(graph.invoke(None, thread())) == [PALACE]
    assert shop.paid == []
    graph.invoke(Command(resume="no"), thread())
    assert shop.paid == [(PALACE, "no")], "an answer to the question of now counts"


def test_invoke_asks_a_changed_question_again(shop: Shop) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    assert asked(invoke(graph, Command(resume="yes"), thread())) == [PALACE]
    assert shop.paid == []
    invoke(graph, Command(resume="no"), thread())
    assert shop.paid == [(PALACE, "no")]


def test_an_unchanged_question_keeps_its_answer(shop: Shop) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away(offer=SUNRISE)
    assert asked(invoke(graph, Command(resume="yes"), thread())) == []
    assert shop.paid == [(SUNRISE, "yes")]


class Held:
    """A serializer that keeps the objects themselves, so that any value can be a question."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        self.values.append(obj)
        return "held", str(len(self.values) - 1).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self.values[int(data[1])]


def test_a_question_is_compared_by_its_value(shop: Shop) -> None:
    shop.offer = {"b", "a", "c"}  # type: ignore[assignment]  # any value can be a question
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away(offer={"c", "b", "a"})  # type: ignore[arg-type]
    assert asked(invoke(graph, Command(resume="yes"), thread())) == []


def test_a_question_that_cannot_be_compared_is_asked_all_the_same(shop: Shop) -> None:
    shop.inner = InMemorySaver(serde=Held())
    shop.offer = (one for one in ())  # type: ignore[assignment]  # any value can be a question
    graph = shop.graph()
    assert asked(invoke(graph, {}, thread())) == [shop.offer]
    shop.away()
    assert asked(invoke(graph, Command(resume="yes"), thread())) == [PALACE]


def test_the_asynchronous_face_binds_answers_too(shop: Shop) -> None:
    async def run() -> None:
        graph = shop.graph()
        await ainvoke(graph, {}, thread())
        shop.away()
        with pytest.raises(StaleAnswerError):
            await graph.ainvoke(Command(resume="yes"), thread())
        assert asked(await ainvoke(graph, Command(resume="yes"), thread())) == [PALACE]
        assert shop.paid == []
        shop.trip.planner.depart()
        await ainvoke(graph, Command(resume="yes"), thread())
        assert shop.paid == [(PALACE, "yes")]

    asyncio.run(run())


def test_a_restart_between_return_and_answer_changes_nothing(shop: Shop) -> None:
    shop.graph().invoke({}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        shop.graph().invoke(Command(resume="yes"), thread())
    with pytest.raises(StaleAnswerError):
        shop.graph().invoke(Command(resume="yes"), thread())
    assert asked(invoke(shop.graph(), Command(resume="yes"), thread())) == [PALACE]


def test_a_stream_is_refused_before_a_node_runs(shop: Shop) -> None:
    graph = shop.graph()
    graph.invoke({}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        list(graph.stream(Command(resume="yes"), thread()))
    assert shop.paid == []


def test_an_answer_that_was_stored_before_the_departure_is_not_used(shop: Shop) -> None:
    """The node took the answer and failed, so LangGraph stored it for the next run."""
    down = True

    def pay(state: Till) -> Till:
        if down and shop.paid:
            shop.paid.clear()
        shop.pay(state)
        if down:
            raise ConnectionError
        return {}

    graph = shop.graph(pay)
    graph.invoke({}, thread())
    with pytest.raises(ConnectionError):
        graph.invoke(Command(resume="yes"), thread())
    assert shop.paid == [(SUNRISE, "yes")]
    down, shop.paid = False, []
    shop.away()
    assert asked(graph.invoke(None, thread())) == [PALACE]
    assert shop.paid == []


def test_answers_of_one_node_do_not_move_to_its_other_questions(shop: Shop) -> None:
    def pay(_: Till) -> Till:
        shop.paid += [(shop.offer, interrupt("Go on?")), (shop.offer, interrupt("Go on?"))]
        return {}

    graph = shop.graph(pay)
    invoke(graph, {}, thread())
    invoke(graph, Command(resume="first"), thread())
    shop.away()
    assert asked(invoke(graph, Command(resume="second"), thread())) == ["Go on?"]
    invoke(graph, Command(resume="again first"), thread())
    invoke(graph, Command(resume="again second"), thread())
    assert [answer for _, answer in shop.paid] == ["again first", "again second"]


def test_an_answer_by_id_reaches_only_the_question_with_that_id(shop: Shop) -> None:
    graph = shop.graph()
    (old,) = graph.invoke({}, thread())["__interrupt__"]
    shop.away()
    again = graph.invoke(Command(resume={old.id: "yes"}), thread())
    assert asked(again) == [PALACE]
    assert shop.paid == []
    graph.invoke(Command(resume={again["__interrupt__"][0].id: "no"}), thread())
    assert shop.paid == [(PALACE, "no")]


def test_parallel_nodes_are_all_asked_again(shop: Shop) -> None:
    def room(_: Till) -> Till:
        shop.paid.append(("room", interrupt(f"Room: {shop.offer}")))
        return {}

    def dinner(_: Till) -> Till:
        shop.paid.append(("dinner", interrupt(f"Dinner: {shop.offer}")))
        return {}

    graph = shop.graph(room, dinner)
    old = invoke(graph, {}, thread())["__interrupt__"]
    shop.away()
    again = invoke(graph, Command(resume={one.id: "yes" for one in old}), thread())
    assert sorted(asked(again)) == [f"Dinner: {PALACE}", f"Room: {PALACE}"]
    assert shop.paid == []


def test_one_of_two_nodes_asks_after_the_return_what_the_other_asked_before(shop: Shop) -> None:
    def room(_: Till) -> Till:
        if shop.offer == SUNRISE:
            shop.paid.append(("room", interrupt("Pay?")))
        return {}

    def dinner(_: Till) -> Till:
        if shop.offer == PALACE:
            shop.paid.append(("dinner", interrupt("Pay?")))
        return {}

    graph = shop.graph(room, dinner)
    invoke(graph, {}, thread())
    shop.away()
    assert asked(invoke(graph, Command(resume="yes"), thread())) == ["Pay?"]
    assert shop.paid == []


@pytest.mark.parametrize("own", [None, True])
def test_a_question_inside_a_subgraph_is_asked_again(shop: Shop, own: bool | None) -> None:
    part = StateGraph(Till)
    part.add_node("pay", shop.pay)
    part.add_edge(START, "pay")
    graph = shop.graph(part.compile(checkpointer=own))
    assert asked(invoke(graph, {}, thread())) == [SUNRISE]
    shop.away()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert asked(invoke(graph, Command(resume="yes"), thread())) == [PALACE]
    assert shop.paid == []
    invoke(graph, Command(resume="no"), thread())
    assert shop.paid == [(PALACE, "no")]


def test_an_answer_does_not_pass_a_breakpoint_after_a_return(shop: Shop) -> None:
    """Nobody has been asked. What a person saw at the breakpoint has changed."""
    builder = StateGraph(Till)
    builder.add_node("pay", shop.pay)
    builder.add_edge(START, "pay")
    graph = builder.compile(checkpointer=shop.saver(), interrupt_before=["pay"])
    graph.invoke({}, thread())
    shop.away()
    for run in (graph.invoke, partial(invoke, graph)):
        with pytest.raises(StaleAnswerError, match="waits for no answer"):
            run(Command(resume="yes"), thread())
    assert asked(invoke(graph, None, thread())) == [PALACE]
    assert shop.paid == []


class TestAsANode:
    def outer(self, shop: Shop, *nodes: Callable[..., Any]) -> Any:
        node = as_node(shop.graph(*nodes), thread(), give=[])
        node.__name__ = "planner"
        return shop.graph(node, saver=InMemorySaver())

    def test_a_changed_question_does_not_take_the_old_answer(self, shop: Shop) -> None:
        outer = self.outer(shop)
        assert asked(outer.invoke({}, thread("team"))) == [[SUNRISE]]
        shop.away()
        assert asked(outer.invoke(Command(resume="yes"), thread("team"))) == [[PALACE]]
        assert shop.paid == []
        outer.invoke(Command(resume="no"), thread("team"))
        assert shop.paid == [(PALACE, "no")]

    def test_each_answer_reaches_the_question_it_was_given_to(self, shop: Shop) -> None:
        def pay(_: Till) -> Till:
            answers = [interrupt("Room?"), interrupt("Dinner?"), interrupt("Taxi?")]
            shop.paid += [(shop.offer, answer) for answer in answers]
            return {}

        outer = self.outer(shop, pay)
        assert asked(outer.invoke({}, thread("team"))) == [["Room?"]]
        assert asked(outer.invoke(Command(resume="r"), thread("team"))) == [["Dinner?"]]
        assert asked(outer.invoke(Command(resume="d"), thread("team"))) == [["Taxi?"]]
        outer.invoke(Command(resume="t"), thread("team"))
        assert [answer for _, answer in shop.paid] == ["r", "d", "t"]

    def test_what_ends_a_blocked_return_is_no_answer(self, shop: Shop) -> None:
        outer = self.outer(shop)
        outer.invoke({}, thread("team"))
        shop.trip.planner.depart()
        shop.trip.owe_a_hotel()
        assert asked(outer.invoke(Command(resume="yes"), thread("team")))[0]["readmit"] == "blocked"
        shop.trip.rebook()
        shop.offer = PALACE
        assert asked(outer.invoke(Command(resume="we booked"), thread("team"))) == [[PALACE]]
        assert shop.paid == []

    def test_parallel_questions_take_a_list_of_answers(self, shop: Shop) -> None:
        def room(_: Till) -> Till:
            shop.paid.append(("room", interrupt("Room?")))
            return {}

        def dinner(_: Till) -> Till:
            shop.paid.append(("dinner", interrupt("Dinner?")))
            return {}

        outer = self.outer(shop, room, dinner)
        (questions,) = asked(outer.invoke({}, thread("team")))
        assert sorted(questions) == ["Dinner?", "Room?"]
        outer.invoke(Command(resume=[f"yes, {one}" for one in questions]), thread("team"))
        assert sorted(shop.paid) == [("dinner", "yes, Dinner?"), ("room", "yes, Room?")]


class Copying(InMemorySaver):
    """A saver that can copy threads, as that of LangGraph's platform."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        for one in reversed(list(self.list(thread(source_thread_id)))):
            place = {**one.config["configurable"], "thread_id": target_thread_id}
            above = {"thread_id": target_thread_id, "checkpoint_ns": place["checkpoint_ns"]}
            if one.parent_config:
                above["checkpoint_id"] = one.parent_config["configurable"]["checkpoint_id"]
            self.put({"configurable": above}, one.checkpoint, one.metadata, one.checkpoint["channel_versions"])


def test_a_copied_thread_does_not_take_an_old_answer(shop: Shop) -> None:
    shop.inner = Copying()
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    graph.checkpointer.copy_thread("planner", "copy")
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread("copy"))
    assert asked(invoke(graph, Command(resume="yes"), thread("copy"))) == [PALACE]
    graph.checkpointer.delete_thread("copy")
    assert graph.get_state(thread("copy")).values == {}


@pytest.mark.parametrize("offer", [SUNRISE, PALACE])
def test_a_pruned_thread_still_knows_what_it_asked(shop: Shop, offer: str) -> None:
    shop.inner = Pruning()
    graph = shop.graph()
    invoke(graph, {}, thread())
    graph.checkpointer.prune(["planner"])
    shop.away(offer)
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    graph.checkpointer.prune(["planner"])
    assert asked(invoke(graph, Command(resume="yes"), thread())) == ([] if offer == SUNRISE else [PALACE])
    assert shop.paid == ([(SUNRISE, "yes")] if offer == SUNRISE else [])


def test_an_update_after_the_return_does_not_let_the_old_answer_in(shop: Shop) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    graph.update_state(thread(), {"paid": []}, as_node="__start__")
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert asked(invoke(graph, Command(resume="yes"), thread())) == [PALACE]


def test_a_reset_does_not_let_the_old_answer_in(shop: Shop) -> None:
    shop.trip.team.as_owner().govern(Policy(fill=True, on_incomplete="reset"))
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    shop.trip.owe_a_hotel()
    shop.trip.team.revoke("h1", by="scout")
    assert asked(invoke(graph, Command(resume="yes"), thread()))[0]["readmit"] == "reset"
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert asked(graph.invoke({}, thread())) == [PALACE]
    assert shop.paid == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_when_state_is_stored_makes_no_difference(shop: Shop, durability: str) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread(), durability=durability)
    shop.away(offer=SUNRISE)
    invoke(graph, Command(resume="yes"), thread(), durability=durability)
    assert shop.paid == [(SUNRISE, "yes")]
    invoke(graph, {}, thread(), durability=durability)
    shop.trip.planner.depart()
    shop.offer = PALACE
    assert asked(invoke(graph, Command(resume="yes"), thread(), durability=durability)) == [PALACE]


def test_a_second_absence_is_like_the_first(shop: Shop) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    shop.trip.planner.depart()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert asked(graph.invoke(None, thread())) == [PALACE]
    shop.trip.planner.depart()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert shop.paid == []

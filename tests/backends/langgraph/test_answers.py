"""A person's answer belongs to the question it was given to. A return does not hand it to another one."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import UnknownInterruptError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from readmit import Policy
from readmit.backends.langgraph import ReturningSaver, ainvoke, as_node, invoke
from readmit.errors import StaleAnswerError
from tests.backends.langgraph.pruning import Pruning
from tests.backends.langgraph.trip import Trip, answers, thread

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
            self.inner, agent=self.trip.planner, log=self.trip.team.admin.log, **{"into": "view", **options}
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


RUNS = {"graph": lambda graph: graph.invoke, "helper": lambda graph: partial(invoke, graph)}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_changed_question_does_not_take_the_old_answer(shop: Shop, run: Callable[[Any], Any]) -> None:
    graph = shop.graph()
    assert asked(graph.invoke({}, thread())) == [SUNRISE]
    shop.away()
    with pytest.raises(StaleAnswerError, match="asked again"):
        run(graph)(Command(resume="yes"), thread())
    again = run(graph)(None, thread())
    assert asked(again) == [PALACE]
    assert shop.paid == []
    run(graph)(answers(again, "no"), thread())
    assert shop.paid == [(PALACE, "no")], "an answer to the question of now counts"


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_vague_question_does_not_take_the_old_answer_either(shop: Shop, run: Callable[[Any], Any]) -> None:
    """It reads the same before and after, and is about something else."""

    def pay(_: Till) -> Till:
        offer = shop.offer
        shop.paid.append((offer, interrupt("Shall I pay?")))
        return {}

    graph = shop.graph(pay)
    graph.invoke({}, thread())
    shop.away()
    for _ in range(2):
        with pytest.raises(StaleAnswerError):
            run(graph)(Command(resume="yes"), thread())
    assert shop.paid == []


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_stale_plain_answer_delivered_twice_pays_nothing(shop: Shop, run: Callable[[Any], Any]) -> None:
    """A retry, or a double click: the first delivery made the thread ask again, the second must not answer that."""
    graph = shop.graph()
    graph.invoke({}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        run(graph)(Command(resume="yes"), thread())
    again = run(graph)(None, thread())
    for _ in range(2):
        with pytest.raises(StaleAnswerError, match=rf"by its id: .*{again['__interrupt__'][0].id}"):
            run(graph)(Command(resume="yes"), thread())
    assert shop.paid == []
    run(graph)(answers(again, "no"), thread())
    assert shop.paid == [(PALACE, "no")]
    shop.offer = "Pay for the taxi?"
    run(graph)({}, thread())
    with pytest.raises(StaleAnswerError):
        run(graph)(Command(resume="yes"), thread())
    assert shop.paid == [(PALACE, "no")], "nor the next question of the thread"


def test_a_thread_made_after_the_return_takes_plain_answers(shop: Shop) -> None:
    """No answer to it can be from before."""
    graph = shop.graph()
    graph.invoke({}, thread())
    shop.away()
    graph.invoke(None, thread())
    with pytest.raises(StaleAnswerError, match="has asked nothing"):
        graph.invoke(Command(resume="yes"), thread("new"))
    assert asked(graph.invoke({}, thread("new"))) == [PALACE]
    graph.invoke(Command(resume="yes"), thread("new"))
    assert shop.paid == [(PALACE, "yes")]


def test_an_answer_on_a_server_that_is_strict_about_ids(shop: Shop) -> None:
    strict: Any = {"configurable": {**thread()["configurable"], "__pregel_strict_resume": True}}
    graph = shop.graph()
    graph.invoke({}, strict)
    shop.away()
    again = graph.invoke(None, strict)
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume="yes"), strict)
    assert shop.paid == []
    graph.invoke(answers(again, "no"), strict)
    assert shop.paid == [(PALACE, "no")]


def test_an_older_checkpoint_of_the_period_does_not_take_a_plain_answer(shop: Shop) -> None:
    graph = shop.graph()
    graph.invoke({}, thread())
    shop.away()
    again = graph.invoke(None, thread())
    before = graph.get_state(thread()).config
    graph.invoke(answers(again, "no"), thread())
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), before)
    fork = graph.update_state(before, {"paid": []}, as_node="__start__")
    for given in (Command(resume="yes"), Command(resume="yes", goto="pay"), Command(resume="yes", update={"paid": []})):
        with pytest.raises(StaleAnswerError):
            graph.invoke(given, fork)
        with pytest.raises(StaleAnswerError):
            graph.invoke(given, thread())
    assert shop.paid == [(PALACE, "no")]


def test_the_asynchronous_face_binds_answers_too(shop: Shop) -> None:
    async def run() -> None:
        graph = shop.graph()
        await ainvoke(graph, {}, thread())
        shop.away()
        for call in (graph.ainvoke, partial(ainvoke, graph)):
            with pytest.raises(StaleAnswerError):
                await call(Command(resume="yes"), thread())
        again = await ainvoke(graph, None, thread())
        assert asked(again) == [PALACE]
        for call in (graph.ainvoke, partial(ainvoke, graph)):
            with pytest.raises(StaleAnswerError):
                await call(Command(resume="yes"), thread())
        assert shop.paid == []
        await ainvoke(graph, answers(again, "yes"), thread())
        assert shop.paid == [(PALACE, "yes")]

    asyncio.run(run())


def test_a_restart_between_return_and_answer_changes_nothing(shop: Shop) -> None:
    shop.graph().invoke({}, thread())
    shop.away()
    for given in (Command(resume="yes"), None, Command(resume="yes")):
        for _ in range(2):
            with pytest.raises(StaleAnswerError) if given else nullcontext():
                invoke(shop.graph(), given, thread())
    assert shop.paid == []


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
    first = invoke(graph, None, thread())
    second = invoke(graph, answers(first, "again first"), thread())
    invoke(graph, answers(second, "again second"), thread())
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
    again = invoke(graph, None, thread())
    assert asked(again) == [PALACE]
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert shop.paid == []
    invoke(graph, answers(again, "no"), thread())
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
        with pytest.raises(StaleAnswerError, match="has asked nothing"):
            run(Command(resume="yes"), thread())
    assert asked(invoke(graph, None, thread())) == [PALACE]
    assert shop.paid == []


class TestAsANode:
    def outer(self, shop: Shop, *nodes: Callable[..., Any]) -> Any:
        node = as_node(shop.graph(*nodes), thread(), give=[])
        node.__name__ = "planner"
        return shop.graph(node, saver=InMemorySaver())

    def waiting(self, result: Any) -> dict[str, Any]:
        (questions,) = asked(result)
        assert isinstance(questions, dict)
        return questions

    def test_a_changed_question_does_not_take_the_old_answer(self, shop: Shop) -> None:
        outer = self.outer(shop)
        old = self.waiting(outer.invoke({}, thread("team")))
        assert [*old.values()] == [SUNRISE]
        shop.away()
        for stale in ("yes", dict.fromkeys(old, "yes"), "yes"):
            new = self.waiting(outer.invoke(Command(resume=stale), thread("team")))
            assert [*new.values()] == [PALACE]
        assert shop.paid == []
        outer.invoke(Command(resume=dict.fromkeys(new, "no")), thread("team"))
        assert shop.paid == [(PALACE, "no")]

    def test_each_answer_reaches_the_question_it_was_given_to(self, shop: Shop) -> None:
        def pay(_: Till) -> Till:
            answers = [interrupt("Room?"), interrupt("Dinner?"), interrupt("Taxi?")]
            shop.paid += [(shop.offer, answer) for answer in answers]
            return {}

        outer = self.outer(shop, pay)
        result = outer.invoke({}, thread("team"))
        for question, answer in (("Room?", "r"), ("Dinner?", "d"), ("Taxi?", "t")):
            ((name, value),) = self.waiting(result).items()
            assert value == question
            result = outer.invoke(Command(resume={name: answer}), thread("team"))
        assert [answer for _, answer in shop.paid] == ["r", "d", "t"]

    def test_what_ends_a_blocked_return_is_no_answer(self, shop: Shop) -> None:
        outer = self.outer(shop)
        outer.invoke({}, thread("team"))
        shop.trip.planner.depart()
        shop.trip.owe_a_hotel()
        assert asked(outer.invoke(Command(resume="yes"), thread("team")))[0]["readmit"] == "blocked"
        shop.trip.rebook()
        shop.offer = PALACE
        new = self.waiting(outer.invoke(Command(resume="we booked"), thread("team")))
        assert [*new.values()] == [PALACE]
        assert shop.paid == []

    def test_parallel_questions_take_their_answers_by_id(self, shop: Shop) -> None:
        def room(_: Till) -> Till:
            shop.paid.append(("room", interrupt("Room?")))
            return {}

        def dinner(_: Till) -> Till:
            shop.paid.append(("dinner", interrupt("Dinner?")))
            return {}

        outer = self.outer(shop, room, dinner)
        questions = self.waiting(outer.invoke({}, thread("team")))
        assert sorted(questions.values()) == ["Dinner?", "Room?"]
        first, second = questions
        left = self.waiting(outer.invoke(Command(resume={first: f"yes, {questions[first]}"}), thread("team")))
        assert [*left] == [second]
        outer.invoke(Command(resume={second: f"yes, {questions[second]}"}), thread("team"))
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
    for given in (Command(resume="yes"), None, Command(resume="yes")):
        with pytest.raises(StaleAnswerError) if given else nullcontext():
            graph.invoke(given, thread("copy"))
    assert shop.paid == []
    graph.checkpointer.delete_thread("copy")
    assert graph.get_state(thread("copy")).values == {}


def test_a_pruned_thread_takes_no_plain_answer(shop: Shop) -> None:
    shop.inner = Pruning()
    graph = shop.graph()
    invoke(graph, {}, thread())
    graph.checkpointer.prune(["planner"])
    shop.away()
    for given in (Command(resume="yes"), None, Command(resume="yes")):
        with pytest.raises(StaleAnswerError) if given else nullcontext():
            graph.invoke(given, thread())
        graph.checkpointer.prune(["planner"])
    assert shop.paid == []


def test_an_update_after_the_return_does_not_let_the_old_answer_in(shop: Shop) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    graph.update_state(thread(), {"paid": []}, as_node="__start__")
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert asked(invoke(graph, None, thread())) == [PALACE]
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert shop.paid == []


def test_a_reset_does_not_let_the_old_answer_in(shop: Shop) -> None:
    shop.trip.team.as_owner().admin.govern(Policy(returns={"fill": "always", "on_incomplete": "reset"}))
    graph = shop.graph()
    invoke(graph, {}, thread())
    shop.away()
    shop.trip.owe_a_hotel()
    shop.trip.team.revoke("h1", by="scout")
    assert asked(invoke(graph, Command(resume="yes"), thread()))[0]["readmit"] == "reset"
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    again = graph.invoke({}, thread())
    assert asked(again) == [PALACE]
    with pytest.raises(StaleAnswerError):
        graph.invoke(Command(resume="yes"), thread())
    assert shop.paid == []
    graph.invoke(answers(again, "no"), thread())
    assert shop.paid == [(PALACE, "no")]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_when_state_is_stored_makes_no_difference(shop: Shop, durability: str) -> None:
    graph = shop.graph()
    invoke(graph, {}, thread(), durability=durability)
    shop.away()
    with pytest.raises(StaleAnswerError):
        invoke(graph, Command(resume="yes"), thread(), durability=durability)
    again = invoke(graph, None, thread(), durability=durability)
    with pytest.raises(StaleAnswerError):
        invoke(graph, Command(resume="yes"), thread(), durability=durability)
    invoke(graph, answers(again, "no"), thread(), durability=durability)
    assert shop.paid == [(PALACE, "no")]


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

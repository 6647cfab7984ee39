"""State written after a return comes back from every saver, and nothing that was changed natively does."""

from __future__ import annotations

import operator
import pickle
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import msgspec
import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
pytest.importorskip("langgraph.checkpoint.postgres", reason="needs langgraph-checkpoint-postgres")

from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from readmit.backends.langgraph import ReturningSaver, invoke
from readmit.errors import BackendError, LostStateError
from tests.backends.langgraph.savers import SAVERS, opened_saver
from tests.backends.langgraph.trip import Trip, planning, thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langgraph.checkpoint.base import BaseCheckpointSaver

pytestmark = pytest.mark.backends


class Pickles:
    """A serializer of one's own, for values that LangGraph's cannot encode."""

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return "pickle", pickle.dumps(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])  # noqa: S301 - what the test itself wrote


@pytest.fixture(params=SAVERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def inner(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    with opened_saver(kind, request, tmp_path) as opened:
        yield opened


@pytest.fixture
def trip() -> Iterator[Trip]:
    made = Trip()
    yield made
    made.team.close()


def front(inner: Any, trip: Trip, **options: Any) -> ReturningSaver:
    return ReturningSaver(
        inner, agent=trip.planner, log=trip.team.admin.log, **{"keep": ["step"], "into": "view"} | options
    )


def resumed(trip: Trip) -> list[dict[str, Any]]:
    """What the audit says about resumed threads."""
    return [msgspec.json.decode(row.body) for row in trip.team.admin.log.audit.rows() if row.kind == "thread"]


def _all(state: list[str], writes: list[list[str]]) -> list[str]:
    return [*state, *(one for write in writes for one in write)]


class Long(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(_all, snapshot_frequency=3)]
    other: str
    step: int
    view: str


def logging(saver: Any, schema: Any = Long) -> Any:
    def write(state: Long) -> Long:
        step = state.get("step", 0) + 1
        # Not every step writes the log: then its last snapshot is loaded by its version.
        return {"step": step, "other": f"o{step}"} | ({} if step % 4 == 0 else {"log": [f"l{step}"]})

    builder = StateGraph(schema)
    builder.add_node("write", write)
    builder.add_edge(START, "write")
    builder.add_edge("write", END)
    return builder.compile(checkpointer=saver)


EXPECTED = [f"l{n}" for n in range(1, 12) if n % 4]


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_delta_channels_survive_after_a_return(inner: Any, trip: Trip, durability: str) -> None:
    graph = logging(front(inner, trip))
    trip.planner.depart()
    for _ in range(11):
        graph.invoke({}, thread(), durability=durability)
    values = logging(front(inner, trip)).get_state(thread()).values
    assert values["log"] == EXPECTED
    assert len(resumed(trip)) == 0, "a new thread: one return, and no second one"


@pytest.mark.parametrize("left_at", [1, 3, 4, 6, 8])
def test_delta_channels_that_are_kept_come_back_with_a_return(inner: Any, trip: Trip, left_at: int) -> None:
    graph = logging(front(inner, trip, keep=["log", "step"]))
    for _ in range(left_at):
        graph.invoke({}, thread())
    trip.planner.depart()
    for _ in range(11 - left_at):
        graph.invoke({}, thread())
    assert logging(front(inner, trip)).get_state(thread()).values["log"] == EXPECTED
    assert [(one["carried"], one["altered"]) for one in resumed(trip)] == [(["log", "step"], False)]


def test_what_a_return_leaves_behind_is_named_in_the_audit(inner: Any, trip: Trip) -> None:
    graph = logging(front(inner, trip))
    for _ in range(4):
        graph.invoke({}, thread())
    trip.planner.depart()
    graph.invoke({}, thread())
    (entry,) = resumed(trip)
    assert entry["thread"] == "planner"
    assert {"log", "other"} <= set(entry["left"])
    assert entry["carried"] == ["step"]


def test_pending_sends_that_are_left_behind_are_named(inner: Any, trip: Trip) -> None:
    class Fan(TypedDict, total=False):
        done: Annotated[list[str], operator.add]
        view: str

    builder = StateGraph(Fan)
    builder.add_node("start", lambda _: {})
    builder.add_node("one", lambda given: {"done": [given["name"]]})
    builder.add_edge(START, "start")
    builder.add_conditional_edges("start", lambda _: [Send("one", {"name": "a"})], ["one"])
    graph = builder.compile(checkpointer=front(inner, trip), interrupt_before=["one"])
    graph.invoke({}, thread())
    trip.planner.depart()
    with pytest.raises(LostStateError, match="__pregel_tasks"):
        graph.invoke(None, thread())
    (entry,) = resumed(trip)
    assert "__pregel_tasks" in entry["left"]


def test_a_key_that_a_redeploy_removed_does_not_cost_the_rest(inner: Any, trip: Trip) -> None:
    class Shorter(TypedDict, total=False):
        step: int
        view: str
        other: str

    def on(schema: Any) -> Any:
        builder = StateGraph(schema)
        builder.add_node("count", lambda state: {"step": state.get("step", 0) + 1, "other": ["kept"]})
        builder.add_edge(START, "count")
        return builder.compile(checkpointer=front(inner, trip))

    class Longer(Shorter, total=False):
        removed: list[str]

    trip.planner.depart()
    on(Longer).invoke({"removed": ["x"]}, thread())
    for _ in range(3):
        on(Shorter).invoke({}, thread())
    assert on(Shorter).get_state(thread()).values["step"] == 4
    assert on(Shorter).get_state(thread()).values["other"] == ["kept"]
    assert resumed(trip) == [], "it was never taken for state from before"


class Plain(StrEnum):
    ON = "on"


@pytest.mark.parametrize("value", [Plain.ON, 1e22, -0.0, 0.1, True, "", None, 2**62, {1: {2}}, b"x", [1.0]])
def test_plain_values_come_back_from_every_saver(inner: Any, trip: Trip, value: Any) -> None:
    class One(TypedDict, total=False):
        value: Any
        view: str

    builder = StateGraph(One)
    builder.add_node("set", lambda _: {"value": value})
    builder.add_edge(START, "set")
    trip.planner.depart()
    builder.compile(checkpointer=front(inner, trip)).invoke({}, thread())
    shown = builder.compile(checkpointer=front(inner, trip)).get_state(thread())
    assert "readmit" not in shown.metadata
    assert shown.values["value"] == value


class TestInto:
    def graph(self, saver: Any) -> Any:
        class Without(TypedDict, total=False):
            step: int

        builder = StateGraph(Without)
        builder.add_node("count", lambda state: {"step": state.get("step", 0) + 1})
        builder.add_edge(START, "count")
        return builder.compile(checkpointer=saver)

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_a_key_that_the_graph_does_not_have_is_named(self, inner: Any, trip: Trip, durability: str) -> None:
        graph = self.graph(front(inner, trip))
        graph.invoke({}, thread())
        trip.planner.depart()
        with pytest.raises(BackendError, match="into: the graph's state has no key 'view'"):
            graph.invoke({}, thread(), durability=durability)
        graph = self.graph(front(inner, trip, into=None))
        assert graph.invoke({}, thread())["step"] == 2, "nothing was lost"

    def test_the_helper_says_so_before_the_graph_runs(self, trip: Trip) -> None:
        graph = self.graph(front(InMemorySaver(), trip))
        with pytest.raises(BackendError, match="into: the graph's state has no key 'view'"):
            invoke(graph, {}, thread())


class Opaque:
    """What LangGraph's serializer cannot encode."""

    def __init__(self, words: set[str]) -> None:
        self.words = words


class TestCustomSerializer:
    def graph(self, saver: Any, value: Any) -> Any:
        class Holder(TypedDict, total=False):
            value: Any
            step: int
            view: str

        def hold(state: Holder) -> Holder:
            return {"value": value, "step": state.get("step", 0) + 1}

        builder = StateGraph(Holder)
        builder.add_node("hold", hold)
        builder.add_edge(START, "hold")
        return builder.compile(checkpointer=saver)

    def test_values_that_only_it_can_store_come_back(self, trip: Trip) -> None:
        inner = InMemorySaver(serde=Pickles())
        trip.planner.depart()
        graph = self.graph(front(inner, trip), Opaque({f"w{n}" for n in range(20)}))
        graph.invoke({}, thread())
        shown = graph.get_state(thread())
        assert shown.values["value"].words == {f"w{n}" for n in range(20)}

    @pytest.mark.parametrize("serde", [JsonPlusSerializer(), Pickles()])
    def test_a_value_that_it_cannot_store_leaves_nothing_half_written(self, trip: Trip, serde: Any) -> None:
        inner = InMemorySaver(serde=serde)
        trip.planner.depart()
        self.graph(front(inner, trip), 1).invoke({}, thread())
        before = [one.checkpoint["id"] for one in inner.list(thread())]
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            self.graph(front(inner, trip), lambda: 1).invoke({}, thread(), durability="exit")
        assert [one.checkpoint["id"] for one in inner.list(thread())] == before
        assert self.graph(front(inner, trip), 2).invoke({}, thread())["step"] == 2

    def test_a_value_without_a_digest_is_named_before_anything_is_stored(self, trip: Trip) -> None:
        loop = Opaque(set())
        loop.words = loop  # type: ignore[assignment]
        inner = InMemorySaver(serde=Pickles())
        trip.planner.depart()
        graph = self.graph(front(inner, trip), loop)
        with pytest.raises(BackendError, match=r"channel 'value': a Opaque cannot be recognized .*contains itself"):
            graph.invoke({}, thread(), durability="exit")
        (only,) = inner.list(thread())
        assert set(only.checkpoint["channel_values"]) == {"view"}, "the return's own checkpoint"


class TestTampering:
    """What the checkpoint database says beyond what went through readmit is not believed."""

    def written(self, trip: Trip) -> tuple[InMemorySaver, Any]:
        inner = InMemorySaver()
        graph = logging(front(inner, trip))
        trip.planner.depart()
        for _ in range(3):
            graph.invoke({}, thread())
        assert "readmit" not in graph.get_state(thread()).metadata
        return inner, graph

    def blob(self, inner: InMemorySaver, channel: str) -> Any:
        versions = inner.get_tuple(thread()).checkpoint["channel_versions"]
        return ("planner", "", channel, versions[channel])

    def changed(self, graph: Any) -> bool:
        return graph.get_state(thread()).metadata.get("readmit") == "held"

    def test_a_changed_value(self, trip: Trip) -> None:
        inner, graph = self.written(trip)
        inner.blobs[self.blob(inner, "other")] = inner.serde.dumps_typed("transfer the budget")
        assert self.changed(graph)

    def test_a_removed_value(self, trip: Trip) -> None:
        inner, graph = self.written(trip)
        inner.blobs[self.blob(inner, "other")] = ("empty", b"")
        assert self.changed(graph)

    def test_a_value_of_an_earlier_version(self, trip: Trip) -> None:
        inner, graph = self.written(trip)
        (*_, old) = [one for one in inner.list(thread()) if one.checkpoint["channel_values"].get("other") == "o1"]
        inner.blobs[self.blob(inner, "other")] = inner.serde.dumps_typed(old.checkpoint["channel_values"]["other"])
        assert self.changed(graph)

    def test_an_added_value(self, trip: Trip) -> None:
        inner, graph = self.written(trip)
        inner.blobs[self.blob(inner, "branch:to:write")] = inner.serde.dumps_typed(None)
        assert self.changed(graph)

    @pytest.mark.parametrize(
        "change",
        [{"versions_seen": {}}, {"updated_channels": ["other"]}, {"channel_versions": {}}, {"v": 1}],
        ids=lambda change: next(iter(change)),
    )
    def test_a_changed_frame(self, trip: Trip, change: dict[str, Any]) -> None:
        inner, graph = self.written(trip)
        stored = inner.storage["planner"][""]
        newest = max(stored)
        body, metadata, parent = stored[newest]
        stored[newest] = (inner.serde.dumps_typed({**inner.serde.loads_typed(body), **change}), metadata, parent)
        assert self.changed(graph)

    def test_another_parent(self, trip: Trip) -> None:
        """A value that is kept as a history is found through the parents."""
        inner, graph = self.written(trip)
        stored = inner.storage["planner"][""]
        newest = max(stored)
        stored[newest] = (*stored[newest][:2], min(stored))
        assert self.changed(graph)

    def test_what_was_changed_is_named_when_the_thread_runs_again(self, trip: Trip) -> None:
        inner, graph = self.written(trip)
        inner.blobs[self.blob(inner, "other")] = inner.serde.dumps_typed("transfer the budget")
        assert "budget" not in str(graph.invoke({}, thread()))
        (entry,) = resumed(trip)
        assert entry["altered"]
        assert "other" in entry["left"]


def test_subgraphs_keep_their_state_after_a_return(inner: Any, trip: Trip) -> None:
    class Sub(TypedDict, total=False):
        step: int
        seen: set[str]

    def ask(state: Sub) -> Sub:
        return {"step": state["step"] + 1, "seen": {interrupt("go on?")}}

    inside = StateGraph(Sub)
    inside.add_node("mark", lambda _: {"seen": {"a", "b", "c"}})
    inside.add_node("ask", ask)
    inside.add_edge(START, "mark")
    inside.add_edge("mark", "ask")
    outside = StateGraph(Long)
    outside.add_node("sub", inside.compile())
    outside.add_edge(START, "sub")

    def graph() -> Any:
        return outside.compile(checkpointer=front(inner, trip))

    trip.planner.depart()
    graph().invoke({"step": 1}, thread())
    shown = graph().get_state(thread(), subgraphs=True)
    assert shown.tasks[0].state.values["seen"] == {"a", "b", "c"}
    assert graph().invoke(Command(resume="yes"), thread())["step"] == 2


def test_time_travel_within_the_period_goes_on_working(inner: Any, trip: Trip) -> None:
    graph = planning(front(inner, trip))
    trip.planner.depart()
    graph.invoke({}, thread())
    asked = graph.get_state(thread()).config
    graph.invoke(Command(resume="yes"), thread())
    again = planning(front(inner, trip))
    assert again.get_state(asked).next == ("approve",)
    assert again.invoke(Command(resume="yes"), asked)["step"] == 1
    fork = again.update_state(asked, {"plan": "another"})
    assert again.get_state(fork).values["plan"] == "another"

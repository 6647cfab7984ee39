"""A whole agent at work: model, tools, store, cache and a person. It leaves in the middle, and things change.

The model keeps what it was sent, and the tools what they were called with. Nothing from before the departure may be in
either, in the cache, or in an answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("langchain.agents", reason="needs langchain")

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import dynamic_prompt
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import StructuredTool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import task
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Command, interrupt

from readmit import Workspace
from readmit.backends.langgraph import ainvoke, invoke, sources
from readmit.errors import BackendError, LostStateError
from readmit.memory import for_langgraph
from tests.backends.langgraph.recording import Recording
from tests.backends.langgraph.trip import FRESH, TASK, Trip, answers, thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from langchain.agents.middleware import ModelRequest

pytestmark = pytest.mark.backends
OLD, NEW = "Sunmere", "Lowland"


class Planning(AgentState[Any]):
    view: str


def reply(messages: list[BaseMessage]) -> AIMessage:
    """Look the hotel up, then pay for what was found."""
    last = messages[-1]
    if last.type == "tool" and last.text.startswith("found"):
        return AIMessage("", tool_calls=[{"name": "pay", "args": {"hotel": last.text}, "id": f"pay-{len(messages)}"}])
    if last.type == "tool":
        return AIMessage(last.text)
    return AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": f"look-up-{len(messages)}"}])


@dynamic_prompt
def with_the_view(request: ModelRequest) -> str:
    return f"You plan trips. What you know: {request.state.get('view', 'nothing yet')}"


class Loop:
    def __init__(self) -> None:
        self.trip = Trip()
        self.price = f"{OLD}, $280"
        self.called: list[str] = []
        self.model = Recording(reply=reply)
        team, planner = self.trip.team, self.trip.planner
        store, self.cache = InMemoryStore(), InMemoryCache()
        self.booking = for_langgraph(team, team.agent("booker", role="booker", task=TASK), store=store)["store"]
        self.graph = create_agent(
            self.model,
            self.tools(),
            middleware=[with_the_view],
            state_schema=Planning,
            **for_langgraph(team, planner, saver=InMemorySaver(), store=store, cache=self.cache, into="view"),
        )
        with sources(self.trip.hotel):
            self.booking.put(("hotels",), OLD, {"name": OLD})

    def tools(self) -> list[Any]:
        @task(cache_policy=CachePolicy(key_func=lambda: "prices"))
        def prices() -> str:
            return self.price

        def found(names: list[str], price: str) -> str:
            self.called.append(f"look_up: {names} {price}")
            return f"found {names} at {price}"

        def look_up(runtime: ToolRuntime) -> str:
            """Look up the hotel and its price."""
            assert runtime.store is not None
            return found([one.value["name"] for one in runtime.store.search(("hotels",))], prices().result())

        async def alook_up(runtime: ToolRuntime) -> str:
            """Look up the hotel and its price."""
            assert runtime.store is not None
            return found([one.value["name"] for one in await runtime.store.asearch(("hotels",))], await prices())

        @tool
        def pay(hotel: str) -> str:
            """Pay, if a person agrees."""
            self.called.append(f"pay: {hotel}, {interrupt(f'Pay for {hotel}?')}")
            return "paid"

        return [StructuredTool.from_function(look_up, alook_up, name="look_up"), pay]

    def away(self) -> None:
        self.trip.planner.depart()
        self.price = f"{NEW}, $9000"
        with sources(self.trip.rebook()):
            self.booking.put(("hotels",), NEW, {"name": NEW})


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.trip.team.close()


async def play(loop: Loop, run: Callable[[Any], Awaitable[Any]]) -> None:
    asked = await run({"messages": [("user", "Book us rooms.")]})
    assert OLD in asked["__interrupt__"][0].value
    assert OLD in str(loop.model.sent), "it must really have been there"
    loop.away()
    before = len(loop.model.sent)
    loop.called.clear()

    with pytest.raises(LostStateError, match="messages"):
        await run(Command(resume="yes"))
    assert len(loop.model.sent) == before, "no prompt without the conversation"
    assert loop.called == [], "no tool call with the old answer"

    asked = await run({"messages": [("user", "Where were we?")]})
    assert NEW in asked["__interrupt__"][0].value
    assert loop.called == [f"look_up: ['{NEW}'] {NEW}, $9000"], "neither the store nor the cache had the old hotel"
    done = await run(answers(asked, "yes, that one"))
    assert loop.called[1:] == [f"pay: found ['{NEW}'] at {NEW}, $9000, yes, that one"]

    prompts = str(loop.model.sent[before:])
    assert FRESH in prompts
    assert OLD not in prompts + str(loop.called) + str(done) + str(loop.graph.get_state(thread()))


def test_nothing_from_before_reaches_a_prompt_a_tool_a_cache_or_an_answer(loop: Loop) -> None:
    async def run(given: Any) -> Any:
        return invoke(loop.graph, given, thread())

    asyncio.run(play(loop, run))


def test_nor_asynchronously(loop: Loop) -> None:
    asyncio.run(play(loop, lambda given: ainvoke(loop.graph, given, thread())))


def test_parts_for_an_agent_of_another_workspace_are_refused(loop: Loop) -> None:
    with Workspace.open(name="elsewhere") as other, pytest.raises(BackendError, match=r"agent: .*'elsewhere'"):
        for_langgraph(other, loop.trip.planner, saver=InMemorySaver())


def test_what_a_return_carries_is_said_to_a_saver(loop: Loop) -> None:
    with pytest.raises(BackendError, match="saver: pass one; keep, into"):
        for_langgraph(loop.trip.team, loop.trip.planner, store=InMemoryStore(), keep=["days"], into="view")

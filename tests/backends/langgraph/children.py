"""A worker of a planner's graph in a process of its own: ``python -m tests.backends.langgraph.children``."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Command, interrupt

from readmit import Policy, Workspace
from readmit.backends.langgraph import LangGraphMemory, ReturningSaver, TeamStore, sources
from readmit.memory import Memory
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

TASK = "trip"
STORE = "READMIT_TEST_STORE"
"""The address of the workspace's store, if it is not a file."""


class Seen(TypedDict, total=False):
    """State whose every part has no order of its own."""

    words: set[str]
    deep: dict[str, Any]
    step: int
    view: str
    known: list[str]


def named(spec: str, thread: str = "planner") -> dict[str, Any]:
    """The configuration of one thread."""
    return {"configurable": {"thread_id": f"{thread}-{spec[-40:]}"}}


@contextmanager
def opened(folder: str, threads: str) -> Iterator[tuple[Any, Workspace, Any]]:
    """The graph, the workspace and the store, as a worker opens them when it starts."""
    with ExitStack() as stack:
        place = os.environ.get(STORE, f"{folder}/trip.db")
        team = stack.enter_context(Workspace.open(place, policy=Policy(returns={"fill": "always"})))
        planner = team.agent("planner", role="planner", task=TASK)
        if threads.startswith("postgres"):
            inner: Any = stack.enter_context(PostgresSaver.from_conn_string(threads))
            inner.setup()
        else:
            inner = SqliteSaver(sqlite3.connect(threads, check_same_thread=False))
            stack.callback(inner.conn.close)
        native = stack.enter_context(_native(folder))
        memory = Memory(team, LangGraphMemory(native, team.name, history=team.admin.log.memories))
        saver = ReturningSaver(inner, agent=planner, log=team.admin.log, keep=["step", "words", "deep"], into="view")
        store = TeamStore(memory.backend, log=team.admin.log, agent=planner, returned=saver.memory(memory.returned))
        yield _graph(saver, store), team, store


@contextmanager
def _native(folder: str) -> Iterator[SqliteStore]:
    with closing(sqlite3.connect(f"{folder}/store.db", isolation_level=None, check_same_thread=False)) as connection:
        store = SqliteStore(connection)
        store.setup()
        yield store


def _graph(saver: ReturningSaver, store: TeamStore) -> Any:
    def left(state: Seen) -> Seen:
        return {"step": state.get("step", 0) + 1}

    def right(_: Seen) -> Seen:
        words = {f"word {n}" for n in range(30)}
        return {"words": words, "deep": {"in": [frozenset(words)]}}

    def both(_: Seen) -> Seen:
        interrupt("go on?")
        return {"known": sorted(item.value["name"] for item in store.search(("hotels",)))}

    builder = StateGraph(Seen)
    for node in (left, right, both):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "both")
    builder.add_edge("both", END)
    return builder.compile(checkpointer=saver, store=store)


def leave_in_the_middle(folder: Any, threads: str, *names: str) -> None:
    """The planner waits for an answer on each thread, departs, and the hotel changes."""
    with opened(str(folder), threads) as (graph, team, store):
        seen = team.observe("Sunmere confirms.", by="scout", task=TASK)
        old = team.record("Sunmere is booked.", id="h0", slot="hotel", sources=[seen], by="scout", task=TASK)
        with sources(old):
            store.put(("hotels",), "sunmere", {"name": "Sunmere"})
        for name in names:
            graph.invoke({}, named(str(folder), name))
        team.agent("planner", role="planner", task=TASK).depart()
        seen = team.observe("Lowland confirms.", by="scout", task=TASK)
        new = team.record("Lowland is booked.", id="h1", slot="hotel", sources=[seen], by="scout", task=TASK)
        scout = team.agent("scout", role="scout", task=TASK)
        with _native(str(folder)) as native, sources(new):
            memory = LangGraphMemory(native, team.name, history=team.admin.log.memories)
            TeamStore(memory, log=team.admin.log, agent=scout).put(("hotels",), "lowland", {"name": "Lowland"})


def perform(step: str, folder: str, threads: str, thread: str) -> Any:
    """What a worker does with a thread."""
    config = named(folder, thread)
    with opened(folder, threads) as (graph, team, store):
        if step == "search":
            return sorted(item.value["name"] for item in store.search(("hotels",)))
        if step == "look":
            shown = graph.get_state(config)
            return {"held": shown.metadata.get("readmit"), "next": shown.next, "head": team.admin.log.head}
        waiting = graph.get_state(config).interrupts if step == "answer" else ()
        result = graph.invoke(Command(resume={one.id: "yes" for one in waiting}) if waiting else None, config)
        return {key: sorted(value) if isinstance(value, set) else str(value) for key, value in result.items()}


def worker(step: str, folder: Any, threads: Any, thread: str = "planner", seed: int = 0) -> Any:
    """What a fresh process answers."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.backends.langgraph.children"]
    ran = subprocess.run(
        [*command, step, str(folder), str(threads), thread],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(perform(*sys.argv[1:])))

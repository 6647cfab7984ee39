"""LangGraph's own conformance suite for checkpoint savers, on every saver behind readmit.

``present`` is an agent that never left, ``returned`` one that came back: from then on the ledger decides what is shown.
``restarts`` opens the workspace and the saver in front again for every call, ``workers`` alternates between two of
each, with a connection of their own to one store and one checkpoint database.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack, contextmanager, nullcontext
from itertools import cycle
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

pytest.importorskip("langgraph.checkpoint.conformance", reason="needs langgraph-checkpoint-conformance")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
pytest.importorskip("langgraph.checkpoint.postgres", reason="needs langgraph-checkpoint-postgres")

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import EXTENDED_CAPABILITIES
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from readmit import Policy, Workspace
from readmit.backends.langgraph import ReturningSaver
from tests.backends.langgraph.test_threads import Able

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

pytestmark = pytest.mark.backends
SAVERS = ["memory", "able", "sqlite", "async-sqlite", "postgres", "async-postgres"]
BASE, PRUNE, EVERY = 58, 66, 81
"""How many cases the suite has for the required methods, with ``prune``, and with all optional ones."""
CASES = dict.fromkeys(SAVERS, BASE) | {"able": EVERY, "postgres": PRUNE, "async-postgres": PRUNE}


class Through(BaseCheckpointSaver[Any]):
    """Reaches a saver anew for every call, through its synchronous or asynchronous interface."""

    def __init__(self, reach: Callable[[], AbstractContextManager[ReturningSaver]], *, twin: bool) -> None:
        super().__init__()
        self._reach, self._twin = reach, twin

    async def _call(self, method: str, *args: Any, **named: Any) -> Any:
        with self._reach() as saver:
            if self._twin:
                return await getattr(saver, f"a{method}")(*args, **named)
            return getattr(saver, method)(*args, **named)

    async def aget_tuple(self, *args: Any) -> Any:
        return await self._call("get_tuple", *args)

    async def aput(self, *args: Any) -> Any:
        return await self._call("put", *args)

    async def aput_writes(self, *args: Any, **named: Any) -> None:
        await self._call("put_writes", *args, **named)

    async def adelete_thread(self, *args: Any) -> None:
        await self._call("delete_thread", *args)

    async def adelete_for_runs(self, *args: Any) -> None:
        await self._call("delete_for_runs", *args)

    async def acopy_thread(self, *args: Any) -> None:
        await self._call("copy_thread", *args)

    async def aprune(self, *args: Any, **named: Any) -> None:
        await self._call("prune", *args, **named)

    async def alist(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        with self._reach() as saver:
            if self._twin:
                async for one in saver.alist(*args, **named):
                    yield one
            else:
                for one in saver.list(*args, **named):
                    yield one


async def connected(kind: str, threads: str, stack: AsyncExitStack, shared: dict[str, Any]) -> Any:
    """One of LangGraph's savers, with a connection of its own where it has any."""
    if kind in ("memory", "able"):
        if not shared:
            shared[kind] = Able() if kind == "able" else InMemorySaver()
        return shared[kind]
    if kind == "sqlite":
        connection = sqlite3.connect(threads, check_same_thread=False)
        stack.callback(connection.close)
        return SqliteSaver(connection)
    if kind == "postgres":
        saver: Any = stack.enter_context(PostgresSaver.from_conn_string(threads))
        saver.setup()
    else:
        opened = AsyncSqliteSaver if kind == "async-sqlite" else AsyncPostgresSaver
        saver = await stack.enter_async_context(opened.from_conn_string(threads))
        await saver.setup()
    return saver


@contextmanager
def front(place: Path, inner: Any) -> Iterator[ReturningSaver]:
    with Workspace.open(place, policy=Policy(returns={"fill": "always"})) as team:
        planner = team.agent("planner", role="planner", task="trip")
        yield ReturningSaver(inner, agent=planner, log=team.admin.log)


def prepared(place: Path, *, returned: bool) -> None:
    with Workspace.open(place, policy=Policy(returns={"fill": "always"})) as team:
        seen = team.observe("We travel in May.", by="scout", task="trip")
        team.record("We travel in May.", by="scout", sources=[seen], task="trip")
        planner = team.agent("planner", role="planner", task="trip")
        if returned:
            planner.depart()
            planner.come_back().expose()


@pytest.mark.parametrize("mode", ["process", "restarts", "workers"])
@pytest.mark.parametrize("presence", ["present", "returned"])
@pytest.mark.parametrize("kind", SAVERS)
def test_langgraphs_suite(kind: str, presence: str, mode: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place, threads = tmp_path / "trip.db", str(tmp_path / "threads.db")
    if "postgres" in kind:
        server, name = request.getfixturevalue("server"), f"threads_{uuid4().hex}"
        server.sql(f"CREATE DATABASE {name}")
        threads = f"{server.administrator.rpartition('/')[0]}/{name}"
    prepared(place, returned=presence == "returned")
    shared: dict[str, Any] = {}

    async def savers() -> AsyncIterator[Through]:
        async with AsyncExitStack() as stack:
            inner = [await connected(kind, threads, stack, shared) for _ in range(2 if mode == "workers" else 1)]
            twin = "async" in kind or kind == "memory"
            if mode == "restarts":
                yield Through(lambda: front(place, inner[0]), twin=twin)
                return
            handles = cycle([stack.enter_context(front(place, one)) for one in inner])
            yield Through(lambda: nullcontext(next(handles)), twin=twin)

    async def report() -> Any:
        async with AsyncExitStack() as stack:
            able = vars(type(await connected(kind, threads, stack, shared)))
        missing = {one.value for one in EXTENDED_CAPABILITIES if not {one.value, f"a{one.value}"} & able.keys()}
        return await validate(checkpointer_test(name=kind, skip_capabilities=missing)(savers))

    results = asyncio.run(report()).results.values()
    assert [failure for one in results for failure in one.failures] == []
    assert sum(one.tests_passed for one in results) == CASES[kind]

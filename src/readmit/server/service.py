"""The workspaces of one store, opened by name, and the threads that work in them.

A workspace has one connection, which its threads share: those that write at once share a durable commit. Handles are
made for each call, in the name of its caller, and never kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from readmit.log import location
from readmit.records.error_types import StoreError, UnknownError
from readmit.telemetry.measures import CALLS
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.records.policy import Policy
    from readmit.server.server_settings import ServerSettings

T = TypeVar("T")


class BusyError(StoreError):
    """More calls wait than may, or the server is stopping. A caller hears of it as of any failing store."""


logger = logging.getLogger("readmit.server")


class OpenedWorkspace:
    """A workspace, and the calls that run or wait in it."""

    def __init__(self, handle: Workspace, at_once: int) -> None:
        self.handle = handle
        self.turns = asyncio.Semaphore(at_once)
        self.deciding = asyncio.Lock()
        """Held by the one return that is decided: what another commits meanwhile would make it decide again."""
        self.calls = 0
        """Calls that run or wait."""


class Service:
    """Runs calls in the workspaces of a store. For one event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="readmit-server")
        self._opened: OrderedDict[str, OpenedWorkspace] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._ended = asyncio.Event()
        self._is_closed = False

    async def call(self, name: str, work: Callable[[Workspace], T], *, decides: bool = False) -> T:
        """Run a call in a workspace. Refused if too many wait there already, or if there is no such workspace."""
        if self._is_closed:
            raise BusyError("the server is stopping; call again later")
        opened = self._opened.get(name) or await self._open(name, start=False)
        self._opened.move_to_end(name)
        if opened.calls >= self.settings.waiting + self.settings.at_once:
            raise BusyError(f"{opened.calls} calls run or wait in this workspace already; call again later")
        opened.calls += 1
        state = "waiting"
        CALLS.add(1, state)
        try:
            async with opened.deciding if decides else nullcontext(), opened.turns:
                CALLS.add(-1, state)
                state = "running"
                CALLS.add(1, state)
                return await self._run(partial(work, opened.handle))
        finally:
            CALLS.add(-1, state)
            opened.calls -= 1
            self._ended.set()

    async def start(self, name: str, policy: Policy | None) -> int:
        """Start a workspace, under a policy, if there is none of this name. Returns the epoch of its log."""
        if name not in self._opened:
            await self._open(name, start=True, policy=policy)
        return await self.call(name, lambda workspace: workspace.epoch)

    async def names(self) -> tuple[str, ...]:
        """The names of the store's workspaces, oldest first."""
        return await self._run(partial(location.names, self.settings.store))

    @property
    def calls(self) -> int:
        """Calls that run or wait."""
        return sum(opened.calls for opened in self._opened.values())

    async def close(self) -> None:
        """Let running calls end, and close every workspace."""
        self._is_closed = True
        while self.calls:
            self._ended.clear()
            await self._ended.wait()
        for opened in self._opened.values():
            await self._run(opened.handle.close)
        self._opened.clear()
        self._threads.shutdown()

    async def _open(self, name: str, *, start: bool, policy: Policy | None = None) -> OpenedWorkspace:
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name not in self._opened:
                if name in await self.names():
                    # Who governs changes the policy of one that exists.
                    policy = None
                elif not start:
                    raise unknown_workspace(name)
                open_ = partial(Workspace.open, self.settings.store, name=name, policy=policy, keys=self.settings.keys)
                self._opened[name] = OpenedWorkspace(await self._run(open_), self.settings.at_once)
                self._close_idle(name)
            return self._opened[name]

    def _close_idle(self, newest: str) -> None:
        for name, opened in list(self._opened.items()):
            if len(self._opened) <= self.settings.most_open:
                break
            if not opened.calls and name != newest:
                del self._opened[name]
                self._threads.submit(opened.handle.close)

    async def _run(self, work: Callable[[], T]) -> T:
        # Shielded: a call whose caller left still ends by itself, completely or not at all.
        running = asyncio.get_running_loop().run_in_executor(self._threads, partial(copy_context().run, work))
        return await asyncio.shield(running)


def unknown_workspace(name: str) -> UnknownError:
    """The error for a workspace that is not there, and for one that the caller may not reach: the same."""
    return UnknownError(f"no workspace {name!r} that this credential may reach")

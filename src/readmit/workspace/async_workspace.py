"""``AsyncWorkspace``: the same verbs for programs with an event loop, without blocking it.

Each class here is made from its blocking twin: every verb runs on the workspace's own thread and is awaited, with the
same arguments and result; a property that reads the store becomes a verb. Their types are in ``async_workspace.pyi``,
which ``python -m tests.docs.async_stub`` writes.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from functools import partial, wraps

from readmit.presence.subscription import AT_LEAST, Lookout
from readmit.records.error_types import StoreError
from readmit.workspace.admin import Admin
from readmit.workspace.agent import Agent, PresentAgent
from readmit.workspace.own_thread import BatchOnThread, InTurn, OwnThread
from readmit.workspace.return_handle import DecidedReturn, Delivery, Return
from readmit.workspace.workspace import Workspace


class OnThread:
    """An async wrapper of a blocking object, and the thread that runs it."""

    def __init__(self, thread, twin):
        self._thread = thread
        self._twin = twin

    async def run(self, call, *args, **kwargs):
        """Call a function on the thread, with the blocking object and these arguments."""
        async with InTurn(self._thread):
            return await self._thread.call(partial(call, self._twin, *args, **kwargs))


_TWINS = {}
"""Blocking class → async class."""


def _wrapped(thread, given):
    made = _TWINS.get(type(given))
    return given if made is None else made(thread, given)


def _plain(given):
    return given._twin if isinstance(given, OnThread) else given  # noqa: SLF001 - of this room


def _verb(member):
    """An awaited verb for a blocking method, or for a property that reads the store."""
    call = member.fget if isinstance(member, property) else member

    @wraps(call)
    async def awaited(self, *args, **kwargs):
        plain = {name: _plain(value) for name, value in kwargs.items()}
        return _wrapped(self._thread, await self.run(call, *map(_plain, args), **plain))

    return awaited


def _at_once(member):
    """A method or a property that reads no store: not awaited, its result wrapped."""
    call = member.fget if isinstance(member, property) else member

    @wraps(call)
    def wrapped(self, *args, **kwargs):
        return _wrapped(self._thread, call(self._twin, *args, **kwargs))

    return property(wrapped) if isinstance(member, property) else wrapped


AT_ONCE = {
    Workspace: {"name", "admin", "agent", "principal", "as_owner"},
    Admin: {"log", "keys", "writers"},
    Agent: {"delivery"},
    PresentAgent: {"token"},
    Delivery: set(),
    Return: set(),
}
"""The members of each handle that read no store."""
LEFT_OUT = {"log", "keys", "writers", "sweeper", "touch"}
"""Members whose results are handles without an async twin: reach them with ``run``."""


def _twin_of(blocking):
    """Decorates an async class: adds a verb for each public member of its blocking twin that it does not define."""

    def made(cls):
        for name, member in inspect.getmembers(blocking):
            is_member = inspect.isfunction(member) or isinstance(member, property)
            if name.startswith("_") or not is_member or hasattr(cls, name) or name in LEFT_OUT:
                continue
            setattr(cls, name, (_at_once if name in AT_ONCE[blocking] else _verb)(member))
        _TWINS[blocking] = cls
        return cls

    return made


@_twin_of(Delivery)
class AsyncDelivery(OnThread):
    """The delivery of one return, as ``Delivery``, with verbs that are awaited."""


@_twin_of(Return)
class AsyncReturn(DecidedReturn, OnThread):
    """A decided return, as ``Return``: the decision is available directly, and verbs are awaited."""

    def __init__(self, thread, twin):
        OnThread.__init__(self, thread, twin)
        DecidedReturn.__init__(self, twin.request, twin.decision, twin.dispositions, secret=twin.secret)


@_twin_of(PresentAgent)
class AsyncPresentAgent(OnThread):
    """An agent that is present under a lease, as ``PresentAgent``, with verbs that are awaited."""

    @property
    def workspace(self):
        """Writes as the agent, while it is present."""
        return AsyncWorkspace(self._thread, self._twin.workspace)


@_twin_of(Agent)
class AsyncAgent(OnThread):
    """One principal in one role on one task, as ``Agent``, with verbs that are awaited."""

    @property
    def identity(self):
        return self._twin.identity

    def subscribe(self, *, every=AT_LEAST):
        """Learn at once when an item of the view that this agent holds no longer stands, as ``Agent.subscribe``."""
        return AsyncSubscription(self, every=every)


@_twin_of(Admin)
class AsyncAdmin(OnThread):
    """Verbs of those who govern and operate a workspace, as ``Admin``, awaited."""


class AsyncSubscription:
    """``async for`` over it: the items of an agent's view that fell. Leave the loop, or ``close`` it, to end it."""

    def __init__(self, agent, *, every):
        self._agent = agent
        self._lookout = Lookout(agent._twin._desk.writer, agent.identity, every)  # noqa: SLF001 - of this room
        self._waiting = asyncio.Lock()
        self._is_closed = False

    async def __aiter__(self):
        while not self._is_closed:
            for one in await self.wait():
                yield one

    async def wait(self):
        """Wait until something fell, and say what; nothing once it is closed."""
        async with self._waiting:
            try:
                while not self._is_closed:
                    if found := await self._agent.run(lambda _: self._lookout.look(waits=True)):
                        return found
                    if not self._is_closed:
                        await self._lookout.announced()
            finally:
                if self._is_closed:
                    self._stop()
        return ()

    def close(self):
        """End it."""
        self._is_closed = True
        self._lookout.wake()
        if not self._waiting.locked():
            self._stop()

    def _stop(self):
        # After a look that goes on although the task that awaited it is gone.
        with suppress(StoreError):
            self._agent._thread.submit(self._lookout.close)  # noqa: SLF001 - of this room


class Opening:
    """``await`` it, or use ``async with``, which closes the workspace at the end."""

    def __init__(self, open_):
        self._open = open_

    def __await__(self):
        return self._opened().__await__()

    async def __aenter__(self):
        self._workspace = await self
        return self._workspace

    async def __aexit__(self, *_):
        await self._workspace.close()

    async def _opened(self):
        thread = OwnThread()

        def undo(opening):
            thread.submit(lambda: opening.result().close())

        try:
            return AsyncWorkspace(thread, await thread.call(self._open, undo=undo))
        except BaseException:
            thread.stop()
            raise


@_twin_of(Workspace)
class AsyncWorkspace(OnThread):
    """A team's log, as ``Workspace``, with verbs that are awaited. For one event loop; its tasks may share it.

    A cancelled verb has taken effect completely or not at all: repeat it under the same ``id`` to be sure. ``run``
    covers everything without a verb here: it calls a function with the ``Workspace`` itself, on its thread.
    """

    @staticmethod
    @wraps(Workspace.open)
    def open(*args, **kwargs):
        return Opening(partial(Workspace.open, *args, **kwargs))

    async def close(self):
        """Close the workspace after all started calls. Closing twice is harmless."""
        if self._thread.is_stopped:
            return
        async with InTurn(self._thread):
            await self._thread.finish(self._twin.close, last=True)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()

    def batch(self):
        """Several events, one durable commit: all of them or none. Other tasks' verbs wait until it is over."""
        return BatchOnThread(self._thread, self._twin.batch)

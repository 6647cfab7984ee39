"""``AsyncWorkspace``: the same verbs for programs with an event loop, without blocking it.

Each verb is that of ``Workspace``, ``Agent`` or ``Return``, run on the workspace's own thread, with the same arguments
and result.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from readmit.presence.lease import PresentAgent
from readmit.presence.subscription import AT_LEAST, Lookout
from readmit.records.error_types import StoreError
from readmit.workspace.agent import Agent
from readmit.workspace.own_thread import BatchOnThread, InTurn, OwnThread
from readmit.workspace.return_handle import DecidedReturn, Return
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime
    from pathlib import Path

    from readmit.diagnosis.checkup import Checkup
    from readmit.presence.subscription import FallenItem
    from readmit.records.acts.looks import Looked
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.trust.signer import Signer

Twin = TypeVar("Twin")
T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


class _OnThread(Generic[Twin]):
    """An async wrapper of a blocking object, and the thread that runs it."""

    def __init__(self, thread: OwnThread, twin: Twin) -> None:
        self._thread = thread
        self._twin = twin

    async def run(self, call: Callable[Concatenate[Twin, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the thread, with the blocking object and these arguments."""
        async with InTurn(self._thread):
            return await self._thread.call(partial(call, self._twin, *args, **kwargs))


class _Verb(Generic[Twin, P, T, R]):
    """An awaitable verb with the arguments of the blocking one. Its result is wrapped in the async class."""

    def __init__(self, verb: Callable[Concatenate[Twin, P], T], give: Callable[[OwnThread, T], R]) -> None:
        self._give = give
        self.__wrapped__ = verb
        self.__doc__ = verb.__doc__

    @overload
    def __get__(self, handle: None, owner: type) -> Self: ...
    @overload
    def __get__(self, handle: _OnThread[Any], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, handle: _OnThread[Any] | None, owner: type) -> Self | Callable[P, Coroutine[Any, Any, R]]:
        if handle is None:
            return self
        thread, run, give = handle._thread, handle.run, self._give  # noqa: SLF001 - of this module
        verb: Callable[Concatenate[Any, P], T] = self.__wrapped__

        @wraps(verb.__get__(handle._twin))  # noqa: SLF001 - of this module
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> R:
            return give(thread, await run(verb, *args, **kwargs))

        return awaited


def _same(verb: Callable[Concatenate[Twin, P], T]) -> _Verb[Twin, P, T, T]:
    return _Verb(verb, lambda _, given: given)


class AsyncReturn(DecidedReturn, _OnThread[Return]):
    """A decided return, as ``Return``: the decision is available directly, and verbs are awaited."""

    def __init__(self, thread: OwnThread, twin: Return) -> None:
        _OnThread.__init__(self, thread, twin)
        DecidedReturn.__init__(self, twin.request, twin.decision, twin.dispositions, secret=twin.secret)

    expose = _same(Return.expose)
    expose_retractions = _same(Return.expose_retractions)
    acknowledge = _same(Return.acknowledge)
    explain = _same(Return.explain)
    lacking = _same(Return.lacking)
    why = _same(Return.why)


class AsyncPresentAgent(_OnThread[PresentAgent]):
    """An agent that is present under a lease, as ``PresentAgent``, with verbs that are awaited."""

    @property
    def token(self) -> int:
        """Grows with every presence of the agent. Writes under an older one are refused."""
        return self._twin.token

    @property
    def workspace(self) -> AsyncWorkspace:
        """Writes as the agent, while it is present."""
        return AsyncWorkspace(self._thread, self._twin.workspace)

    async def until(self) -> datetime:
        """When the lease runs out, unless it is renewed."""
        return await self.run(lambda twin: twin.until)

    renew = _same(PresentAgent.renew)


class AsyncAgent(_OnThread[Agent]):
    """One principal in one role on one task, as ``Agent``, with verbs that are awaited."""

    @property
    def identity(self) -> Identity:
        return self._twin.identity

    present = _Verb(Agent.present, AsyncPresentAgent)
    depart = _same(Agent.depart)
    departed = _same(Agent.departed)
    come_back = _Verb(Agent.come_back, AsyncReturn)
    remember = _same(Agent.remember)
    recall = _same(Agent.recall)
    moment = _same(Agent.moment)
    settle = _same(Agent.settle)


class AsyncSubscription:
    """``async for`` over it: the items of an agent's view that fell. Leave the loop, or ``close`` it, to end it."""

    def __init__(self, workspace: AsyncWorkspace, identity: Identity, *, every: float) -> None:
        self._workspace = workspace
        self._lookout = Lookout(workspace._twin, identity, every)  # noqa: SLF001 - of this module
        self._waiting = asyncio.Lock()
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[FallenItem]:
        while not self._is_closed:
            for one in await self.wait():
                yield one

    async def wait(self) -> tuple[FallenItem, ...]:
        """Wait until something fell, and say what; nothing once it is closed."""
        async with self._waiting:
            try:
                while not self._is_closed:
                    if found := await self._workspace.run(lambda _: self._lookout.look(waits=True)):
                        return found
                    await self._rung()
            finally:
                if self._is_closed:
                    self._stop()
        return ()

    async def _rung(self) -> None:
        """Wait for a sign of a commit, or until it is time to look again."""
        if self._is_closed or self._lookout.listener is None:
            return
        loop, rung, files = asyncio.get_running_loop(), asyncio.Event(), self._lookout.listener.files
        for file in files:
            loop.add_reader(file, rung.set)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(rung.wait(), self._lookout.pause())
        finally:
            for file in files:
                loop.remove_reader(file)

    def close(self) -> None:
        """End it."""
        self._is_closed = True
        self._lookout.wake()
        if not self._waiting.locked():
            self._stop()

    def _stop(self) -> None:
        # After a look that goes on although the task that awaited it is gone.
        with suppress(StoreError):
            self._workspace._thread.submit(self._lookout.close)  # noqa: SLF001 - of this module


class _Opening:
    """``await`` it, or use ``async with``, which closes the workspace at the end."""

    def __init__(self, open_: Callable[[], Workspace]) -> None:
        self._open = open_

    def __await__(self) -> Generator[Any, None, AsyncWorkspace]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncWorkspace:
        self._workspace = await self
        return self._workspace

    async def __aexit__(self, *_: object) -> None:
        await self._workspace.close()

    async def _opened(self) -> AsyncWorkspace:
        thread = OwnThread()

        def undo(opening: Future[Workspace]) -> None:
            thread.submit(lambda: opening.result().close())

        try:
            return AsyncWorkspace(thread, await thread.call(self._open, undo=undo))
        except BaseException:
            thread.stop()
            raise


def _opens(open_: Callable[P, Workspace]) -> Callable[P, _Opening]:
    @wraps(open_)
    def opening(*args: P.args, **kwargs: P.kwargs) -> _Opening:
        return _Opening(partial(open_, *args, **kwargs))

    return opening


class AsyncWorkspace(_OnThread[Workspace]):
    """A team's log, as ``Workspace``, with verbs that are awaited. For one event loop; its tasks may share it.

    A cancelled verb has taken effect completely or not at all: repeat it under the same ``id`` to be sure. ``run``
    covers everything without a verb here: it calls a function with the ``Workspace`` itself, on its thread.
    """

    open = staticmethod(_opens(Workspace.open))

    async def close(self) -> None:
        """Close the workspace after all started calls. Closing twice is harmless."""
        if self._thread.is_stopped:
            return
        async with InTurn(self._thread):
            await self._thread.finish(self._twin.close, last=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def name(self) -> str:
        return self._twin.name

    async def epoch(self) -> int:
        """The position of the last committed event."""
        return await self.run(lambda twin: twin.epoch)

    async def policy(self) -> Policy:
        """The policy in force."""
        return await self.run(lambda twin: twin.policy)

    def batch(self) -> AbstractAsyncContextManager[None]:
        """Several events, one durable commit: all of them or none. Other tasks' verbs wait until it is over."""
        return BatchOnThread(self._thread, self._twin.batch)

    def act(self) -> AbstractAsyncContextManager[None]:
        """Several events that are one act, as ``Workspace.act``."""
        return BatchOnThread(self._thread, self._twin.act)

    def principal(self, name: str, *, signer: Signer | str | Path | None = None) -> Self:
        """A handle that writes as one principal, as ``Workspace.principal``."""
        return type(self)(self._thread, self._twin.principal(name, signer=signer))

    def as_owner(self, *, signer: Signer | str | Path | None = None) -> Self:
        """A handle that writes as ``owner``, as ``Workspace.as_owner``."""
        return type(self)(self._thread, self._twin.as_owner(signer=signer))

    def as_readmit(self) -> Self:
        """A handle that writes as ``readmit``, as ``Workspace.as_readmit``."""
        return type(self)(self._thread, self._twin.as_readmit())

    def agent(self, principal: str, *, role: str, task: str) -> AsyncAgent:
        """A handle for one principal in one role on one task."""
        return AsyncAgent(self._thread, self._twin.agent(principal, role=role, task=task))

    def subscribe(self, agent: AsyncAgent, *, every: float = AT_LEAST) -> AsyncSubscription:
        """Learn at once when an item of the view that an agent holds no longer stands, as ``Workspace.subscribe``."""
        return AsyncSubscription(self, agent.identity, every=every)

    async def doctor(self, agent: AsyncAgent | None = None) -> Checkup:
        """What would keep agents from coming back well, as ``Workspace.doctor``."""
        twin = None if agent is None else agent._twin  # noqa: SLF001 - of this module
        return await self.run(Workspace.doctor, twin)

    async def look(self, agent: AsyncAgent, *, purpose: str | None = None) -> Looked | None:
        """Look at the sources behind the return of an agent that is away, as ``Workspace.look``."""
        return await self.run(Workspace.look, agent._twin, purpose=purpose)  # noqa: SLF001 - of this module

    backup = _same(Workspace.backup)
    sweep = _same(Workspace.sweep)
    observe = _same(Workspace.observe)
    observe_many = _same(Workspace.observe_many)
    observe_file = _same(Workspace.observe_file)
    observe_git = _same(Workspace.observe_git)
    observe_http = _same(Workspace.observe_http)
    observe_sql = _same(Workspace.observe_sql)
    observe_command = _same(Workspace.observe_command)
    observe_call = _same(Workspace.observe_call)
    observe_mcp = _same(Workspace.observe_mcp)
    record = _same(Workspace.record)
    oblige = _same(Workspace.oblige)
    progress = _same(Workspace.progress)
    append = _same(Workspace.append)
    supersede = _same(Workspace.supersede)
    revoke = _same(Workspace.revoke)
    close_validity = _same(Workspace.close_validity)
    settle = _same(Workspace.settle)
    reassign = _same(Workspace.reassign)
    dispute = _same(Workspace.dispute)
    resolve = _same(Workspace.resolve)
    suspect = _same(Workspace.suspect)
    judge = _same(Workspace.judge)
    link = _same(Workspace.link)
    confirm = _same(Workspace.confirm)
    overrule = _same(Workspace.overrule)
    govern = _same(Workspace.govern)
    approve = _same(Workspace.approve)
    void = _same(Workspace.void)
    decline = _same(Workspace.decline)
    waiting = _same(Workspace.waiting)
    notices = _same(Workspace.notices)
    expose = _same(Workspace.expose)
    expose_retractions = _same(Workspace.expose_retractions)
    acknowledge = _same(Workspace.acknowledge)
    explain = _same(Workspace.explain)
    lacking = _same(Workspace.lacking)
    why = _same(Workspace.why)
    decision = _same(Workspace.decision)
    dispositions = _same(Workspace.dispositions)
    drafts = _same(Workspace.drafts)
    replay = _same(Workspace.replay)
    now = _same(Workspace.now)
    moment = _same(Workspace.moment)

"""A thread of a workspace's own, and the turns that tasks take on it.

A transaction belongs to the thread that opened it, so every call on a workspace runs on one thread, in the order in
which it was handed over. That order is what makes cancellation safe: a call that was cancelled has not begun and never
will, or it ends before anything that comes after it begins.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from readmit.records.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from contextlib import AbstractContextManager
    from types import TracebackType

T = TypeVar("T")


class OwnThread:
    """One thread, which the event loop awaits."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="readmit")
        self.turn = CallTurn(None)
        self.is_stopped = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Hand a call over. It runs after those before it."""
        try:
            return self._pool.submit(call)
        except RuntimeError:
            raise StoreError("the workspace is closed: open it again") from None

    async def call(self, call: Callable[[], T], *, undo: Callable[[Future[T]], object] | None = None) -> T:
        """Await a call. Cancelled, one that has not begun is dropped; one that has runs on, and ``undo`` gets it."""
        running = self.submit(call)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            if not running.cancel() and undo is not None:
                undo(running)
            raise

    async def finish(self, call: Callable[[], T], *, last: bool = False) -> T:
        """Await a call that runs in any case, also if the task that awaits it is cancelled."""
        running = self.submit(call)
        if last:
            self.stop()
        return await asyncio.shield(asyncio.wrap_future(running))

    def stop(self) -> None:
        """Take no more calls. Those that were handed over still run."""
        self.is_stopped = True
        self._pool.shutdown(wait=False)

    def current_turn(self) -> CallTurn:
        """The turn that the running task shares: that of the innermost batch it is in, or everybody's."""
        turn = _TURNS.get().get(self, self.turn)
        while turn.is_over and turn.outer is not None:
            turn = turn.outer
        return turn


class CallTurn:
    """Who may call now. A batch holds the turn it began in, and has one of its own for what runs inside it."""

    def __init__(self, outer: CallTurn | None) -> None:
        self.outer = outer
        self.lock = asyncio.Lock()
        self.is_over = False


# By thread, the turn of the batch that a task is in. Tasks that it starts inherit it. A turn that is over is passed
# over, so that nothing has to be taken back here, wherever a batch ends.
_TURNS: ContextVar[Mapping[OwnThread, CallTurn]] = ContextVar("readmit_turns", default=MappingProxyType({}))


class InTurn:
    """``async with``: it is this task's turn."""

    def __init__(self, thread: OwnThread) -> None:
        self._thread = thread

    async def __aenter__(self) -> CallTurn:
        while True:
            self._turn = self._thread.current_turn()
            await self._turn.lock.acquire()
            if not self._turn.is_over:
                return self._turn
            # The batch that this task was waiting in has ended meanwhile.
            self._turn.lock.release()

    async def __aexit__(self, *_: object) -> None:
        self._turn.lock.release()


class BatchOnThread:
    """``async with``: calls inside are one transaction of the thread, and other tasks wait until it is over."""

    def __init__(self, thread: OwnThread, begin: Callable[[], AbstractContextManager[None]]) -> None:
        """``begin`` makes the context manager that is entered and left on the thread."""
        self._thread = thread
        self._begin = begin
        self._outside = InTurn(thread)

    async def __aenter__(self) -> None:
        self._turn = CallTurn(await self._outside.__aenter__())
        try:
            self._opened = await self._thread.call(self._enter, undo=self._leave_at_once)
        except BaseException:
            await self._outside.__aexit__()
            raise
        live = {thread: turn for thread, turn in _TURNS.get().items() if not turn.is_over}
        _TURNS.set({**live, self._thread: self._turn})

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # What tasks inside have begun belongs to the batch.
            async with self._turn.lock:
                self._turn.is_over = True
        except asyncio.CancelledError as cancelled:
            # Cancelled at the end of the block is cancelled in the block: nothing of it is kept.
            self._turn.is_over = True
            await self._close(cancelled)
            raise
        await self._close(error)

    async def _close(self, error: BaseException | None) -> None:
        opened = self._opened
        kind, trace = (None, None) if error is None else (type(error), error.__traceback__)
        try:
            await self._thread.finish(lambda: opened.__exit__(kind, error, trace))
        finally:
            await self._outside.__aexit__()

    def _enter(self) -> AbstractContextManager[None]:
        opened = self._begin()
        opened.__enter__()
        return opened

    def _leave_at_once(self, entering: Future[AbstractContextManager[None]]) -> None:
        """Undo a batch that was opened for a task which has gone."""

        def leave() -> None:
            if entering.exception() is None:
                gone = asyncio.CancelledError()
                entering.result().__exit__(type(gone), gone, None)

        self._thread.submit(leave)

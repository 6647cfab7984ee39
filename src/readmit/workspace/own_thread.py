"""A workspace's own thread, and the turns that tasks take on it.

A transaction belongs to the thread that opened it, so every call on a workspace runs on one thread, in the order in
which it was handed over. That order makes cancellation safe: a cancelled call either never begins, or ends before any
later call begins.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, TypeVar

from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

T = TypeVar("T")


class OwnThread:
    """One thread, which the event loop awaits."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="readmit")
        self.turn = CallTurn(None)
        self.is_stopped = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Queue a call. It runs after those before it."""
        try:
            return self._pool.submit(call)
        except RuntimeError:
            raise StoreError("the workspace is closed: open it again") from None

    async def call(self, call: Callable[[], T], *, undo: Callable[[Future[T]], object] | None = None) -> T:
        """Await a call. When cancelled, it is dropped if it has not begun; else it finishes, and ``undo`` gets it."""
        running = self.submit(call)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            if not running.cancel() and undo is not None:
                undo(running)
            raise

    async def finish(self, call: Callable[[], T], *, last: bool = False) -> T:
        """Await a call that runs even if the awaiting task is cancelled."""
        running = self.submit(call)
        if last:
            self.stop()
        return await asyncio.shield(asyncio.wrap_future(running))

    def stop(self) -> None:
        """Accept no more calls. Queued ones still run."""
        self.is_stopped = True
        self._pool.shutdown(wait=False)

    def current_turn(self) -> CallTurn:
        """The turn of the running task: that of its innermost batch, or the shared one."""
        turn = _TURNS.get().get(self, self.turn)
        while turn.is_over and turn.outer is not None:
            turn = turn.outer
        return turn


class CallTurn:
    """Decides who may call now. A batch holds the turn it began in, and has its own for calls inside it."""

    def __init__(self, outer: CallTurn | None) -> None:
        self.outer = outer
        self.lock = asyncio.Lock()
        self.is_over = False


# By thread, the turn of the batch that a task is in. Tasks that it starts inherit it. A finished turn is skipped, so
# nothing has to be reset here when a batch ends.
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
            # The batch in which this task waited has ended.
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
            # Calls that tasks began inside belong to the batch.
            async with self._turn.lock:
                self._turn.is_over = True
        except asyncio.CancelledError as cancelled:
            # Cancellation at the end of the block rolls the block back.
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
        """Undo a batch whose task is gone."""

        def leave() -> None:
            if entering.exception() is None:
                gone = asyncio.CancelledError()
                entering.result().__exit__(type(gone), gone, None)

        self._thread.submit(leave)

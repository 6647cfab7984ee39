"""Subscriptions over a server's stream: an agent that holds a view learns when one of its items no longer stands.

After a lost connection, what had fallen by then is said again.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Self

import msgspec

from readmit.presence.subscription import FallenItem
from readmit.remote.connection import AsyncServerConnection, ServerAddress, VerbCall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

logger = logging.getLogger("readmit")
_fallen = msgspec.json.Decoder(FallenItem).decode


async def _read(connection: AsyncServerConnection, call: VerbCall, report: Callable[[FallenItem], object]) -> None:
    """Report what falls until the server refuses the stream, or the task is cancelled."""
    async with aclosing(connection.events(call)) as events:
        async for event in events:
            if event.event == "fallen":
                report(_fallen(event.data))


class RemoteSubscription:
    """Iterate over it, or ``wait`` for the next items. Closing ends it, from any thread."""

    def __init__(
        self, to: ServerAddress, call: VerbCall, *, report: Callable[[FallenItem], object] | None = None
    ) -> None:
        """With ``report``, a thread of its own calls it for each item that fell."""
        self._found: queue.SimpleQueue[FallenItem | None] = queue.SimpleQueue()
        self._to, self._call = to, call
        self._report = self._found.put if report is None else report
        self._is_closed = False
        self._error: Exception | None = None
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None
        self._thread = threading.Thread(target=self._run, name="readmit-subscription", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[FallenItem]:
        while not self._is_closed:
            yield from self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> tuple[FallenItem, ...]:
        """Wait until something fell, and say what; nothing once it is closed, or after ``timeout`` seconds."""
        found: list[FallenItem | None] = []
        with suppress(queue.Empty):
            found.append(self._found.get(timeout=timeout))
            while found[-1] is not None:
                found.append(self._found.get_nowait())
        if None in found:
            # For others that wait, and for the next call.
            self._found.put(None)
            self._raise()
        return tuple(one for one in found if one is not None)

    def close(self) -> None:
        """End it. If ``report`` failed, or the server refused the stream, this raises that error."""
        self._is_closed = True
        if self._running is not None:
            loop, task = self._running
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(task.cancel)
        if self._thread is not threading.current_thread():
            self._thread.join()
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self) -> None:
        try:
            asyncio.run(self._until_closed())
        except asyncio.CancelledError:
            pass
        except Exception as error:
            logger.exception("a subscription ended")
            self._error = error
        self._is_closed = True
        self._found.put(None)

    async def _until_closed(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running = (asyncio.get_running_loop(), task)
        connection = AsyncServerConnection(self._to)
        try:
            if not self._is_closed:
                await _read(connection, self._call, self._report)
        finally:
            await connection.close()


class AsyncRemoteSubscription:
    """``async for`` over it: the items of an agent's view that fell. Leave the loop, or ``close`` it, to end it."""

    def __init__(self, connection: AsyncServerConnection, call: VerbCall) -> None:
        self._found: asyncio.Queue[FallenItem | None] = asyncio.Queue()
        self._reading = asyncio.ensure_future(_read(connection, call, self._found.put_nowait))
        self._reading.add_done_callback(lambda _: self._found.put_nowait(None))

    async def __aiter__(self) -> AsyncIterator[FallenItem]:
        try:
            while found := await self.wait():
                for one in found:
                    yield one
        finally:
            self.close()

    async def wait(self) -> tuple[FallenItem, ...]:
        """Wait until something fell, and say what; nothing once it is closed."""
        found = [await self._found.get()]
        while found[-1] is not None and not self._found.empty():
            found.append(self._found.get_nowait())
        if found[-1] is None:
            self._found.put_nowait(None)
            if not self._reading.cancelled():
                self._reading.result()
        return tuple(one for one in found if one is not None)

    def close(self) -> None:
        """End it."""
        self._reading.cancel()

"""Subscriptions: an agent that holds a view learns when one of its items no longer stands.

It learns the id of the item, which it holds, and the item's state, but not the cause. No event is written, and no
source is looked at.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Self

import msgspec

from readmit.records.acts.event import Close, EventKind, Overrule
from readmit.records.base import Id, shown
from readmit.records.decisions import Disposition
from readmit.records.error_types import RecordError, StoreError
from readmit.records.reasons import State
from readmit.rules.cycle import examine
from readmit.state.absence import last_absence
from readmit.state.load import current
from readmit.state.past_returns import recorded

if TYPE_CHECKING:
    from readmit.log.engines.listener import CommitListener
    from readmit.records.identity import Identity
    from readmit.records.snapshot import Snapshot
    from readmit.writing.writer import Writer

logger = logging.getLogger("readmit")

AT_LEAST = 30.0
"""Seconds after which the end of the log is read without an announced commit. It costs one index search."""
OUTAGE_SECONDS = 60.0
"""Most seconds that a subscription waits for a lost server."""
_AGAIN_SECONDS = 0.5
# Within a batch of its own thread, a subscription that is due sees nothing: it must not spin.
_SOONEST_SECONDS = 0.01
# Events after which every item stands as before.
_HARMLESS = frozenset(
    {EventKind.OBSERVE, EventKind.LEASE, EventKind.REMEMBER, EventKind.EXAMINE, EventKind.WAIT, EventKind.ACKNOWLEDGE}
)


class FallenItem(msgspec.Struct, frozen=True):
    """An item of the view that an agent holds, which no longer stands."""

    return_id: Id
    item: Id
    state: State
    """The one word that an agent may know about it: ``superseded``, ``expired``, …"""


class Judged(msgspec.Struct, frozen=True):
    """The items of an exposed view that no longer pass the gates, and the next moment at which time may end another."""

    rejected: Mapping[str, Disposition]
    next: datetime | None


def judge_view(writer: Writer, return_id: str) -> Judged:
    """Judge the items of an exposed view as if it were exposed now. The caller reads one state of the log."""
    log = writer.log
    returned, decision = recorded(log, return_id)
    view = decision.view
    items = () if view is None else tuple(one.id for one in view.items)
    state = current(log, returned.request, writer.now())
    rejected = examine(state, writer.policy()).gated.rejected
    return Judged({name: rejected[name] for name in items if name in rejected}, _next(state))


def _next(state: Snapshot) -> datetime | None:
    """The next moment at which an item or event starts or stops to count."""
    moments: list[datetime | None] = []
    for held in (*state.state.held.values(), *state.background.held.values()):
        moments += (held.item.valid.start, held.item.valid.end)
        for event in held.marks:
            moments.append(event.effective)
            if isinstance(event.payload, Close):
                moments.append(event.payload.end)
            elif isinstance(event.payload, Overrule):
                moments.append(event.payload.expires)
    return min((one for one in moments if one is not None and one > state.now), default=None)


class View:
    """The view that an agent holds now, and which of its items are known to have fallen."""

    def __init__(self, writer: Writer, identity: Identity) -> None:
        writer.author.acts_for(identity.principal)
        self._writer = writer
        self._identity = identity
        self._read = 0
        self._held = ""
        self._fallen: frozenset[str] = frozenset()
        self._next: datetime | None = None

    def look(self) -> tuple[FallenItem, ...]:
        """Items that fell since the last look; at first, all that fell. If nothing is new, it costs one search."""
        log = self._writer.log
        if log.pending:
            # What a batch has written may still be undone.
            return ()
        # One transaction: on a server, each one more takes two round trips.
        with log.reading():
            return self._look()

    def _look(self) -> tuple[FallenItem, ...]:
        log = self._writer.log
        head, due = log.head, self._next is not None and self._writer.now() >= self._next
        news = () if head == self._read else log.tail(since=self._read, until=head)
        if not due and all(event.kind in _HARMLESS for event in news):
            self._read = head
            return ()
        held = self._return_id()
        if held != self._held:
            self._held, self._fallen = held, frozenset()
        judged = judge_view(self._writer, held) if held else Judged({}, None)
        new = tuple(
            FallenItem(held, name, one.state) for name, one in judged.rejected.items() if name not in self._fallen
        )
        # Only now: a look that failed starts over.
        self._read, self._fallen, self._next = head, frozenset(judged.rejected), judged.next
        return new

    def left(self) -> float:
        """The seconds until time alone may end an item."""
        return inf if self._next is None else (self._next - self._writer.clock()).total_seconds()

    def _return_id(self) -> str:
        """The return whose view the agent works with; empty while it is away, and after a reset."""
        log = self._writer.log
        absence = last_absence(log, self._identity)
        if absence is None or absence.end is None or absence.started_anew:
            return ""
        # The view of another role is not for this one.
        return absence.end.name if log.returned(absence.end.name).request.identity == self._identity else ""


class Lookout:
    """Looks at a view, and says for how long nothing has to be looked at unless a commit is announced."""

    def __init__(self, writer: Writer, identity: Identity, every: float) -> None:
        self._view = View(writer, identity)
        self._log = writer.log
        self._every = interval(every)
        self._lost: float | None = None
        self.listener: CommitListener | None = None

    def look(self, *, waits: bool) -> tuple[FallenItem, ...]:
        """Items that fell since the last look. If the caller ``waits``, commits are announced from before it looks.

        Then a server that went away is waited for, as one that restarts is.
        """
        try:
            if waits:
                self.listener = self.listener or self._log.listen()
                self.listener.renew()
            found = self._view.look()
        except StoreError:
            if not (waits and self._went_away()):
                raise
            return ()
        self._lost = None
        return found

    def _went_away(self) -> bool:
        if self.listener is None:
            return False
        if not self.listener.is_lost:
            # The server may have gone away between the two.
            try:
                self.listener.renew()
            except StoreError:
                pass
            else:
                return False
        self._lost = self._lost or time.monotonic()
        return self.listener.is_lost and time.monotonic() < self._lost + OUTAGE_SECONDS

    def pause(self) -> float:
        """The most seconds until the next look."""
        longest = _AGAIN_SECONDS if self._lost is not None or self.listener is None else self.listener.patience
        return max(_SOONEST_SECONDS, min(self._every, longest, self._view.left()))

    async def announced(self) -> None:
        """Await a sign of a commit, or the time to look again, in an event loop."""
        # Imported here: programs without an event loop need none of it.
        import asyncio

        if self.listener is None:
            return
        loop, rung, files = asyncio.get_running_loop(), asyncio.Event(), self.listener.files
        for file in files:
            loop.add_reader(file, rung.set)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(rung.wait(), self.pause())
        finally:
            for file in files:
                loop.remove_reader(file)

    def wake(self) -> None:
        """End a wait, from any thread."""
        if self.listener is not None:
            self.listener.wake()

    def close(self) -> None:
        """Stop listening, and end every wait."""
        if self.listener is not None:
            self.listener.close()


class Subscription:
    """Iterate over it, or ``wait`` for the next items. Closing ends it, from any thread."""

    def __init__(
        self,
        writer: Writer,
        identity: Identity,
        *,
        report: Callable[[FallenItem], object] | None = None,
        every: float = AT_LEAST,
    ) -> None:
        """With ``report``, a thread of its own calls it for each item that fell."""
        self._lookout = Lookout(writer, identity, every)
        self._waiting = threading.RLock()
        self._closed = threading.Event()
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None
        if report is not None:
            self._thread = threading.Thread(target=self._run, args=(report,), name="readmit-subscription", daemon=True)
            self._thread.start()

    def __iter__(self) -> Iterator[FallenItem]:
        while not self._closed.is_set():
            yield from self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> tuple[FallenItem, ...]:
        """Wait until something fell, and say what; nothing once it is closed, or after ``timeout`` seconds."""
        end = inf if timeout is None else time.monotonic() + timeout
        with self._waiting:
            while not self._closed.is_set():
                left = end - time.monotonic()
                if (found := self._lookout.look(waits=left > 0)) or left <= 0:
                    return found
                if (listener := self._lookout.listener) is not None and not self._closed.is_set():
                    listener.wait(min(self._lookout.pause(), left))
        return ()

    def close(self) -> None:
        """End it. If ``report`` failed, or the store did, this raises that error."""
        self._closed.set()
        self._lookout.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._waiting:
            self._lookout.close()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self, report: Callable[[FallenItem], object]) -> None:
        try:
            for one in self:
                report(one)
        except Exception as error:
            logger.exception("a subscription ended")
            self._error = error


def interval(every: object) -> float:
    """A number of seconds between two looks."""
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 < every <= 3_600:  # noqa: PLR2004
        raise RecordError(f"every: {shown(every)} is not an interval; give seconds, from above 0 to 3600")
    return float(every)

"""Subscriptions: an agent that holds a view learns when one of its items no longer stands.

It learns the item, which it holds, and the item's state; nothing of what took it out. Nothing is written, and no source
is looked at.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from readmit.cycle import examine
from readmit.ports.presence import last_absence
from readmit.records.base import Id, shown
from readmit.records.decisions import Disposition
from readmit.records.errors import RecordError
from readmit.records.events import Close, EventKind, Overrule
from readmit.records.reasons import State
from readmit.workspace.loading import current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from readmit.records.identity import Identity
    from readmit.records.snapshot import Snapshot
    from readmit.workspace.workspace import Workspace

logger = logging.getLogger("readmit")

OFTEN = 0.05
"""Seconds between two looks at the end of the log, which cost one index search."""
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


def judge_view(workspace: Workspace, return_id: str) -> Judged:
    """Judge the items of an exposed view as if it were exposed now."""
    view, log = workspace.decision(return_id).view, workspace.log
    items = () if view is None else tuple(one.id for one in view.items)
    with log.reading():
        state = current(log, log.returned(return_id).request, workspace.moment())
        rejected = examine(state, workspace.policy).gated.rejected
    return Judged({name: rejected[name] for name in items if name in rejected}, _next(state))


def _next(state: Snapshot) -> datetime | None:
    """The next moment at which something begins or ends by itself."""
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

    def __init__(self, workspace: Workspace, identity: Identity) -> None:
        workspace.writer.acts_for(identity.principal)
        self._workspace = workspace
        self._identity = identity
        self._read = 0
        self._held = ""
        self._fallen: frozenset[str] = frozenset()
        self._next: datetime | None = None

    def look(self) -> tuple[FallenItem, ...]:
        """What fell since the last look; at first, what has fallen already. If nothing is new, it costs one search."""
        space, log = self._workspace, self._workspace.log
        if log.pending:
            # What a batch has written may still be undone.
            return ()
        head, due = log.head, self._next is not None and space.moment() >= self._next
        news = () if head == self._read else log.tail(since=self._read, until=head)
        if not due and all(event.kind in _HARMLESS for event in news):
            self._read = head
            return ()
        held = self._return_id()
        if held != self._held:
            self._held, self._fallen = held, frozenset()
        judged = judge_view(space, held) if held else Judged({}, None)
        new = tuple(
            FallenItem(held, name, one.state) for name, one in judged.rejected.items() if name not in self._fallen
        )
        # Only now: a look that failed starts over.
        self._read, self._fallen, self._next = head, frozenset(judged.rejected), judged.next
        return new

    def _return_id(self) -> str:
        """The return whose view the agent works with; empty while it is away, and after a reset."""
        log = self._workspace.log
        absence = last_absence(log, self._identity)
        if absence is None or absence.end is None or absence.started_anew:
            return ""
        # The view of another role is not for this one.
        return absence.end.name if log.returned(absence.end.name).request.identity == self._identity else ""


class Subscription:
    """Iterate over it, or ``wait`` for the next items. Closing ends it, from any thread."""

    def __init__(
        self,
        workspace: Workspace,
        identity: Identity,
        *,
        report: Callable[[FallenItem], object] | None = None,
        every: float = OFTEN,
    ) -> None:
        """With ``report``, a thread of its own calls it for each item that fell."""
        self._view = View(workspace, identity)
        self._every = interval(every)
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
        left = None if timeout is None else timeout
        while not self._closed.is_set():
            if found := self._view.look():
                return found
            if left is not None and left <= 0:
                break
            self._closed.wait(self._every if left is None else min(self._every, left))
            left = None if left is None else left - self._every
        return ()

    def close(self) -> None:
        """End it. If ``report`` failed, or the store did, this raises what it failed with."""
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
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

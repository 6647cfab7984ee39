"""One connection, many threads: one of them writes at a time, and those that write at once share a durable commit.

A writer that is done while others wait for their turn leaves its transaction open. The next one goes on in it, within a
savepoint, so that its failure undoes its own work alone. The last one signs and commits for all, and only then does the
call of each of them return.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any

from readmit.log.engines.sql import NOTHING, Changes, End, Level, Question, Watcher
from readmit.records.error_types import ReadmitError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


PATIENCE_SECONDS = 0.25
"""How long a writer waits for another one to commit its work, before it does so itself."""


class Group:
    """The writers whose work waits in one open transaction."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self._error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Record the error that ended the transaction: none of its work is known to be durable."""
        self._error = error
        self.done.set()

    def check(self) -> None:
        """Raise the error of the shared transaction in the call of one writer."""
        error = self._error
        if isinstance(error, ReadmitError):
            raise type(error)(*error.args) from error
        if error is not None:
            raise StoreError(
                f"storage failed: the commit that this was part of was interrupted ({error!r}); "
                "repeat it with the same ids, which writes nothing twice"
            ) from error


class SharedConnection(ABC):
    """The turns of threads on one connection, and finished work that waits for the next commit."""

    def __init__(self) -> None:
        # Held for a whole transaction: a connection is one actor, however many threads share it.
        self.lock = threading.RLock()
        self.changes = Changes()
        self.turn = 0
        self._depth = 0
        self._reads = False
        self._owner = 0
        self._end_of_log: End | None = None
        # Weak: a reference cycle would keep an unused store open.
        self._watcher: Callable[[], Watcher | None] = lambda: None
        self._group: Group | None = None
        self._counting = threading.Lock()
        self._waiting = 0
        """How many threads wait to write something short."""

    def watch(self, watcher: Watcher) -> None:
        """Let something take part in every transaction."""
        self._watcher = weakref.ref(watcher)

    @property
    def pending(self) -> bool:
        """Whether a transaction of this thread is open, with nothing durable yet."""
        return self._owner == get_ident()

    @property
    def end_of_log(self) -> End | None:
        """The end of the log within this thread's transaction, if it moved."""
        return self._end_of_log if self._owner == get_ident() else None

    @end_of_log.setter
    def end_of_log(self, end: End | None) -> None:
        self._end_of_log = end

    def atomic(self, *, short: bool = False, ask: Question | None = None) -> Transaction:
        """All or nothing. A nested call rolls back alone; nothing is durable before the outermost level commits."""
        return Transaction(self, short=short, ask=ask)

    def reading(self) -> AbstractContextManager[Any]:
        """Several reads of one consistent state."""
        # Within a transaction of this thread, every read is of one state.
        return self.lock if self._owner == get_ident() else self._one_state()

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        with self.lock:
            if self._depth or self._reads:
                yield
                return
            self._commit_group()
            self._begin_reading()
            self._reads = True
            try:
                yield
            finally:
                self._reads = False
                self._end_reading()

    @abstractmethod
    def _begin_reading(self) -> None:
        """Begin a transaction that only reads."""

    @abstractmethod
    def _end_reading(self) -> None:
        """End a transaction that only read."""

    @abstractmethod
    def begin(self, *, short: bool = False, ask: Question | None = None) -> Level:
        """Begin a transaction, or a level within this thread's."""

    @abstractmethod
    def end(self, opened: Level, *, undo: bool) -> None:
        """End a level. The outermost one commits, or leaves that to the next writer."""

    def explain(self, error: BaseException | None) -> None:  # noqa: B027 - an engine may do so where it sends a statement
        """Raise an error of the engine's library as the store's."""

    def copies(self) -> tuple[str, ...]:
        """Copies of the store that are known here. Those of a server are made by its own tools."""
        return ()

    def compact(self) -> str:
        """Take erased rows out of the store's files. Returns where they may still be, in words; empty for nowhere."""
        with self.lock:
            if self._depth:
                raise StoreError("erased rows are taken out of the files after the batch; end it first")
            self._commit_group()
            return self._compact()

    @abstractmethod
    def _compact(self) -> str:
        """Rewrite the files. No transaction is open."""

    @abstractmethod
    def _commit(self) -> None:
        """Sign and commit the open transaction, and tell the group. If that fails, roll it back."""

    def _acquire(self, *, short: bool) -> None:
        """Wait for this thread's turn."""
        if not short or self.pending:
            self.lock.acquire()
            return
        with self._counting:
            self._waiting += 1
        try:
            self.lock.acquire()
        finally:
            with self._counting:
                self._waiting -= 1

    def _join(self) -> Group | None:
        """The group to leave finished work to; none if no thread waits that could commit it."""
        if not self._waiting:
            return None
        if self._group is None:
            self._group = Group()
        return self._group

    def _close_turn(self) -> None:
        """End this thread's turn. If the work of others waits and no other thread comes to commit it, commit it now."""
        self._owner = 0
        if self._group is None:
            self._end_of_log = None
            self.changes.undo(NOTHING)
        elif not self._waiting:
            self._commit_group()

    def _commit_group(self) -> None:
        """Commit the work of writers that are done. If that fails, the call of each of them raises."""
        if self._group is None:
            return
        # As within a transaction of this thread, which it is now.
        depth, self._depth, self._owner = self._depth, 1, get_ident()
        try:
            with suppress(Exception):
                self._commit()
        finally:
            self._depth = depth
            self._close_turn()

    def _wait_for(self, group: Group) -> None:
        """Return once the group's work is durable. The thread that was to commit it may have been interrupted."""
        while not group.done.wait(PATIENCE_SECONDS):
            with self.lock:
                if self._group is group:
                    self._commit_group()
        group.check()


class Transaction:
    """One level of a transaction. A class, not a generator: it is entered once per event."""

    __slots__ = ("_ask", "_connection", "_level")

    def __init__(self, connection: SharedConnection, *, short: bool, ask: Question | None = None) -> None:
        self._connection = connection
        self._ask = ask
        self._level = Level(0, None, NOTHING, short)

    def __enter__(self) -> None:
        self._level = self._connection.begin(short=self._level.short, ask=self._ask)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._connection.end(self._level, undo=kind is not None)
        self._connection.explain(error)

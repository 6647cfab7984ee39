"""One SQLite connection: durable commits, one writer at a time, transactions that nest."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.records.errors import StoreError
from readmit.store.backfill import fill
from readmit.store.schema import migrate, recognize
from readmit.store.sql import ENROLL, FIND, MOVE, Level, flush, genesis, moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from readmit.store.gathered import Gathered
    from readmit.store.sql import End

BUSY_SECONDS = 30.0
BUSY_PAUSE_SECONDS = 0.01
PRIVATE = 0o600
_NOT_FILES = ("", ":memory:")


class SqliteStatements(sqlite3.Connection):
    """Runs statements, after writing the buffered observations."""

    lock: AbstractContextManager[Any]
    waiting: Gathered | None = None

    def execute(self, query: str, values: Any = (), /) -> sqlite3.Cursor:
        if self.waiting is not None:
            self._flush()
        try:
            return super().execute(query, values)
        except sqlite3.ProgrammingError as error:
            if "closed" not in str(error):
                raise
            raise StoreError("storage failed: this store is closed; open it again") from None

    def executemany(self, query: str, rows: Iterable[Any], /) -> sqlite3.Cursor:
        if self.waiting is not None:
            self._flush()
        return super().executemany(query, rows)

    # Read once per observation of a batch, so this avoids another call.
    ahead = sqlite3.Connection.execute

    def _flush(self) -> None:
        # Other threads block here until the transaction ends.
        with self.lock:
            flush(self)


class SqliteConnection:
    """A database file (or ``:memory:``).

    ``synchronous=FULL`` in WAL mode: a commit that returned is on disk.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        # Held for a whole transaction: a connection is one actor, however many threads share it.
        self.lock = threading.RLock()
        self._depth = 0
        self._ws = 0
        self.end_of_log: End | None = None
        try:
            if self.path not in _NOT_FILES:
                _create_private(self.path)
            self.sql = SqliteStatements(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self.sql.lock = self.lock
            # Closes a workspace that was garbage-collected without close().
            self._closing = weakref.finalize(self, self.sql.close)
            recognize(self.sql)
            _log_ahead(self.sql)
            self.sql.execute("PRAGMA synchronous = FULL")
            self.sql.execute("PRAGMA cache_size = -65536")
            migrate(self.sql, fill)
        except (sqlite3.Error, OSError) as error:
            folder = Path(self.path).parent
            lacking = not folder.is_dir()
            said = error.strerror if isinstance(error, OSError) else str(error)
            why = f"the folder {folder} does not exist; make it with `mkdir -p {folder}`" if lacking else said
            raise StoreError(f"cannot open {self.path}: {why}") from error

    def enroll(self, workspace: str) -> int:
        """The number of a workspace, assigned when it is first opened."""
        row = self.sql.execute(FIND, (workspace,)).fetchone()
        if row is None:
            with self.atomic():
                start = genesis(workspace)
                self.sql.execute(ENROLL, (workspace, start, start))
            row = self.sql.execute(FIND, (workspace,)).fetchone()
        self._ws = int(row[0])
        return self._ws

    @property
    def pending(self) -> bool:
        """Whether a transaction is open, with nothing durable yet."""
        return self._depth > 0

    def atomic(self) -> SqliteTransaction:
        """All or nothing. A nested call rolls back alone; nothing is durable before the outermost level commits."""
        return SqliteTransaction(self)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one consistent state."""
        with self.lock, _wrapped():
            if self._depth:
                yield
                return
            self.sql.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                self.sql.execute("ROLLBACK")

    def begin(self) -> Level:
        """Open a transaction, or a level within one."""
        self.lock.acquire()
        level = self._depth
        try:
            self.sql.execute(f"SAVEPOINT level{level}" if level else "BEGIN IMMEDIATE")
        except BaseException as error:
            self.lock.release()
            if isinstance(error, sqlite3.Error):
                raise _failed(error) from error
            raise
        self._depth = level + 1
        return Level(level, self.end_of_log)

    def end(self, opened: Level, *, undo: bool) -> None:
        """Close a level: keep its writes, or roll them back."""
        level, before = opened
        try:
            if undo:
                self._undo(level)
            else:
                self._keep(level)
        except BaseException as error:
            if not undo:
                undo = True
                self._undo(level)
            if isinstance(error, sqlite3.Error):
                raise _failed(error) from error
            raise
        finally:
            if undo or not level:
                self.end_of_log = before
            self._depth = level
            self.lock.release()

    def _keep(self, level: int) -> None:
        if level:
            self.sql.execute(f"RELEASE level{level}")
            return
        if self.end_of_log is not None:
            self.sql.execute(MOVE, moves(self.end_of_log, self._ws))
        self.sql.execute("COMMIT")

    def _undo(self, level: int) -> None:
        self.sql.waiting = None
        # The database may have rolled everything back itself (disk full, interrupted).
        if self.sql.in_transaction:
            self.sql.execute(f"ROLLBACK TO level{level}" if level else "ROLLBACK")

    def close(self) -> None:
        with self.lock:
            self._closing()


class SqliteTransaction:
    """One level of a transaction. A class, not a generator: it is entered once per event."""

    __slots__ = ("_connection", "_level")

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._level = Level(0, None)

    def __enter__(self) -> None:
        self._level = self._connection.begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._connection.end(self._level, undo=kind is not None)
        if isinstance(error, sqlite3.Error):
            raise _failed(error) from error


def _create_private(path: str) -> None:
    """Create a missing file for its owner alone. SQLite gives the files beside it the same mode."""
    # SQLite creates what a dangling link points to; O_EXCL would refuse the link.
    real = Path(os.path.realpath(path))
    if real.exists():
        return
    try:
        file = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    except FileExistsError:  # another process was faster
        return
    try:
        os.fchmod(file, PRIVATE)  # the umask may have taken even the owner's rights
    finally:
        os.close(file)


def _log_ahead(sql: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite does not wait here for another connection that is switching the same file."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            sql.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(BUSY_PAUSE_SECONDS)
        else:
            return


def _failed(error: sqlite3.Error) -> StoreError:
    return StoreError(f"storage failed: {error}")


@contextmanager
def _wrapped() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _failed(error) from error

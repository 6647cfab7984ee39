"""One SQLite connection: durable commits, one writer at a time, transactions that nest."""

from __future__ import annotations

import sqlite3
import time
import weakref
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

from readmit.log.backup import copies_beside, copy
from readmit.log.engines.listener import Doorbell
from readmit.log.engines.locks import BesideFile, InProcess, Locks
from readmit.log.engines.shared_commit import Group, SharedConnection
from readmit.log.engines.sql import ENROLL, FIND, FoundRows, Level, Question, Rows, flush
from readmit.log.engines.sqlite_files import OpenFiles, create_private, identity_of, unopened
from readmit.log.engines.sqlite_schema import check, flaws_of, guard, is_made, make, store_id
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from readmit.log.log_end import Gathered

BUSY_SECONDS = 30.0
BUSY_PAUSE_SECONDS = 0.01
_NOT_FILES = ("", ":memory:")
_EXECUTE = sqlite3.Connection.execute


class SqliteStatements(sqlite3.Connection):
    """Runs statements one at a time, after writing the buffered observations.

    A statement waits while another thread's transaction is open, and its rows are fetched before the next one runs:
    threads that share a connection share its prepared statements too, and a cursor that one of them reads later would
    return the rows of another.
    """

    lock: AbstractContextManager[Any]
    waiting: Gathered | None = None
    place = ""
    is_within = False
    """Whether a transaction was begun and not ended."""
    commit_group: Callable[[], None] | None = None
    """Commits the work of writers that are done; none while there is none, or a writer goes on in their transaction."""

    def execute(self, query: str, values: Any = (), /) -> Rows:  # type: ignore[override]
        with self.lock:
            self._prepare()
            try:
                done = _EXECUTE(self, query, values)
                return done if done.description is None else FoundRows(done)
            except sqlite3.Error as error:
                raise failure(error, self.place) from error

    def executemany(self, query: str, rows: Iterable[Any], /) -> sqlite3.Cursor:
        with self.lock:
            self._prepare()
            try:
                return super().executemany(query, rows)
            except sqlite3.Error as error:
                raise failure(error, self.place) from error

    def _prepare(self) -> None:
        if self.commit_group is not None:
            self.commit_group()
        if self.waiting is not None:
            flush(self)
        if self.is_within and not self.in_transaction:
            raise _rolled_back()

    # Read once per observation of a batch, so this avoids another call. The batch holds the lock.
    ahead = _EXECUTE


class SqliteConnection(SharedConnection):
    """A database file (or ``:memory:``).

    ``synchronous=FULL`` in WAL mode: a commit that returned is on disk.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = str(path)
        self._files: OpenFiles | None = None
        is_file = self.path not in _NOT_FILES
        self.locks = Locks(BesideFile(self.path) if is_file else InProcess())
        try:
            if is_file:
                create_private(self.path)
            before = identity_of(self.path)
            self.sql = SqliteStatements(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self.sql.lock, self.sql.place = self.lock, self.path
            # Closes a workspace that was garbage-collected without close().
            self._closing = weakref.finalize(self, self.sql.close)
            is_made(self.sql)
            _log_ahead(self.sql)
            self.sql.execute("PRAGMA synchronous = FULL")
            self.sql.execute("PRAGMA cache_size = -65536")
            make(self.sql)
            check(self.schema_flaws())
            self.store_id = store_id(self.sql)
            if is_file:
                self._files = OpenFiles(self.path)
        except (sqlite3.Error, OSError, StoreError) as error:
            raise unopened(self.path, error) from error
        if self._files is not None and self._files.identity != before:
            raise StoreError(f"cannot open {self.path}: it was replaced while it was being opened; open it again")
        self.bell = Doorbell("" if self._files is None else self._files.log_path)

    places = ()
    server_now = None
    """A file has no clock but its host's."""

    def schema_flaws(self) -> list[str]:
        """Differences of the database from the schema that readmit made."""
        return flaws_of(self.sql)

    def enroll(self, workspace: str) -> int:
        """The number of a workspace, assigned when it is first opened."""
        row = self.sql.execute(FIND, (workspace,)).fetchone()
        if row is None:
            with self.atomic():
                self.sql.execute(ENROLL, (workspace,))
            row = self.sql.execute(FIND, (workspace,)).fetchone()
        return int(row[0])

    def _begin_reading(self) -> None:
        self._begin("BEGIN DEFERRED")

    def _end_reading(self) -> None:
        if self.sql.in_transaction:
            self.sql.execute("ROLLBACK")

    def begin(self, *, short: bool = False, ask: Question | None = None) -> Level:  # noqa: ARG002
        """Open a transaction, or a level within one. A short one may share a commit with others."""
        self._acquire(short=short)
        level = self._depth
        try:
            if level:
                self.sql.execute(f"SAVEPOINT level{level}")
            else:
                self._open(short=short)
        except BaseException:
            self.lock.release()
            raise
        self._depth, self._owner, self.sql.is_within = level + 1, get_ident(), True
        return Level(level, self._end_of_log, self.changes.mark(), short)

    def _open(self, *, short: bool) -> None:
        """Begin a transaction, or go on in the one in which the work of others waits."""
        if not short:
            self._commit_group()
        if self._group is None:
            if self._files is not None:
                self._files.check_before(self._read_log)
            self._begin("BEGIN IMMEDIATE")
            return
        commit_group, self.sql.commit_group = self.sql.commit_group, None
        try:
            self.sql.execute("SAVEPOINT level0")
        except BaseException:
            self.sql.commit_group = commit_group
            raise
        self.turn += 1

    def _begin(self, statement: str) -> None:
        if (watcher := self._watcher()) is not None:
            watcher.opening()
        self.sql.execute(statement)
        self.turn += 1

    def explain(self, error: BaseException | None) -> None:
        """Raise SQLite's error as the store's, with what to do about it."""
        if isinstance(error, sqlite3.Error):
            raise failure(error, self.path) from error

    def end(self, opened: Level, *, undo: bool) -> None:
        """Close a level: keep its writes, or roll them back."""
        level, before, mark, short = opened
        group = None
        try:
            if undo:
                self._undo(level)
            else:
                group = self._keep(level, short=short)
        except BaseException:
            if not undo:
                undo = True
                self._undo(level)
            raise
        finally:
            if undo:
                self._end_of_log = before
                self.changes.undo(mark)
            if not level:
                self._close_turn()
            self._depth = level
            self.lock.release()
        if group is not None:
            self._wait_for(group)

    def _keep(self, level: int, *, short: bool) -> Group | None:
        """Keep the writes of a level. Returns the group in which they wait, if another writer is to commit them."""
        flush(self.sql)
        if level:
            self.sql.execute(f"RELEASE level{level}")
            return None
        joined = self._group is not None
        if short and (group := self._join()) is not None:
            if joined:
                self.sql.execute("RELEASE level0")
            return group
        self._commit()
        return None

    def _commit(self) -> None:
        group, self._group = self._group, None
        try:
            sealing = self._watcher() if self.changes else None
            if sealing is not None:
                sealing.seal()
            self.sql.execute("COMMIT")
            if sealing is not None:
                self.bell.ring()
            if self._files is not None:
                self._files.check_after()
            if sealing is not None:
                sealing.sealed()
        except BaseException as error:
            if self.sql.in_transaction:
                self.sql.execute("ROLLBACK")
            if group is not None:
                group.fail(error)
            raise
        if group is not None:
            group.done.set()

    def _undo(self, level: int) -> None:
        self.sql.waiting = None
        # The database may have rolled everything back itself (disk full, interrupted).
        if self.sql.in_transaction:
            joined = self._group is not None and not level
            self.sql.execute(f"ROLLBACK TO level{level}" if level or joined else "ROLLBACK")
            if joined:
                self.sql.execute("RELEASE level0")
        elif self._group is not None and not level:
            self._group.fail(_rolled_back())
            self._group = None

    def _close_turn(self) -> None:
        super()._close_turn()
        self.sql.is_within = self._group is not None
        self.sql.commit_group = None if self._group is None else self._commit_group

    def _commit_group(self) -> None:
        self.sql.commit_group = None
        super()._commit_group()

    def _read_log(self) -> None:
        """Read what the write-ahead log still holds for the database; an error if some of it is missing."""
        self.sql.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def rewriting(self, table: str) -> Iterator[None]:
        """Let the open transaction change rows of an append-only table. Afterwards it refuses changes again."""
        self.sql.execute("PRAGMA secure_delete = ON").fetchall()
        self.sql.execute(f"DROP TRIGGER {table}_update_refused")
        yield
        self.sql.execute(guard(table, "update"))

    def _compact(self) -> str:
        try:
            self.sql.execute("VACUUM").fetchall()
            (busy, *_) = self.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError as error:
            return f"the file could not be rewritten ({error}): close the store in other programs and repeat it"
        return "another program reads the store, so its write-ahead log stays until that ends" if busy else ""

    def copies(self) -> tuple[str, ...]:
        """Files beside the store that are copies of it: backups, and what a restore has set aside."""
        return () if self.path in _NOT_FILES else copies_beside(Path(self.path), self.store_id)

    def backup(self, target: Path) -> dict[str, int]:
        """Copy the committed state to a new file. Returns the end of each workspace's log in it."""
        with self.lock:
            if self._depth:
                raise StoreError("a backup holds what is committed: make it after the batch")
            self._commit_group()
            return copy(self.sql, target)

    def close(self) -> None:
        with self.lock:
            self._commit_group()
            # Before the database is: that removes the files that somebody may watch.
            self.bell.is_closed = True
            self.locks.close()
            self._closing()
            if self._files is not None:
                self._files.close()
                self._files = None
        self.bell.close()


def _log_ahead(sql: SqliteStatements) -> None:
    """Switch to WAL. SQLite does not wait here for another connection that is switching the same file."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            (mode,) = sql.ahead("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(BUSY_PAUSE_SECONDS)
        else:
            break
    if mode != "wal" and sql.place not in _NOT_FILES:
        raise StoreError(f"cannot open {sql.place}: its disk cannot hold a write-ahead log; use a local disk")


def _rolled_back() -> StoreError:
    # A full or failing disk can end a transaction by itself. Each further statement would then be committed by itself.
    return StoreError("storage failed: the database undid this transaction, so nothing of it was written; repeat it")


def failure(error: sqlite3.Error, place: str) -> StoreError:
    """The error of a statement in our words."""
    # Only what the database itself reports has a code.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            what = f"the disk of {place} is full ({error}), so nothing of this was written; make room and call again"
        case sqlite3.SQLITE_IOERR:
            what = (
                f"{place} cannot be read or written ({error}); see its disk, then repeat this with the same ids, "
                "which writes nothing twice"
            )
        case sqlite3.SQLITE_BUSY:
            what = f"another writer kept {place} for {BUSY_SECONDS:.0f} seconds ({error}); call again"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            what = f"{place} is damaged ({error}); put a backup back: readmit admin restore FILE --db {place}"
        case _ if "decode to UTF-8" in str(error):  # the library's own, with the bytes of the row
            what = f"a row of {place} was altered; put a backup back: readmit admin restore FILE --db {place}"
        case _ if "closed" in str(error):
            what = "this store is closed; open it again"
        case _:
            what = str(error)
    return StoreError(f"storage failed: {what}")

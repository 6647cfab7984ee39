"""A SQLite database that is only read, also on a read-only mount and without the right to write beside it."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.log.engines.listener import Doorbell
from readmit.log.engines.locks import InProcess, Locks
from readmit.log.engines.sql import FIND, Changes, End, Question, Watcher
from readmit.log.engines.sqlite_schema import flaws_of, is_made, store_id
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from readmit.log.log_end import Gathered

CACHE = -32_768


class _Statements(sqlite3.Connection):
    waiting: Gathered | None = None
    ahead = sqlite3.Connection.execute


class ReadOnlyConnection:
    """Reads one file, and refuses to write."""

    end_of_log: End | None = None
    pending = False

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self.lock: AbstractContextManager[Any] = threading.RLock()
        self.changes = Changes()
        self.locks = Locks(InProcess())
        self.bell = Doorbell()
        self.turn = 0
        self._reads = False
        self._watcher: Callable[[], Watcher | None] = lambda: None
        self.sql = _opened(self._path)
        self._closing = weakref.finalize(self, self.sql.close)
        try:
            if not is_made(self.sql):
                raise StoreError("it is empty; name a store")  # noqa: TRY301 - one report for every flaw
            self.store_id = store_id(self.sql)
        except StoreError as error:
            self.close()
            raise StoreError(f"cannot verify {path}: {error}") from None
        self.sql.execute(f"PRAGMA cache_size = {CACHE}")

    places = ()
    server_now = None
    """Nothing is written, so no clock is compared."""

    def schema_flaws(self) -> list[str]:
        """Differences of the database from the schema that readmit made."""
        return flaws_of(self.sql)

    def enroll(self, workspace: str) -> int:
        """The number of a workspace, which must exist."""
        row = self.sql.execute(FIND, (workspace,)).fetchone()
        if row is None:
            raise StoreError(f"{self._path} has no workspace {workspace!r}; name one that it has")
        return int(row[0])

    def watch(self, watcher: Watcher) -> None:
        """Let something take part in every read."""
        self._watcher = weakref.ref(watcher)

    def atomic(self, *, short: bool = False, ask: Question | None = None) -> AbstractContextManager[None]:  # noqa: ARG002 - of the protocol
        raise StoreError(f"{self._path} was opened to be read only")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one consistent state."""
        if self._reads:
            yield
            return
        if (watcher := self._watcher()) is not None:
            watcher.opening()
        self.sql.execute("BEGIN DEFERRED")
        self.turn += 1
        self._reads = True
        try:
            yield
        finally:
            self._reads = False
            self.sql.execute("ROLLBACK")

    def rewriting(self, table: str) -> AbstractContextManager[None]:
        raise StoreError(f"{self._path} was opened to be read only: nothing in {table} can be erased")

    def compact(self) -> str:
        raise StoreError(f"{self._path} was opened to be read only")

    def copies(self) -> tuple[str, ...]:
        return ()

    def backup(self, target: Path) -> Mapping[str, int]:
        raise StoreError(f"{self._path} was opened to be read only, and cannot be copied to {target}")

    def close(self) -> None:
        self._closing()


def _opened(path: Path) -> _Statements:
    log = path.with_name(f"{path.name}-wal")
    try:
        has_log = log.exists() and log.stat().st_size > 0
    except OSError as error:
        raise StoreError(f"cannot verify {path}: {error.strerror}") from error
    # Without the right to write beside it, SQLite reads a file only if it may assume that nobody else changes it.
    # That is safe if there is no write-ahead log: a program that has the file open to write keeps one.
    alone = not has_log and not os.access(path.parent, os.W_OK)
    try:
        sql = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}",
            uri=True, isolation_level=None, check_same_thread=False, factory=_Statements,
        )  # fmt: skip
        sql.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        if has_log:
            raise StoreError(
                f"cannot verify {path}: {log.name} beside it holds commits that cannot be read here ({error}); copy "
                "the database with `readmit admin backup` where it can be written, or give this user the right to "
                f"write to {path.parent}"
            ) from error
        raise StoreError(f"cannot verify {path}: {error}") from error
    return sql

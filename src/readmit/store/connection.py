"""One SQLite connection: durable commits, one writer at a time, transactions that nest."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from readmit.records.errors import StoreError
from readmit.store.schema import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUSY_SECONDS = 30.0


class Connection:
    """A database file (or ``:memory:``).

    ``synchronous=FULL`` in WAL mode: a commit that returned is on disk.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        # Held for a whole transaction: a connection is one actor, however many threads share it.
        self._lock = threading.RLock()
        self._depth = 0
        try:
            self.sql = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self.sql.execute("PRAGMA journal_mode = WAL")
            self.sql.execute("PRAGMA synchronous = FULL")
            self.sql.execute("PRAGMA cache_size = -65536")
            migrate(self.sql)
        except sqlite3.Error as error:
            raise StoreError(f"cannot open {self.path}: {error}") from error

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All or nothing. A nested call is undone alone; nothing is durable before the outermost commits."""
        with self._lock, _wrapped():
            level, self._depth = self._depth, self._depth + 1
            try:
                self.sql.execute(f"SAVEPOINT level{level}" if level else "BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    # The database may have rolled everything back itself (disk full, interrupted).
                    if self.sql.in_transaction:
                        self.sql.execute(f"ROLLBACK TO level{level}" if level else "ROLLBACK")
                    raise
                self.sql.execute(f"RELEASE level{level}" if level else "COMMIT")
            finally:
                self._depth = level

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one consistent state."""
        with self._lock, _wrapped():
            if self._depth:
                yield
                return
            self.sql.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                self.sql.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            self.sql.close()


@contextmanager
def _wrapped() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"storage failed: {error}") from error

"""Looks at rows of a database, read only: one query, within its time and size, in a transaction that is rolled back.

The database enforces read only. On PostgreSQL, a function that the connection's role may call can still act
outside the transaction (``dblink``, ``pg_terminate_backend``, advisory locks): give the prober a role that can only
SELECT what it needs.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.base import shown
from readmit.records.error_types import GoneError, ProbeError
from readmit.records.probes import Finding, SqlProbe
from readmit.sources.look import LookDeadline, within
from readmit.sources.whole_source import WholeSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from readmit.records.policy import LookRules
    from readmit.sources.prober import ProbeResult

NO_ROWS = "[]"
_STEPS = 1_000
"""SQLite's virtual machine instructions between two looks at the clock."""
_ROOM = 1_000_000
_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
# These read other files, or run code.
_FORBIDDEN = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


class Databases(WholeSource[SqlProbe]):
    """The databases that probes name: a SQLite file, or a PostgreSQL URL, by name."""

    probe = SqlProbe

    def __init__(self, limits: LookRules, places: Mapping[str, str]) -> None:
        super().__init__(limits)
        self._places = places

    def look(self, probe: SqlProbe, deadline: LookDeadline) -> ProbeResult:
        found = super().look(probe, deadline)
        if found.outcome is Finding.CHANGED and found.text == NO_ROWS:
            raise GoneError("the query finds no row")
        return found

    def read(self, probe: SqlProbe, deadline: LookDeadline) -> bytes:
        place = self._places.get(probe.database)
        if place is None:
            raise ProbeError(f"database: the prober knows no {shown(probe.database)}; add it to databases")
        read = _postgres if place.startswith(("postgres://", "postgresql://")) else _sqlite
        # In a thread, because a single call of a function of the database can take longer than the look may.
        return within(deadline, lambda: read(place, probe, self._limits.bytes, deadline), name="sql")


def _sqlite(place: str, probe: SqlProbe, limit: int, deadline: LookDeadline) -> bytes:
    if not Path(place).is_file():
        raise ProbeError("the file of the database is not there")
    address = f"{Path(place).absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=deadline.left(), isolation_level=None)) as opened:
            opened.execute("PRAGMA query_only = ON")
            opened.execute("PRAGMA trusted_schema = OFF")
            # A value that is longer is an error before it takes memory. The text of the schema needs some room as well.
            opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limit, _ROOM))
            opened.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            opened.set_authorizer(_only_reading)
            opened.set_progress_handler(lambda: deadline.passed, _STEPS)
            return _encoded(opened.execute(probe.query, probe.parameters), limit, deadline)
    except sqlite3.Error as error:
        # The progress handler ends a late query with an error that says only "interrupted".
        deadline.left()
        raise ProbeError(f"the database refuses the query: {error}") from None


def _only_reading(action: int, _first: str | None, second: str | None, _base: str | None, _by: str | None) -> int:
    allowed = action in _READING and not (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _postgres(place: str, probe: SqlProbe, limit: int, deadline: LookDeadline) -> bytes:
    try:
        import psycopg
    except ImportError:
        raise ProbeError("pip install 'readmit[postgres]' to look at PostgreSQL") from None
    try:
        with closing(psycopg.connect(place, connect_timeout=max(2, int(deadline.left())))) as opened:
            opened.read_only = True
            with opened.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {max(1, int(deadline.left() * 1_000))}".encode())
                # DECLARE takes nothing but a query that writes nothing; a prepared statement is a single one.
                declared = f"DECLARE looked NO SCROLL CURSOR FOR {probe.query}".encode()
                cursor.execute(declared, probe.parameters or None, prepare=True)
                rows = _fetched(cursor, deadline)
                data = _encoded(rows, limit, deadline)
            opened.rollback()
            return data
    except psycopg.Error as error:
        raise ProbeError(f"the database refuses the query: {error}") from None


def _fetched(cursor: Any, deadline: LookDeadline) -> Iterable[tuple[Any, ...]]:
    while True:
        deadline.left()
        row = cursor.execute("FETCH 1 FROM looked").fetchone()
        if row is None:
            return
        yield row


def _encoded(rows: Iterable[Sequence[Any]], limit: int, deadline: LookDeadline) -> bytes:
    """The rows as a JSON list of lists, in the order of the query."""
    pieces: list[bytes] = []
    size = len(NO_ROWS)
    for row in rows:
        deadline.left()
        try:
            piece = msgspec.json.encode([_plain(value) for value in row])
        except (TypeError, ValueError) as error:
            raise ProbeError(f"a value of a row cannot be written as text: {error}") from None
        size += len(piece) + 1
        if size > limit:
            raise ProbeError(f"its rows have more than {limit} bytes, which is the limit")
        pieces.append(piece)
    return b"[" + b",".join(pieces) + b"]"


def _plain(value: Any) -> Any:
    # JSON has no word for these; the encoder would write null.
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value

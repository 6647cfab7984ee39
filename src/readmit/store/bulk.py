"""Many rows in few statements: most of what a row costs is the way from Python into the database and back."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.store.sql import Sql

# Nine columns, the widest table, times this many stays below the 999 values that every SQLite allows.
ROWS = 100


def insert(sql: Sql, table: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert rows of a table, except those whose key is taken. Returns how many went in."""
    done = 0
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        marks = f"({', '.join('?' * len(part[0]))})"
        query = f"INSERT INTO {table} VALUES {', '.join([marks] * len(part))} ON CONFLICT DO NOTHING"
        done += sql.execute(query, tuple(chain.from_iterable(part))).rowcount
    return done

"""Many rows in few statements: most of a row's cost is the round trip between Python and the database."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.log.engines.sql import Rows, SqlSession

# Ten columns, the widest table, times this many stays below the 999 values that every SQLite allows.
ROWS = 99


def insert(sql: SqlSession, table: str, rows: Sequence[tuple[Any, ...]]) -> list[Rows]:
    """Insert rows of a table, except those whose key is taken."""
    done = []
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        done.append(sql.execute(_query(table, len(part[0]), len(part)), tuple(chain.from_iterable(part))))
    return done


@lru_cache(100)
def _query(table: str, columns: int, rows: int) -> str:
    marks = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {table} VALUES {', '.join([marks] * rows)} ON CONFLICT DO NOTHING"


def inserted(done: Iterable[Rows]) -> int:
    """The number of inserted rows. Read after the last insert, so that a server needs one round trip."""
    return sum(one.rowcount for one in done)

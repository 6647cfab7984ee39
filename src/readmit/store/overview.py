"""Audiences and the keys of milestones, read from the indexes by skip scan: each result costs one index search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.store.audience import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.records.kinds import DeclaredKind
    from readmit.store.audience import Row
    from readmit.store.sql import Sql

_NEXT_READERS = """
    SELECT task, principal, role FROM audience
    WHERE ws = ? AND class = ? AND (task, principal, role) > (?, ?, ?)
    ORDER BY task, principal, role LIMIT 1
"""
_FIRST_READERS = """
    SELECT task, principal, role FROM audience WHERE ws = ? AND class = ? ORDER BY task, principal, role LIMIT 1
"""
_NEXT_KEY = "SELECT min(key) FROM milestone WHERE ws = ? AND kind = ? AND key > ?"


def audiences(sql: Sql, ws: int) -> Iterator[Row]:
    """Every distinct audience of a state event, in order."""
    row = sql.execute(_FIRST_READERS, (ws, STATE)).fetchone()
    while row is not None:
        yield (row[0], row[1], row[2])
        row = sql.execute(_NEXT_READERS, (ws, STATE, *row)).fetchone()


def keys(sql: Sql, ws: int, kind: DeclaredKind) -> Iterator[str]:
    """Every key that events of a kind belong to: of departures, agents, and principals for their banks."""
    key = ""
    while key is not None:
        (key,) = sql.execute(_NEXT_KEY, (ws, str(kind), key)).fetchone()
        if key is not None:
            yield key

"""The audit trail: rows of candidates, decisions and deliveries, never changed.

The commit that adds rows covers them (``readmit.log.tree.commits``), so none can be altered, removed or added later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.log.engines.sql import PAGE, SHIFT, Connection, blob, whole
from readmit.trust.commit_record import row_leaf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class AuditRow(NamedTuple):
    """A stored audit row: its position, its return, its kind, and its canonical bytes."""

    seq: int
    return_id: str
    kind: str
    item: str
    body: bytes


class StoredDecision(NamedTuple):
    """A past decision: its canonical bytes, its envelope if it was admitted, and where its rows are."""

    body: bytes
    envelope: bytes | None
    first: int
    last: int


_ROWS = "SELECT pos, return_id, kind, item, body FROM audit WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"


class AuditTrail:
    """The audit of one workspace."""

    def __init__(self, connection: Connection, ws: int) -> None:
        self._connection = connection
        self._sql = connection.sql
        self._ws = ws
        self._base = ws << SHIFT

    @property
    def last(self) -> int:
        """The number of the last row, including those of the open transaction."""
        (last,) = self._sql.execute("SELECT audit FROM workspace WHERE ws = ?", (self._ws,)).fetchone()
        return int(last) + len(self._connection.changes.rows)

    def append(self, return_id: str, rows: Iterable[tuple[str, str, bytes]]) -> int:
        """Add rows ``(kind, item, canonical bytes)`` and return the number of the last one."""
        with self._connection.atomic():
            base, leaves = self._base, self._connection.changes.rows
            last, added = self.last, []
            for seq, (kind, item, body) in enumerate(rows, last + 1):
                added.append((base + seq, return_id, kind, item, body))
                leaves.append(row_leaf(seq, return_id, kind, item, body))
            self._sql.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", added)
            return last + len(added)

    def decide(self, return_id: str, stored: StoredDecision) -> None:
        """File a decision beside its rows."""
        self._sql.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?)", (self._ws, return_id, *stored))

    def decision(self, return_id: str) -> StoredDecision | None:
        """A past decision."""
        row = self._sql.execute(
            "SELECT body, envelope, first, last FROM decision WHERE ws = ? AND return_id = ?", (self._ws, return_id)
        ).fetchone()
        if row is None:
            return None
        body, envelope, first, last = row
        return StoredDecision(blob(body), None if envelope is None else blob(envelope), whole(first), whole(last))

    def rows(self, *, first: int = 1, last: int | None = None) -> Iterator[AuditRow]:
        """Stored rows in order, unchecked."""
        done = self._base + first - 1
        end = self._base + (self.last if last is None else last)
        while True:
            found = self._sql.execute(_ROWS, (done, end, PAGE)).fetchall()
            for done, *rest in found:
                yield AuditRow(done - self._base, *rest)
            if len(found) < PAGE:
                return

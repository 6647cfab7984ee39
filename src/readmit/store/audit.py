"""The audit trail: one row per candidate and per decision, chained by hash, never changed.

A row's hash covers the row and the hash before it. The head is signed with every return, so truncation is detectable:
the last signed head, or one kept elsewhere, no longer has its row.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from readmit.ports.store import AuditRow, ChainHead, StoredDecision
from readmit.records.errors import AuditError
from readmit.store.schema import MASK, SHIFT
from readmit.store.sql import PAGE, genesis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.store.sql import Connection


_ROWS = """
    SELECT pos, return_id, kind, item, body, hash FROM audit WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?
"""


class AuditTrail:
    """The audit of one workspace."""

    def __init__(self, connection: Connection, ws: int) -> None:
        self._connection = connection
        self._sql = connection.sql
        self._ws = ws
        self._base = ws << SHIFT

    @property
    def head(self) -> ChainHead:
        seq, last = self._sql.execute("SELECT audit, audit_hash FROM workspace WHERE ws = ?", (self._ws,)).fetchone()
        return ChainHead(int(seq), bytes(last))

    def append(self, return_id: str, rows: Iterable[tuple[str, str, bytes]]) -> ChainHead:
        """Add rows ``(kind, item, canonical bytes)`` and return the new head."""
        with self._connection.atomic():
            seq, link = self.head
            sha, base, owner = hashlib.sha256, self._base, return_id.encode()
            chained = []
            for kind, item, body in rows:
                seq += 1
                link = sha(b"\n".join((link, owner, kind.encode(), item.encode(), body))).digest()
                chained.append((base + seq, return_id, kind, item, body, link))
            self._sql.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", chained)
            self._sql.execute("UPDATE workspace SET audit = ?, audit_hash = ? WHERE ws = ?", (seq, link, self._ws))
        return ChainHead(seq, link)

    def decide(self, return_id: str, stored: StoredDecision) -> None:
        """File a decision beside its rows."""
        self._sql.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?)", (self._ws, return_id, *stored))

    def decision(self, return_id: str) -> StoredDecision | None:
        row = self._sql.execute(
            "SELECT body, envelope, first, last FROM decision WHERE ws = ? AND return_id = ?", (self._ws, return_id)
        ).fetchone()
        return None if row is None else StoredDecision(*row)

    def sign(self, seq: int, envelope: bytes) -> None:
        """File the signed head."""
        self._sql.execute("INSERT INTO audit_head VALUES (?, ?, ?)", (self._ws, seq, envelope))

    def signed_head(self) -> tuple[int, bytes] | None:
        """The newest signed head."""
        row = self._sql.execute(
            "SELECT seq, envelope FROM audit_head WHERE ws = ? ORDER BY seq DESC LIMIT 1", (self._ws,)
        ).fetchone()
        return None if row is None else (int(row[0]), bytes(row[1]))

    def rows(self, *, first: int = 1, last: int | None = None) -> Iterator[AuditRow]:
        """Stored rows in order, unchecked."""
        done = self._base + first - 1
        end = self._base + (self.head.seq if last is None else last)
        while True:
            found = self._sql.execute(_ROWS, (done, end, PAGE)).fetchall()
            for done, *rest in found:
                yield AuditRow(done - self._base, *rest)
            if len(found) < PAGE:
                return

    def verified(self) -> Iterator[AuditRow]:
        """Every row, with the chain checked along the way. Rows added meanwhile by others are checked with the rest."""
        link = genesis(self._name())
        start, expected = self.head, 0
        met = (0, link) == start
        for row in self.rows(last=MASK):
            expected += 1
            link = hashlib.sha256(
                b"\n".join((link, row.return_id.encode(), row.kind.encode(), row.item.encode(), row.body))
            ).digest()
            if row.seq != expected or link != row.hash:
                raise AuditError(f"the audit is broken at row {expected}: a row was altered, removed or inserted")
            met = met or (expected, link) == start
            yield row
        head = self.head
        if not met or expected > head.seq:
            raise AuditError(
                f"the audit ends at row {expected}, but its head is {head.seq}: rows were removed or added"
            )

    def _name(self) -> str:
        return str(self._sql.execute("SELECT name FROM workspace WHERE ws = ?", (self._ws,)).fetchone()[0])

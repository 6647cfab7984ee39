"""The audit trail: rows of decisions and deliveries, and the pieces that hold their candidates, never changed.

The commit that adds rows covers them (``readmit.log.tree.commits``), so none can be altered, removed or added later. A
decision names the piece that leads to its candidates, and a piece is named by its digest: what a return decides as an
earlier one did is stored once.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from readmit.log.engines.sql import PAGE, SHIFT, Connection, blob, chunks, whole
from readmit.records.canonical import decode, digest_of, joined
from readmit.records.decisions import Decision, Envelope, Signature
from readmit.records.error_types import SealError, TamperedError
from readmit.trust.commit_record import row_leaf
from readmit.trust.statement import sealed_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class AuditRow(NamedTuple):
    """A stored audit row: its position, its return, its kind, and its canonical bytes."""

    seq: int
    return_id: str
    kind: str
    item: str
    body: bytes


class StoredDecision(NamedTuple):
    """A past decision: its canonical bytes, the signature of its view if it has one, and where its rows are."""

    body: bytes
    seal: bytes | None
    first: int
    last: int

    def envelope(self) -> Envelope:
        """The signed view or retractions. All but the signature follows from the decision."""
        decision = decode(self.body, Decision, what="decision")
        view = decision.view or decision.retracting
        if view is None or self.seal is None:
            raise SealError("the decision has no view, or its view no signature: a row was altered")
        return sealed_again(view, decode(self.seal, Signature, what="signature"))


PLAIN = 1_000
"""Up to so many bytes, bodies are stored as they are; longer ones are compressed."""
_DEFLATED = b"x"  # JSON begins with a bracket
_LARGEST = 1 << 30


def packed(body: bytes) -> bytes:
    """A body as it is stored."""
    return body if len(body) <= PLAIN else zlib.compress(body, 1)


def unpacked(stored: object) -> bytes:
    """The body of a stored row. One that cannot be read was altered."""
    data = blob(stored)
    if not data.startswith(_DEFLATED):
        return data
    try:
        unpack = zlib.decompressobj()
        body = unpack.decompress(data, _LARGEST)
    except zlib.error as error:
        raise TamperedError(f"a row of the audit cannot be read: it was altered ({error})") from None
    if not unpack.eof or unpack.unused_data:
        raise TamperedError("a row of the audit cannot be read: it was altered")
    return body


_DECISION = """
    WITH decided AS MATERIALIZED (
        SELECT seal, first, last, return_id, ? + last AS place FROM decision WHERE ws = ? AND return_id = ?
    )
    SELECT audit.body, seal, first, last FROM decided
    LEFT JOIN audit ON audit.pos = place AND audit.return_id = decided.return_id AND audit.kind = 'decision'
"""
_KNOWN = "SELECT digest FROM piece WHERE ws = ? AND digest IN ({})"
_PIECES = "SELECT digest, body FROM piece WHERE ws = ? AND digest IN ({})"
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
                added.append((base + seq, return_id, kind, item, packed(body)))
                leaves.append(row_leaf(seq, return_id, kind, item, body))
            self._sql.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", added)
            return last + len(added)

    def decide(self, return_id: str, stored: StoredDecision) -> None:
        """File a decision: where its rows are, and the signature of its view."""
        self._sql.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?)", (self._ws, return_id, *stored[1:]))

    def decision(self, return_id: str) -> StoredDecision | None:
        """A past decision."""
        row = self._sql.execute(_DECISION, (self._base, self._ws, return_id)).fetchone()
        if row is None:
            return None
        body, seal, first, last = row
        found = b"" if body is None else unpacked(body)
        return StoredDecision(found, None if seal is None else blob(seal), whole(first), whole(last))

    def keep(self, pieces: Mapping[str, bytes]) -> None:
        """Store the pieces that are not there yet, within the open transaction."""
        known: set[str] = set()
        for marks, part in chunks(pieces):
            known.update(name for (name,) in self._sql.execute(_KNOWN.format(marks), (self._ws, *part)).fetchall())
        fresh = [(self._ws, name, packed(piece)) for name, piece in pieces.items() if name not in known]
        self._sql.executemany("INSERT INTO piece VALUES (?, ?, ?)", fresh)

    def pieces(self, names: Iterable[str]) -> dict[str, bytes]:
        """Pieces by name, each proven to be the one that has it."""
        wanted = list(names)
        found: dict[str, bytes] = {}
        for marks, part in chunks(wanted):
            rows = self._sql.execute(_PIECES.format(marks), (self._ws, *part)).fetchall()
            found.update((name, unpacked(body)) for name, body in rows)
        for name in wanted:
            if name not in found or digest_of(found[name]) != name:
                raise TamperedError(f"piece {name} of the audit was altered or removed")
        return found

    def candidates(self, decision: Decision) -> Iterator[bytes]:
        """The dispositions of a decision, in log order, as JSON lists."""
        return joined(decision.dispositions, self.pieces)

    def rows(self, *, first: int = 1, last: int | None = None) -> Iterator[AuditRow]:
        """Stored rows in order, unchecked."""
        done = self._base + first - 1
        end = self._base + (self.last if last is None else last)
        while True:
            found = self._sql.execute(_ROWS, (done, end, PAGE)).fetchall()
            for done, name, kind, item, body in found:
                yield AuditRow(done - self._base, name, kind, item, unpacked(body))
            if len(found) < PAGE:
                return

"""The source ledger: which items and evidence each native record of a memory backend was formed from.

It is in the workspace's own store, so write access to a memory store gives none here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.ports.backend import Binding, Entry
from readmit.records.canonical import canonical
from readmit.records.events import EventKind
from readmit.records.kinds import name_in
from readmit.store.schema import SHIFT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.store.sql import Connection

_decode = msgspec.json.Decoder(Entry).decode


class SqlSourceLedger:
    """The ledger of one workspace. The workspace's number is in every key."""

    def __init__(self, connection: Connection, ws: int) -> None:
        self._connection = connection
        self._sql = connection.sql
        self._ws = ws

    def version(self, backend: str) -> int:
        query = "SELECT version FROM source_version WHERE ws = ? AND backend = ?"
        row = self._sql.execute(query, (self._ws, backend)).fetchone()
        return 0 if row is None else int(row[0])

    def entries(self, backend: str) -> dict[str, Entry]:
        query = "SELECT record, body FROM source WHERE ws = ? AND backend = ?"
        return {record: _decode(body) for record, body in self._sql.execute(query, (self._ws, backend)).fetchall()}

    def entry(self, backend: str, record: str) -> Entry | None:
        query = "SELECT body FROM source WHERE ws = ? AND backend = ? AND record = ?"
        row = self._sql.execute(query, (self._ws, backend, record)).fetchone()
        return None if row is None else _decode(row[0])

    def write(self, backend: str, entries: Sequence[Entry], *, drop: Sequence[str] = ()) -> None:
        gone = [(self._ws, backend, record) for record in (*drop, *(entry.record for entry in entries))]
        with self._connection.atomic():
            self._sql.executemany("DELETE FROM source WHERE ws = ? AND backend = ? AND record = ?", gone)
            self._sql.executemany("DELETE FROM source_evidence WHERE ws = ? AND backend = ? AND record = ?", gone)
            self._sql.executemany(
                "INSERT INTO source VALUES (?, ?, ?, ?)",
                [(self._ws, backend, entry.record, canonical(entry)) for entry in entries],
            )
            self._sql.executemany(
                "INSERT INTO source_evidence VALUES (?, ?, ?, ?)",
                [
                    (self._ws, backend, entry.record, digest)
                    for entry in entries
                    for digest in {one.ref for one in entry.bindings if one.of == "evidence"}
                ],
            )
            self._sql.execute(
                "INSERT INTO source_version VALUES (?, ?, 1) "
                "ON CONFLICT (ws, backend) DO UPDATE SET version = source_version.version + 1",
                (self._ws, backend),
            )

    def carriers(self, backend: str) -> dict[str, frozenset[str]]:
        # An item's event has the item's id, so the id is read without decoding the item.
        rows = self._sql.execute(
            """
            SELECT named.digest, event.id
            FROM (SELECT DISTINCT digest FROM source_evidence WHERE ws = ? AND backend = ?) AS named
            JOIN filed ON filed.ws = ? AND filed.digest = named.digest
            JOIN binding ON binding.ws = ? AND binding.evidence = filed.epoch
            JOIN event ON event.pos = ? + binding.item
            """,
            (self._ws, backend, self._ws, self._ws, self._ws << SHIFT),
        )
        found: dict[str, set[str]] = {}
        for digest, name in rows.fetchall():
            found.setdefault(digest, set()).add(name_in(name))
        return {digest: frozenset(items) for digest, items in found.items()}

    def lacking(self, bindings: Iterable[Binding]) -> tuple[Binding, ...]:
        return tuple(one for one in bindings if not self._exists(one))

    def _exists(self, binding: Binding) -> bool:
        if binding.of == "evidence":
            query, name = "SELECT 1 FROM filed WHERE ws = ? AND digest = ?", binding.ref
        else:
            query, name = "SELECT 1 FROM name WHERE ws = ? AND id = ?", EventKind.RECORD.event_id(binding.ref)
        return self._sql.execute(query, (self._ws, name)).fetchone() is not None

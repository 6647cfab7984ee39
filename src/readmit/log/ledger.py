"""The source ledger: which items and evidence each native record of a memory backend was formed from.

It is in the workspace's own store, so write access to a memory store gives none here.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from readmit.log.engines.sql import SHIFT, Connection, blob, chunks
from readmit.log.indexes.index_rows import carried_key, carried_leaf
from readmit.log.indexes.seen_observations import AT_EPOCH, plain_id, sought
from readmit.log.tree.state_map import is_short_form, key_of, running
from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import name_in
from readmit.records.base import Digest, Id, Name, Record
from readmit.records.canonical import canonical
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.log.tree.commits import Commits


NativeId = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Owner = Annotated[str, msgspec.Meta(max_length=256)]
"""The owner of a record's private bank; empty for the team's records."""

TEAM = ""


class Precision(StrEnum):
    """How much is known about where a record's text came from. Both kinds bind: every source must be admitted."""

    EXACT = "exact"
    """The record was formed from its sources and from nothing else."""
    CONSERVATIVE = "conservative"
    """The record may contain parts of each source: a merge, native context, or a claim made when it was adopted."""


class Binding(Record, kw_only=True):
    """One source of a record: a work-state item, or evidence, which counts as every item bound to it."""

    of: Literal["item", "evidence"] = "item"
    ref: Id
    precision: Precision = Precision.EXACT


class Entry(Record, kw_only=True):
    """A record's ledger entry: the digest of its text, its sources, and who had it formed."""

    record: NativeId
    text: Digest
    bindings: tuple[Binding, ...]
    by: Name
    owner: Owner = TEAM
    merged_from: tuple[Name, ...] = ()
    """Further writers, whose text a store merged into the record."""
    note: str = ""
    """An adapter's own key of the record, if its digest is not enough to recognize it."""

    @property
    def writers(self) -> frozenset[str]:
        """All its writers."""
        return frozenset((self.by, *self.merged_from))


_decode = msgspec.json.Decoder(Entry).decode
LEDGER = "ledger"
_FILED = """
    WITH bound AS MATERIALIZED (
        SELECT filed.digest AS source, ? + binding.item AS place
        FROM filed JOIN binding ON binding.ws = filed.ws AND binding.evidence = filed.epoch
        WHERE filed.ws = ? AND filed.digest IN ({})
    )
    SELECT source, event.id FROM bound JOIN event ON event.pos = place ORDER BY place
"""
_NAMED = """
    WITH bound AS MATERIALIZED (
        SELECT ? + name.epoch AS seen, ? + binding.item AS place
        FROM name JOIN binding ON binding.ws = name.ws AND binding.evidence = name.epoch
        WHERE name.ws = ? AND name.id IN ({})
    )
    SELECT source.digest, event.id FROM bound
    JOIN event AS source ON source.pos = seen JOIN event ON event.pos = place ORDER BY place
"""
_EXISTS = f"SELECT 1 FROM event WHERE {AT_EPOCH} AND digest = ?"


def source_key(backend: str, record: str) -> str:
    """The key of a record's sources in the signed state."""
    return key_of("source", backend, record)


def source_digest(body: bytes) -> bytes:
    """State-map value of a record's sources: the SHA-256 of the entry."""
    return hashlib.sha256(body).digest()


def version_key(backend: str) -> str:
    """The key of how often the sources of a backend's records were written."""
    return key_of(LEDGER, backend)


def _altered(backend: str) -> TamperedError:
    return TamperedError(
        f"the sources of records in {backend!r} are not those under the signed checkpoint: a row was altered, hidden "
        "or added; run `readmit audit verify`, and restore the store from a backup"
    )


class SourceLedger:
    """The ledger of one workspace. The workspace's number is in every key."""

    def __init__(self, connection: Connection, ws: int, commits: Commits) -> None:
        self._connection = connection
        self._sql = connection.sql
        self._ws = ws
        self._commits = commits

    @property
    def pending(self) -> bool:
        """Whether this thread has a transaction open: then a wait for a lock could be a deadlock."""
        return self._connection.pending

    def take(self, name: str) -> bool:
        """Take a named lock that no thread and no process holds. Does not wait."""
        return self._connection.locks.take(f"{self._ws}/{name}")

    def still(self, name: str) -> bool:
        """Whether the lock is still held: a server may have lost the session that took it."""
        return self._connection.locks.still(f"{self._ws}/{name}")

    def free(self, name: str) -> None:
        """Release a lock."""
        self._connection.locks.free(f"{self._ws}/{name}")

    def version(self, backend: str) -> int:
        """Changes with every change to a backend's entries."""
        with self._connection.reading():
            return int.from_bytes(self._commits.value(version_key(backend)), "big")

    def entries(self, backend: str) -> dict[str, Entry]:
        """Every entry of a backend, by record."""
        query = "SELECT record, body FROM source WHERE ws = ? AND backend = ?"
        with self._connection.reading():
            rows = self._sql.execute(query, (self._ws, backend)).fetchall()
            stored = {source_key(backend, record): source_digest(blob(body)) for record, body in rows}
            signed = self._commits.beginning_with(f"{key_of('source', backend)[:-1]},")
            signed |= self._commits.values(key for key in stored if is_short_form(key))
        if stored != {key: value for key, value in signed.items() if value}:
            raise _altered(backend)
        return {record: _decode(body) for record, body in rows}

    def entry(self, backend: str, record: str) -> Entry | None:
        """One entry."""
        query = "SELECT body FROM source WHERE ws = ? AND backend = ? AND record = ?"
        with self._connection.reading():
            row = self._sql.execute(query, (self._ws, backend, record)).fetchone()
            if self._commits.value(source_key(backend, record)) != (
                b"" if row is None else source_digest(blob(row[0]))
            ):
                raise _altered(backend)
        return None if row is None else _decode(row[0])

    def write(self, backend: str, entries: Sequence[Entry], *, drop: Sequence[str] = ()) -> None:
        """Store entries, replacing those of the same records, and remove others; durable when it returns."""
        gone = [(self._ws, backend, record) for record in (*drop, *(entry.record for entry in entries))]
        with self._connection.atomic():
            for record in drop:
                self._commits.assign(source_key(backend, record), b"")
            for entry in entries:
                self._commits.assign(source_key(backend, entry.record), source_digest(canonical(entry)))
            self._sql.executemany("DELETE FROM source WHERE ws = ? AND backend = ? AND record = ?", gone)
            self._sql.executemany(
                "INSERT INTO source VALUES (?, ?, ?, ?)",
                [(self._ws, backend, entry.record, canonical(entry)) for entry in entries],
            )
            self._commits.assign(version_key(backend), (self.version(backend) + 1).to_bytes(8, "big"))

    def carriers(self, backend: str) -> dict[str, frozenset[str]]:
        # An item's event has the item's id, so the id is read without decoding the item.
        """For each evidence digest in the backend's entries: the items bound to it."""
        with self._connection.reading():
            bindings = (one for entry in self.entries(backend).values() for one in entry.bindings)
            found: dict[str, list[str]] = {one.ref: [] for one in bindings if one.of == "evidence"}
            base = self._ws << SHIFT
            for table, bases, names in ((_FILED, (base,), found), (_NAMED, (base, base), map(plain_id, found))):
                for marks, part in chunks(names):
                    for digest, name in self._sql.execute(table.format(marks), (*bases, self._ws, *part)).fetchall():
                        if digest in found:
                            found[digest].append(name)
            signed = self._commits.values(map(carried_key, found))
        if any(running(map(carried_leaf, names)) != signed.get(carried_key(one), b"") for one, names in found.items()):
            raise _altered(backend)
        return {digest: frozenset(map(name_in, names)) for digest, names in found.items() if names}

    def lacking(self, bindings: Iterable[Binding]) -> tuple[Binding, ...]:
        """The sources that are unknown in this workspace."""
        return tuple(one for one in bindings if not self._exists(one))

    def _exists(self, binding: Binding) -> bool:
        if binding.of == "evidence":
            values = (self._ws << SHIFT, *sought(self._ws, binding.ref), binding.ref)
            return self._sql.execute(_EXISTS, values).fetchone() is not None
        name = EventKind.RECORD.event_id(binding.ref)
        return self._sql.execute("SELECT 1 FROM name WHERE ws = ? AND id = ?", (self._ws, name)).fetchone() is not None

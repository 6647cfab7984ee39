"""The reference memory store's records.

The word index is our own table, not a full-text extension: its statistics belong to one workspace and one store, so one
workspace's scores do not depend on another's records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.log.engines.sql import Connection, chunks, whole
from readmit.records.canonical import digest_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


class MemoryRow(NamedTuple):
    """The current version of a record. ``seq`` is its place in the index."""

    seq: int
    id: str
    version: int
    owner: str
    text: str
    key: str
    at: str


class MemoryVersion(NamedTuple):
    """One state in a record's history. No text: the record was deleted."""

    version: int
    text: str | None
    at: str


class Posting(NamedTuple):
    """How often a word occurs in a record, and how many words the record has."""

    seq: int
    owner: str
    times: int
    length: int


class Totals(NamedTuple):
    """A store's size. ``version`` changes with every write."""

    version: int = 0
    records: int = 0
    length: int = 0


class NewMemory(NamedTuple):
    """A record to write, with its counted words."""

    id: str
    owner: str
    text: str
    key: str
    at: str
    words: Mapping[str, int]


_ROW = "SELECT seq, id, version, owner, text, key, at FROM memory "
_LONGEST = 256


def _filed(word: str) -> str:
    """The index key of a word. Very long words do not fit into a PostgreSQL index."""
    return word if len(word) <= _LONGEST else digest_of(word.encode("utf-8", "surrogatepass"))


class MemoryRecords:
    """Memory records of one workspace. The workspace's number is in every key."""

    def __init__(self, connection: Connection, ws: int) -> None:
        self._connection = connection
        self._sql = connection.sql
        self._ws = ws

    def write(self, store: str, records: Sequence[NewMemory]) -> None:
        """Add records, or give those that exist a new version; all or none, durable when it returns."""
        with self._connection.atomic():
            added = length = 0
            for record in records:
                new, words = self._put(store, record)
                added += new
                length += words
            self._count(store, added, length)

    def _put(self, store: str, record: NewMemory) -> tuple[int, int]:
        """Write one record and return how many records and words it added."""
        sql, ws = self._sql, self._ws
        found = sql.execute("SELECT seq FROM memory WHERE ws = ? AND store = ? AND id = ?", (ws, store, record.id))
        row = found.fetchone()
        before = 0 if row is None else self._unindex(row[0])
        # A record written again after deletion continues its version numbers.
        (version,) = sql.execute(
            "SELECT coalesce(max(version), 0) + 1 FROM memory_version WHERE ws = ? AND store = ? AND id = ?",
            (ws, store, record.id),
        ).fetchone()
        if row is None:
            (seq,) = sql.execute(
                "INSERT INTO memory (ws, store, id, version, owner, text, key, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                "RETURNING seq",
                (ws, store, record.id, version, record.owner, record.text, record.key, record.at),
            ).fetchone()
        else:
            (seq,) = row
            sql.execute(
                "UPDATE memory SET version = ?, owner = ?, text = ?, key = ?, at = ? WHERE seq = ?",
                (version, record.owner, record.text, record.key, record.at, seq),
            )
        sql.execute(
            "INSERT INTO memory_version VALUES (?, ?, ?, ?, ?, ?)",
            (ws, store, record.id, version, record.text, record.at),
        )
        length = sum(record.words.values())
        sql.executemany(
            "INSERT INTO memory_term VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(ws, store, _filed(word), seq, record.owner, count, length) for word, count in record.words.items()],
        )
        return int(row is None), length - before

    def _unindex(self, seq: int) -> int:
        query = "SELECT coalesce(max(length), 0) FROM memory_term WHERE seq = ?"
        (length,) = self._sql.execute(query, (seq,)).fetchone()
        self._sql.execute("DELETE FROM memory_term WHERE seq = ?", (seq,))
        return int(length)

    def _count(self, store: str, records: int, length: int) -> None:
        self._sql.execute(
            "INSERT INTO memory_store VALUES (?, ?, 1, ?, ?) ON CONFLICT (ws, store) DO UPDATE SET "
            "version = memory_store.version + 1, records = memory_store.records + excluded.records, "
            "length = memory_store.length + excluded.length",
            (self._ws, store, records, length),
        )

    def remove(self, store: str, record: str, at: str, *, purge: bool = False) -> bool:
        """Delete a record. Its versions stay unless they are purged. Returns whether there was anything to delete."""
        key = (self._ws, store, record)
        with self._connection.atomic():
            row = self._sql.execute(
                "SELECT seq, version FROM memory WHERE ws = ? AND store = ? AND id = ?", key
            ).fetchone()
            if row is not None:
                seq, version = row
                self._count(store, -1, -self._unindex(seq))
                self._sql.execute("DELETE FROM memory WHERE seq = ?", (seq,))
                self._sql.execute("INSERT INTO memory_version VALUES (?, ?, ?, ?, NULL, ?)", (*key, version + 1, at))
            purged = 0
            if purge:
                purged = self._sql.execute(
                    "DELETE FROM memory_version WHERE ws = ? AND store = ? AND id = ?", key
                ).rowcount
        return row is not None or purged > 0

    def totals(self, store: str) -> Totals:
        """The store's size."""
        row = self._sql.execute(
            "SELECT version, records, length FROM memory_store WHERE ws = ? AND store = ?", (self._ws, store)
        ).fetchone()
        return Totals() if row is None else Totals(*map(whole, row))

    def row(self, store: str, record: str) -> MemoryRow | None:
        """The current version of a record."""
        row = self._sql.execute(_ROW + "WHERE ws = ? AND store = ? AND id = ?", (self._ws, store, record)).fetchone()
        return None if row is None else MemoryRow(*row)

    def rows(self, store: str) -> Iterator[MemoryRow]:
        # Read at once: a cursor left open would keep later writes of the same connection from committing.
        """The current version of every record, oldest first."""
        found = self._sql.execute(_ROW + "WHERE ws = ? AND store = ? ORDER BY seq", (self._ws, store)).fetchall()
        return map(MemoryRow._make, found)

    def at(self, places: Sequence[int]) -> list[MemoryRow]:
        """The records at these places of the index, in no particular order."""
        found: list[MemoryRow] = []
        for marks, part in chunks(places):
            query = _ROW + f"WHERE ws = ? AND seq IN ({marks})"
            found += map(MemoryRow._make, self._sql.execute(query, (self._ws, *part)))
        return found

    def places(self, store: str, records: Collection[str]) -> set[int]:
        """The places of these records."""
        found: set[int] = set()
        for marks, part in chunks(records):
            query = f"SELECT seq FROM memory WHERE ws = ? AND store = ? AND id IN ({marks})"
            found.update(seq for (seq,) in self._sql.execute(query, (self._ws, store, *part)))
        return found

    def frequency(self, store: str, word: str) -> int:
        """The number of records that contain a word."""
        query = "SELECT count(*) FROM memory_term WHERE ws = ? AND store = ? AND term = ?"
        return int(self._sql.execute(query, (self._ws, store, _filed(word))).fetchone()[0])

    def postings(self, store: str, word: str) -> list[Posting]:
        """The occurrences of a word."""
        query = "SELECT seq, owner, count, length FROM memory_term WHERE ws = ? AND store = ? AND term = ?"
        return [Posting._make(row) for row in self._sql.execute(query, (self._ws, store, _filed(word)))]

    def history(self, store: str, record: str) -> list[MemoryVersion]:
        """Every version of a record, oldest first."""
        query = "SELECT version, text, at FROM memory_version WHERE ws = ? AND store = ? AND id = ? ORDER BY version"
        return [MemoryVersion._make(row) for row in self._sql.execute(query, (self._ws, store, record))]

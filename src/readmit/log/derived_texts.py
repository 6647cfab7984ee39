"""Derived texts. The workspace's number is in every key, so equal texts of two workspaces share nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from readmit.log.engines.sql import Connection, blob, chunks
from readmit.log.tree.state_map import key_of
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.log.tree.commits import Commits

_READ = "SELECT source, body FROM derived WHERE ws = ? AND kind = ? AND maker = ? AND source IN"
_WRITE = """
    INSERT INTO derived VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (ws, kind, maker, source) DO UPDATE SET body = excluded.body
"""


def derived_key(kind: str, maker: str, source: str) -> str:
    """The key of a derived text in the signed state."""
    return key_of("derived", kind, maker, source)


def derived_digest(body: bytes) -> bytes:
    """State-map value of a derived text: the SHA-256 of its body."""
    return hashlib.sha256(body).digest()


class DerivedTexts:
    """The derived texts of one workspace."""

    def __init__(self, connection: Connection, ws: int, commits: Commits) -> None:
        self._connection = connection
        self._ws = ws
        self._commits = commits

    def read(self, kind: str, maker: str, sources: Iterable[str]) -> dict[str, bytes]:
        """The stored ones, by the digest of their source text."""
        found: dict[str, bytes] = {}
        with self._connection.reading():
            wanted = list(sources)
            for marks, part in chunks(wanted):
                rows = self._connection.sql.execute(f"{_READ} ({marks})", (self._ws, kind, maker, *part))
                found |= {source: blob(body) for source, body in rows}
            signed = self._commits.values(derived_key(kind, maker, source) for source in wanted)
        for source in wanted:
            body = found.get(source)
            if signed.get(derived_key(kind, maker, source), b"") != (b"" if body is None else derived_digest(body)):
                raise TamperedError(
                    f"a text of kind {kind!r} by {maker!r} is not the one under the signed checkpoint: it was altered, "
                    "hidden or added; run `readmit audit verify`, and restore the store from a backup"
                )
        return found

    def write(self, kind: str, maker: str, rows: Mapping[str, bytes]) -> None:
        """Store several durably in one transaction, replacing those with the same digest."""
        if rows:
            with self._connection.atomic():
                for source, body in rows.items():
                    self._commits.assign(derived_key(kind, maker, source), derived_digest(body))
                self._connection.sql.executemany(
                    _WRITE, [(self._ws, kind, maker, source, body) for source, body in rows.items()]
                )

    def forget(self, kind: str | None = None, maker: str | None = None) -> int:
        """Delete the matching texts, and return their number."""
        which, values = "ws = ? AND kind = coalesce(?, kind) AND maker = coalesce(?, maker)", (self._ws, kind, maker)
        with self._connection.atomic():
            sql = self._connection.sql
            gone = sql.execute(f"SELECT kind, maker, source FROM derived WHERE {which}", values).fetchall()
            for row in gone:
                self._commits.assign(derived_key(*row), b"")
            sql.execute(f"DELETE FROM derived WHERE {which}", values)
            return len(gone)

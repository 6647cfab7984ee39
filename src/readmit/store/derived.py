"""Derived texts. The workspace's number is in every key, so equal texts of two workspaces share nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.store.sql import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.store.sql import Connection

_READ = "SELECT source, body FROM derived WHERE ws = ? AND kind = ? AND maker = ? AND source IN"
_WRITE = """
    INSERT INTO derived VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (ws, kind, maker, source) DO UPDATE SET body = excluded.body
"""


class DerivedTexts:
    """The derived texts of one workspace."""

    def __init__(self, connection: Connection, ws: int) -> None:
        self._connection = connection
        self._ws = ws

    def read(self, kind: str, maker: str, sources: Iterable[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        with self._connection.reading():
            for marks, part in chunks(sources):
                rows = self._connection.sql.execute(f"{_READ} ({marks})", (self._ws, kind, maker, *part))
                found |= {source: bytes(body) for source, body in rows}
        return found

    def write(self, kind: str, maker: str, rows: Mapping[str, bytes]) -> None:
        if rows:
            with self._connection.atomic():
                self._connection.sql.executemany(
                    _WRITE, [(self._ws, kind, maker, source, body) for source, body in rows.items()]
                )

    def forget(self, kind: str | None = None, maker: str | None = None) -> int:
        with self._connection.atomic():
            gone = self._connection.sql.execute(
                "DELETE FROM derived WHERE ws = ? AND kind = coalesce(?, kind) AND maker = coalesce(?, maker)",
                (self._ws, kind, maker),
            )
            return gone.rowcount

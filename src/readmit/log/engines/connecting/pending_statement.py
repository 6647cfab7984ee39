"""A statement of an open transaction that waits to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import psycopg

    from readmit.log.engines.postgres_client import Client


class PendingStatement:
    """A statement that waits to be sent."""

    __slots__ = ("_flush", "cursor", "statement", "values")

    def __init__(self, flush: Callable[[], None], statement: str, values: Sequence[Any] = ()) -> None:
        self._flush = flush
        self.values = values
        self.statement = statement
        self.cursor: psycopg.Cursor[Any] | None = None

    def send(self, client: Client) -> None:
        self.cursor = client.execute(self.statement, self.values or None, binary=True)

    def _answered(self) -> psycopg.Cursor[Any]:
        if self.cursor is None:
            self._flush()
        if self.cursor is None:
            raise StoreError("storage failed: this statement was undone before it was sent")
        return self.cursor

    @property
    def rowcount(self) -> int:
        return self._answered().rowcount

    def fetchone(self) -> Any:
        return self._answered().fetchone()

    def fetchall(self) -> list[Any]:
        return self._answered().fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._answered())

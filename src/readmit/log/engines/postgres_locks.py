"""A server's named locks: advisory locks of a session of their own.

Transactions use another session, because that one is replaced when its connection is lost.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

import psycopg

from readmit.log.engines.postgres_client import Address, Client, failure


class OnServer:
    """Opens its session when the first lock is asked for."""

    def __init__(self, address: Address, store: str) -> None:
        self._address = address
        self._store = store
        self._session: Client | None = None

    def take(self, name: str) -> tuple[Client, int] | None:
        hashed = hashlib.sha256(f"{self._store}\0{name}".encode("utf-8", "surrogatepass")).digest()
        key = int.from_bytes(hashed[:8], "big", signed=True)
        try:
            try:
                return self._try(key)
            except psycopg.OperationalError:
                # A session that was lost before it took anything. The locks that it held are gone, as ``still`` says.
                if self._session is None or not self._session.closed:
                    raise
                return self._try(key)
        except psycopg.Error as error:
            raise failure(error, self._address) from error

    def _try(self, key: int) -> tuple[Client, int] | None:
        if self._session is None or self._session.closed:
            self._session = self._address.connect()
        taken = self._session.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
        return (self._session, key) if taken == (True,) else None

    def still(self, handle: tuple[Client, int]) -> bool:
        return _answers(handle[0])

    def free(self, handle: tuple[Client, int]) -> None:
        session, key = handle
        # The server itself releases the locks of a session that was lost.
        with suppress(psycopg.Error):
            session.execute("SELECT pg_advisory_unlock(%s)", (key,))

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


def _answers(session: Client) -> bool:
    """Whether the server still has a session, with the locks that it took."""
    try:
        session.execute("SELECT 1")
    except psycopg.Error:
        session.close()
        return False
    return True

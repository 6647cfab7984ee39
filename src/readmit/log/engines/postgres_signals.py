"""Advisory locks and notifications of PostgreSQL."""

from __future__ import annotations

import hashlib
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

from readmit.log.engines.listener import Bell, CommitListener
from readmit.log.engines.postgres_client import Client, failure
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.log.engines.connecting.store_address import Address


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


class Channel(Bell):
    """The channel on which the server announces the commits of a workspace."""

    def __init__(self, address: Address, store: str) -> None:
        super().__init__()
        self._address = address
        self._store = store
        self.ws: int | None = None

    @property
    def name(self) -> str:
        """All users of a database share its channels, so the name tells nothing."""
        return f"readmit_{hashlib.sha256(f'{self._store}/{self.ws}'.encode()).hexdigest()[:40]}"

    def _made(self) -> CommitListener:
        return ServerListener(self)

    def joined(self) -> Client:
        """A new connection that listens."""
        if self.is_closed:
            raise StoreError("storage failed: this store is closed; open it again")
        client = self._address.connect()
        try:
            client.execute(f"LISTEN {self.name}", prepare=False)
        except BaseException:
            client.close()
            raise
        return client


class ServerListener(CommitListener):
    """Listens to a channel, and connects again when the connection is lost."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._client: Client | None = None
        self._ending: Callable[[], object] = lambda: None

    def renew(self) -> None:
        super().renew()
        if not self._hears():
            self.is_lost = not self._channel.is_closed
            self._ending()
            try:
                self._client = self._channel.joined()
            except psycopg.Error as error:
                raise StoreError(f"storage failed: the server could not be listened to: {error}") from None
            self._ending = weakref.finalize(self, self._client.close)
        self.is_lost = False

    def _hears(self) -> bool:
        """Forget what the server announced. False if there is no connection, or it ended."""
        if self._client is None or self._client.closed:
            return False
        try:
            self._client.pgconn.consume_input()
            while self._client.pgconn.notifies() is not None:
                pass
        except psycopg.Error:
            return False
        return True

    @property
    def files(self) -> list[int]:
        if self._client is None or self._client.closed:
            return super().files
        return [*super().files, self._client.fileno()]

    def close(self) -> None:
        super().close()
        self._ending()

"""Waits for the next commit of a workspace on a PostgreSQL server: ``LISTEN`` on a connection of its own."""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING

import psycopg

from readmit.log.engines.listener import Bell, CommitListener
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.log.engines.postgres_client import Address, Client


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

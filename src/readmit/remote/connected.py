"""Connects to a workspace on a server: the first call says whose key it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.base import nfc, require, require_name
from readmit.records.policy import Policy
from readmit.remote.connection import PATIENCE, AsyncServerConnection, ServerAddress, ServerConnection
from readmit.remote.prepared_calls import prepared
from readmit.remote.remote_handles import AsyncRemoteWorkspace, RemoteWorkspace
from readmit.workspace.workspace import DEFAULT_NAME
from readmit.writing.author import Author

if TYPE_CHECKING:
    import ssl
    from collections.abc import Generator
    from typing import Any

    from readmit.remote.connection import VerbCall
    from readmit.remote.wire_values import WorkspaceAnswer

_FIRST_CONTACT = 5.0
"""Seconds for which a server is looked for that has not answered yet: its address may be wrong."""


def connect(
    url: str,
    *,
    key: str,
    name: str = DEFAULT_NAME,
    policy: Policy | None = None,
    patience: float = PATIENCE,
    tls: ssl.SSLContext | None = None,
) -> RemoteWorkspace:
    """Open a workspace on a server, with an API key or a token, which say who writes.

    ``policy`` starts the workspace under it if it is not there; that takes a key with the right ``admin``. While the
    server is away or busy, each call is tried for ``patience`` seconds. ``tls`` has a certificate of this client's,
    or an authority of its own.
    """
    to, call = ServerAddress(url, key, patience, tls).checked(), _first_call(name, policy)
    connection = ServerConnection(_at_first(to))
    try:
        found = connection.send(call)
    except BaseException:
        connection.close()
        raise
    connection.to = to
    return RemoteWorkspace(connection, Author(found.principal), {"workspace": found.name})


def connect_async(
    url: str,
    *,
    key: str,
    name: str = DEFAULT_NAME,
    policy: Policy | None = None,
    patience: float = PATIENCE,
    tls: ssl.SSLContext | None = None,
) -> RemoteOpening:
    """Open a workspace on a server for a program with an event loop, as ``connect``. ``await`` it or ``async with``."""
    return RemoteOpening(ServerAddress(url, key, patience, tls).checked(), _first_call(name, policy))


class RemoteOpening:
    """``await`` it, or use ``async with``, which closes the connection at the end."""

    def __init__(self, to: ServerAddress, call: VerbCall) -> None:
        self._to, self._call = to, call

    def __await__(self) -> Generator[Any, None, AsyncRemoteWorkspace]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncRemoteWorkspace:
        self._workspace = await self
        return self._workspace

    async def __aexit__(self, *_: object) -> None:
        await self._workspace.close()

    async def _opened(self) -> AsyncRemoteWorkspace:
        connection = AsyncServerConnection(_at_first(self._to))
        try:
            found: WorkspaceAnswer = await connection.send(self._call)
        except BaseException:
            await connection.close()
            raise
        connection.to = self._to
        return AsyncRemoteWorkspace(connection, Author(found.principal), {"workspace": found.name})


def _at_first(to: ServerAddress) -> ServerAddress:
    return to._replace(patience=min(to.patience, _FIRST_CONTACT))


def _first_call(name: str, policy: Policy | None) -> VerbCall:
    place = {"workspace": require_name("name", nfc(name))}
    if policy is None:
        return prepared("status", place, {})
    return prepared("start", place, {"policy": require("policy", policy, Policy)})

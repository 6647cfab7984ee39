"""The whole HTTP server: verbs, tools at ``/mcp`` and pages, after the entrance."""

from __future__ import annotations

import socket
import ssl
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn

from readmit.records.error_types import RecordError, StoreError
from readmit.server.access.api_keys import ApiKeys
from readmit.server.access.bearer import BearerCredentials
from readmit.server.access.entrance import Entrance
from readmit.server.access.issued_tokens import IssuedTokens
from readmit.server.access.request_limits import LimitSettings, RequestLimits
from readmit.server.asgi_app import make_app
from readmit.server.inspector import inspector_routes
from readmit.server.mcp_door import McpDoor
from readmit.server.server_settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from starlette.applications import Starlette
    from starlette.routing import BaseRoute

    from readmit.server.caller import Caller
    from readmit.server.service import Service
    from readmit.workspace.workspace import Workspace

_STOP_SECONDS = 5
"""Seconds that running requests get when the server stops."""
_HEARTBEAT = 5.0
"""Seconds after which a silent stream says so, and its credential is looked at again."""
_BACKLOG = 1_024
_KEPT_SECONDS = 30


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a whole server: its store, its address, and its callers."""

    store: str
    key_folder: Path
    """The folder of the store's keys, with the API keys."""
    url: str
    """The address at which callers reach it."""
    issuers: Path | None = None
    limits: LimitSettings = LimitSettings()
    proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose word on a client's address counts."""
    certificate: Path | None = None
    certificate_key: Path | None = None


def whole_app(serving: Serving, report: Callable[[str], None]) -> Entrance:
    """The whole application. ``report`` gets the line of each request."""
    if serving.certificate is not None:
        _check_certificate(serving.certificate, serving.certificate_key)
    tokens = None if serving.issuers is None else IssuedTokens(serving.issuers)
    credentials = BearerCredentials(ApiKeys(serving.key_folder), tokens)
    doors: list[McpDoor] = []

    def more(service: Service) -> Sequence[BaseRoute]:
        async def work(caller: Caller, workspace: str, do: Callable[[Workspace], dict[str, Any]]) -> dict[str, Any]:
            return await service.call(workspace, lambda handle: do(handle.principal(caller.principal)))

        doors.append(McpDoor(credentials, work, serving.url, () if tokens is None else tokens.issuers()))
        return [*doors[0].routes(), *inspector_routes(service, credentials, url=serving.url)]

    settings = ServerSettings(store=serving.store, largest_body=serving.limits.largest, heartbeat=_HEARTBEAT)
    app = make_app(settings, credentials, more=more)
    (door,), of_app = doors, app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(of: Starlette) -> AsyncIterator[None]:
        async with of_app(of), door.opened():
            yield
        if tokens is not None:
            tokens.close()

    app.router.lifespan_context = lifespan
    return Entrance(app, credentials, RequestLimits(serving.limits), report, door.challenge)


def listening_at(host: str, port: int) -> socket.socket:
    """A socket at an address; the error says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, or asyncio leaves small packets waiting for each other.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise StoreError(
            f"listen: cannot listen on {host}:{port}: {error.strerror or error}; choose another address"
        ) from None
    return listening


def _check_certificate(certificate: Path, key: Path | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise RecordError(
            f"certificate: {certificate} and its key cannot be used: {error.strerror or error}; give both as PEM"
        ) from None


class _Server(uvicorn.Server):
    """Ends the streams when it stops, which would go on for ever."""

    def __init__(self, config: uvicorn.Config, entrance: Entrance) -> None:
        super().__init__(config)
        self._entrance = entrance

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._entrance.stop()
        await super().shutdown(sockets)


def serve(app: Entrance, serving: Serving, listening: socket.socket) -> None:
    """Serve until a signal says to stop: what runs is ended first."""
    config = uvicorn.Config(
        app, access_log=False, log_level="warning", log_config=None, ws="none", lifespan="on", server_header=False,
        proxy_headers=bool(serving.proxies), forwarded_allow_ips=list(serving.proxies),
        timeout_graceful_shutdown=_STOP_SECONDS, timeout_keep_alive=_KEPT_SECONDS,
        ssl_certfile=serving.certificate, ssl_keyfile=serving.certificate_key,
    )  # fmt: skip
    _Server(config, app).run(sockets=[listening])

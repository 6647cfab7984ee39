"""The application of the server: its verbs, its health, its metrics, and what other rooms mount beside them."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route

from readmit.records.error_types import ReadmitError
from readmit.server import server_metrics
from readmit.server.openapi_document import encoded
from readmit.server.server_metrics import ServerMetrics, TracedApp
from readmit.server.service import Service
from readmit.server.verb_routes import VerbRoutes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from starlette.types import Receive, Scope, Send

    from readmit.server.caller import Credentials
    from readmit.server.server_settings import ServerSettings

logger = logging.getLogger("readmit.server")
READY_SECONDS = 1.0
"""Seconds for which a look at the store counts, so that callers cannot make the server look more often."""


def make_app(
    settings: ServerSettings,
    credentials: Credentials,
    *,
    more: Callable[[Service], Sequence[BaseRoute]] = lambda _: (),
) -> Starlette:
    """The application over one store, for any ASGI server. ``more`` makes further routes that share its service."""
    service, metrics = Service(settings), ServerMetrics()
    routes, condition = VerbRoutes(service, credentials), StoreCondition(service)

    async def health(_: Request) -> Response:
        return _json({"status": "ok"})

    async def ready(_: Request) -> Response:
        is_ready = await condition.is_ready()
        return _json({"status": "ok" if is_ready else "the store cannot be reached"}, 200 if is_ready else 503)

    async def counts(_: Request) -> Response:
        return Response(metrics.text(), media_type=server_metrics.MEDIA_TYPE)

    async def openapi(_: Request) -> Response:
        return Response(encoded(), media_type="application/json")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await service.close()

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/ready", ready),
            Route("/metrics", counts),
            Route("/v1/openapi.json", openapi),
            _Below("/v1/", routes),
            *more(service),
        ],
        middleware=[Middleware(TracedApp, tally=metrics)],
        lifespan=lifespan,
    )


class _Below(BaseRoute):
    """Every path that begins so, whatever follows: a pattern would not match a line break."""

    def __init__(self, prefix: str, endpoint: VerbRoutes) -> None:
        self._prefix = prefix
        self._endpoint = endpoint

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        is_below = scope["type"] == "http" and scope["path"].startswith(self._prefix)
        return (Match.FULL if is_below else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._endpoint(Request(scope, receive))
        await answer(scope, receive, send)


class StoreCondition:
    """Whether the store can be reached, looked at once a second at most."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._looking = asyncio.Lock()
        self._looked = float("-inf")
        self._is_ready = False

    async def is_ready(self) -> bool:
        """Whether it could be reached at the last look."""
        async with self._looking:
            if time.monotonic() - self._looked >= READY_SECONDS:
                try:
                    await self._service.names()
                except ReadmitError as error:
                    logger.warning("the store cannot be reached: %s", error)
                    self._is_ready = False
                else:
                    self._is_ready = True
                self._looked = time.monotonic()
        return self._is_ready


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")

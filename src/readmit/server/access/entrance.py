"""Every request passes here first: its credential, its limits, its size, and one line in the request log.

A line has no body, no text, no query and no secret. A stream ends when its credential does: it is checked again while
the stream goes on, so a revoked key reads nothing more.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from readmit.records.error_types import CredentialError, RateError, ReadmitError, RecordError, StoreError
from readmit.server.problems import problem
from readmit.server.verb_routes import CALLER
from readmit.text.escapes import iso_moment, json_text, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from readmit.server.access.request_limits import RequestLimits
    from readmit.server.caller import Caller, Credentials

logger = logging.getLogger("readmit")

CHALLENGE = 'Bearer realm="readmit", error="invalid_token"'
_LONGEST_PATH = 300
_SECRET = re.compile(r"(?<=rk_)[0-9a-f]*_\w+|eyJ[\w-]*\.[\w.-]+")


class Entrance:
    """An application behind credentials and limits. ``report`` gets the line of each request.

    ``challenge`` answers a refused credential below ``/mcp``, where clients look for their provider.
    """

    def __init__(
        self,
        app: ASGIApp,
        credentials: Credentials,
        limits: RequestLimits,
        report: Callable[[str], None],
        challenge: str = CHALLENGE,
    ) -> None:
        self._app = app
        self._credentials = credentials
        self._limits = limits
        self._report = report
        self._challenge = challenge
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End the streams: the server stops."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(scope, receive, send, self._limits)
        try:
            try:
                await self._identify(passage)
                await self._admit(passage)
            except _Refused as refused:
                await refused.answer(scope, receive, passage.sent)
            except OSError:
                if not passage.is_ended:
                    raise
        finally:
            self._report(passage.line())

    async def _identify(self, passage: _Passage) -> None:
        given = passage.headers.getlist("authorization")
        if not given:
            return
        try:
            passage.caller = await self._credentials.caller(passage.headers if len(given) == 1 else {})
        except CredentialError as error:
            if wait := self._limits.failed(passage.address):
                raise _too_many("authorization: too many credentials of this address were refused", wait) from None
            said = self._challenge if passage.is_mcp else CHALLENGE
            raise _Refused(problem(error, headers={"WWW-Authenticate": said})) from None
        except ReadmitError as error:  # a file of credentials: the operator reads what is wrong with it, not the caller
            logger.error("credentials cannot be checked: %s", one_line(str(error)))
            unread = StoreError("authorization: credentials cannot be checked now; see the output of the server")
            raise _Refused(problem(unread, headers={"Retry-After": "5"})) from None
        passage.credentials = self._credentials
        passage.scope[CALLER] = passage.caller

    async def _admit(self, passage: _Passage) -> None:
        caller = passage.caller
        if wait := self._limits.begin(caller, passage.address):
            raise _too_many("requests: these are more than the caller may send", wait)
        try:
            body = await passage.body()
            await self._app(passage.scope, _replayed(body, passage, self._stopping), passage.sent)
            if self._stopping.is_set():
                await passage.completed()
        finally:
            self._limits.end(caller)


class _Refused(Exception):  # noqa: N818 - an answer, and no error of this program
    """A request ends with this answer."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


def _too_many(why: str, wait: float) -> _Refused:
    seconds = max(1, math.ceil(wait))
    error = RateError(f"{why}; try again in {seconds} s")
    return _Refused(problem(error, headers={"Retry-After": str(seconds)}))


class _Passage:
    """One request on its way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: RequestLimits) -> None:
        self._limits = limits
        self.scope = scope
        self.receive = receive
        self.headers = Headers(scope=scope)
        self.caller: Caller | None = None
        self.credentials: Credentials | None = None
        self.is_ended = False
        """Whether its own credential ended the answer."""
        self._send = send
        self._status = 0
        self._bytes = 0
        self._is_open = False
        """Whether more of the answer is to come."""
        self._began = self._checked = time.monotonic()

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return str(client[0]) if client else ""

    @property
    def is_mcp(self) -> bool:
        return str(self.scope["path"]).startswith("/mcp")

    async def body(self) -> bytes:
        """The whole body, which has to arrive in time and within the limit."""
        largest, seconds = self._limits.largest(self.caller), self._limits.settings.body_seconds
        too_large = RecordError(f"body: it has more than {largest:,} bytes; send less at once")
        closed = {"Connection": "close"}  # what follows of the body is not read
        said = self.headers.get("content-length", "")
        if said.isascii() and said.isdigit() and (len(said) > len(str(largest)) or int(said) > largest):
            raise _Refused(problem(too_large, status=413, headers=closed))
        parts, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":  # what came may read like a whole request, and is not
                        raise _Refused(problem(RecordError("body: it ended too soon"), headers=closed))
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > largest:
                        raise _Refused(problem(too_large, status=413, headers=closed))
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            late = RecordError(f"body: it did not arrive within {seconds:.0f} s")
            raise _Refused(problem(late, status=408, headers=closed)) from None

    async def sent(self, message: Message) -> None:
        """Send on a part of the answer, if the credential still counts."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.setdefault("Cache-Control", "no-store")
            headers.setdefault("X-Content-Type-Options", "nosniff")
        elif message["type"] == "http.response.body":
            if message.get("more_body", False) and await self._is_over():
                self.is_ended = True
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
                raise OSError("the credential of this stream ended")
            self._bytes += len(message.get("body", b""))
            self._is_open = message.get("more_body", False)
        await self._send(message)

    async def completed(self) -> None:
        """Send the end of an answer that was broken off."""
        if self._is_open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _is_over(self) -> bool:
        if self.credentials is None or time.monotonic() - self._checked < self._limits.settings.again_seconds:
            return False
        self._checked = time.monotonic()
        try:
            now = await self.credentials.caller(self.headers)
        except ReadmitError:
            return True
        return now != self.caller

    def line(self) -> str:
        """The line of the request log."""
        who: Caller | None = self.scope.get(CALLER)
        return json_text(
            {
                "at": iso_moment(datetime.now(UTC)),
                "from": self.address[:64],
                "principal": None if who is None else who.principal,
                "credential": None if who is None else who.credential,
                "method": str(self.scope["method"])[:10],
                "path": _SECRET.sub("***", str(self.scope["path"]))[:_LONGEST_PATH],
                "status": self._status,
                "ms": round((time.monotonic() - self._began) * 1_000, 1),
                "bytes": self._bytes,
            }
        )


def _replayed(body: bytes, passage: _Passage, stopping: asyncio.Event) -> Receive:
    """Hands over the body that was read, and then what else comes: that the client left, or the server stops."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        left, stopped = asyncio.ensure_future(passage.receive()), asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait((left, stopped), return_when=asyncio.FIRST_COMPLETED)
            return left.result() if left.done() else {"type": "http.disconnect"}
        finally:
            left.cancel()
            stopped.cancel()

    return receive

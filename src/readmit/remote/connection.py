"""A connection to a server, blocking or for an event loop: sends calls, again where that is safe, and reads streams."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from readmit.models.endpoint import in_clear, is_local
from readmit.records.base import shown
from readmit.records.error_types import RecordError, StoreError
from readmit.remote.problem_errors import PROBLEM
from readmit.remote.wire_values import ProblemAnswer
from readmit.version import __version__

try:
    import httpx2
except ModuleNotFoundError:
    raise StoreError("httpx2 is not installed; run: pip install 'readmit[remote]'") from None
else:
    from readmit.remote.attempts import Attempts

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping

PATIENCE = 60.0
"""Seconds for which a call is tried while the server is away or busy."""
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
"""A server that works on an answer says so every few seconds."""
EVENTS = "text/event-stream"
_LONGEST_PATIENCE = 3_600
_KEY = r"[!-~]{1,4096}"


class VerbCall(NamedTuple):
    """One request, ready to be sent as often as it takes."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None
    headers: Mapping[str, str]
    read: Callable[[bytes | str], Any]
    is_safe: bool
    """Whether it may be sent again when its answer was lost: it is known there by its id, or changes nothing."""

    def answer(self, body: bytes | str) -> Any:
        """The answer, read from its body."""
        try:
            return self.read(body)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"the server answered with something else than {self.path} has: {error}; is a readmit server of this "
                "version at this address?"
            ) from None


def request_key() -> dict[str, str]:
    """The header under which a server answers a repetition as it answered before."""
    return {"idempotency-key": secrets.token_hex(16)}


class ServerAddress(NamedTuple):
    """The address of a server, and what every request to it carries."""

    url: str
    key: str
    patience: float
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        # Without the key: a traceback may show it.
        return f"<ServerAddress {self.url}>"

    def checked(self) -> ServerAddress:
        """Refuses an address that no key may be sent to, and what else is wrong with it."""
        host = _host(self.url)
        if in_clear(self.url):
            raise RecordError(
                f"url: a key is not sent to {host} over http://, where others can read it; use https://, or a tunnel "
                "on this machine (ssh -L 8000:localhost:8000 HOST)"
            )
        key: object = self.key
        if not (isinstance(key, str) and re.fullmatch(_KEY, key)):
            raise RecordError("key: not an API key; give the text that `readmit credentials add` printed")
        patience: object = self.patience
        if (
            isinstance(patience, bool)
            or not isinstance(patience, int | float)
            or not 0 <= patience <= _LONGEST_PATIENCE
        ):
            raise RecordError(
                f"patience: {shown(patience)} is no number of seconds; give one from 0 to {_LONGEST_PATIENCE}"
            )
        return self._replace(url=self.url.rstrip("/"))

    def options(self) -> dict[str, Any]:
        """Arguments of an HTTP client."""
        headers = {"authorization": f"Bearer {self.key}", "user-agent": f"readmit/{__version__}"}
        # Reading the authorities of this machine takes a while.
        verify = self.tls or self.url.startswith("https:")
        # A proxy of the environment is none for this machine.
        options = {"base_url": self.url, "headers": headers, "timeout": _TIMEOUT, "trust_env": not is_local(self.url)}
        # A redirect would carry texts to a server that is not configured.
        return {**options, "verify": verify, "follow_redirects": False}

    def attempts(self) -> Attempts:
        """The attempts of one call."""
        return Attempts(self.url, self.patience)


def _host(url: str) -> str:
    """The host of a server's address, if it is one."""
    try:
        parts = urlsplit(url)
        # Reading a port checks it.
        is_address = parts.scheme in ("http", "https") and parts.port != 0 and not (parts.query or parts.fragment)
    except (AttributeError, TypeError, ValueError):
        is_address = False
    if not (is_address and parts.hostname):
        raise RecordError(
            f"url: {shown(url)} is not a server's address; give one as https://HOST or http://localhost:8000"
        )
    if "@" in parts.netloc:
        raise RecordError("url: give the key as key=…, not in the address")
    return parts.hostname


class ServerConnection:
    """Blocks until a call is answered. Threads may share it."""

    def __init__(self, to: ServerAddress) -> None:
        self.to = to
        self._http = httpx2.Client(**to.options())

    def send(self, call: VerbCall, then: Callable[[Any], Any] = lambda answer: answer) -> Any:
        """Send a call until it is answered; ``then`` gets the answer."""
        attempts = self.to.attempts()
        while True:
            try:
                answer = self._http.send(_request(self._http, call))
            except httpx2.HTTPError as error:
                pause = attempts.after_failure(error, is_safe=call.is_safe)
            else:
                if answer.is_success:
                    return then(call.answer(answer.content))
                pause = attempts.after_answer(answer, is_safe=call.is_safe)
            time.sleep(pause)

    def events(self, call: VerbCall) -> Generator[httpx2.ServerSentEvent]:
        """The events of a stream, which is opened again when it is lost: what it said then is said again."""
        attempts = self.to.attempts()
        while True:
            try:
                answer = self._http.send(_request(self._http, call, EVENTS), stream=True)
                with closing(answer):
                    if not answer.is_success:
                        answer.read()
                        pause = attempts.after_answer(answer, is_safe=call.is_safe)
                    else:
                        for event in httpx2.EventSource(answer):
                            if event.event == "problem":
                                pause = _refused(attempts, event)
                                break
                            attempts = self.to.attempts()
                            yield event
                        else:
                            pause = attempts.after_failure(_ENDED, is_safe=call.is_safe)
            except httpx2.HTTPError as error:
                pause = attempts.after_failure(error, is_safe=call.is_safe)
            time.sleep(pause)

    def close(self) -> None:
        self._http.close()


class AsyncServerConnection:
    """Awaits the answer of a call. For one event loop; its tasks may share it."""

    def __init__(self, to: ServerAddress) -> None:
        self.to = to
        self._http = httpx2.AsyncClient(**to.options())

    async def send(self, call: VerbCall, then: Callable[[Any], Any] = lambda answer: answer) -> Any:
        """Send a call until it is answered; ``then`` gets the answer."""
        attempts = self.to.attempts()
        while True:
            try:
                answer = await self._http.send(_request(self._http, call))
            except httpx2.HTTPError as error:
                pause = attempts.after_failure(error, is_safe=call.is_safe)
            else:
                if answer.is_success:
                    return then(call.answer(answer.content))
                pause = attempts.after_answer(answer, is_safe=call.is_safe)
            await asyncio.sleep(pause)

    async def events(self, call: VerbCall) -> AsyncGenerator[httpx2.ServerSentEvent, None]:
        """The events of a stream, which is opened again when it is lost: what it said then is said again."""
        attempts = self.to.attempts()
        while True:
            is_open = False
            try:
                answer = await self._http.send(_request(self._http, call, EVENTS), stream=True)
                async with aclosing(answer):
                    if not answer.is_success:
                        await answer.aread()
                        pause = attempts.after_answer(answer, is_safe=call.is_safe)
                    else:
                        is_open = call.method == "GET"  # it stands as long as its reader wants; a return ends
                        async for event in httpx2.EventSource(answer):
                            if event.event == "problem":
                                pause = _refused(attempts, event)
                                break
                            attempts = self.to.attempts()
                            yield event
                        else:
                            raise _ENDED
            except httpx2.HTTPError as error:
                if is_open:
                    attempts.answered()
                pause = attempts.after_failure(error, is_safe=call.is_safe)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        await self._http.aclose()


_ENDED = httpx2.RemoteProtocolError("the stream ended")


def _request(
    http: httpx2.Client | httpx2.AsyncClient, call: VerbCall, accept: str = "application/json"
) -> httpx2.Request:
    if http.is_closed:
        raise StoreError("the workspace is closed: open it again")
    headers = {"accept": accept, **call.headers}
    return http.build_request(call.method, call.path, params=call.query or None, content=call.body, headers=headers)


def _refused(attempts: Attempts, event: httpx2.ServerSentEvent) -> float:
    """Seconds to wait after a stream that ended with a problem, as after an answer that is one."""
    body = event.data.encode()
    status = msgspec.json.decode(body, type=ProblemAnswer).status
    return attempts.after_answer(httpx2.Response(status, headers={"content-type": PROBLEM}, content=body), is_safe=True)

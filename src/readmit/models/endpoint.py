"""One connection to an OpenAI-compatible server, for chat and for embeddings.

The SDK retries with exponential backoff and jitter and honors Retry-After (up to two minutes). This module adds a
wall-clock deadline for a call with all its retries (the SDK's own timeout restarts with every byte), a limit on
concurrent calls, a cap on the size of a response, and keeps keys and texts out of logs.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from readmit.models.protocols import Fault
from readmit.plugins import require_package
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import httpx2
    import openai

MAX_RESPONSE_BYTES = 8 * 2**20
"""A response larger than this is refused while it arrives."""

OPENAI = "https://api.openai.com/v1"
# Statuses that are not about the request: any other request would fail too.
_DENIED = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.PAYMENT_REQUIRED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
    }
)


class CallError(Exception):
    """A call failed after all retries. Stays inside the providers, which turn it into a ``Failure``."""

    def __init__(self, fault: Fault, message: str, *, complaint: bool = False) -> None:
        super().__init__(message)
        self.fault = fault
        self.complaint = complaint
        """Whether the server rejects the form of the request."""


class Endpoint:
    """A server, its key, and the limits of a call. Connects when first used; safe to use from several threads."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        key_env: str | None = None,
        deadline: float = 120.0,
        overall: float = 1_800.0,
        retries: int = 4,
        concurrency: int = 8,
    ) -> None:
        """Fail early on a missing key or an impossible limit."""
        require_package("openai", "models", ModelError)
        limits = {"deadline": (deadline, 0.01), "overall": (overall, 0.01)}
        limits |= {"retries": (retries, 0), "concurrency": (concurrency, 1)}
        for field, (value, least) in limits.items():
            if not value >= least:
                raise ModelError(f"{field}: {value} is too small; the least is {least:g}")
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        if urlsplit(self.base_url).scheme not in ("http", "https"):
            raise ModelError(f"base_url: {self.base_url!r} must begin with http:// or https://")
        if (api_key or key_env) and in_clear(self.base_url):
            raise ModelError(
                f"{'api_key' if api_key else 'key_env'}: a key is not sent to {urlsplit(self.base_url).hostname} over "
                "http://, where others can read it; use https://, or a tunnel on this machine (ssh -L "
                "8000:localhost:8000 HOST, base_url=http://localhost:8000/v1), or no key if the server needs none"
            )
        self._key = api_key or _key_from(key_env, self.base_url)
        self._deadline = deadline
        self._overall = overall
        self._retries = retries
        self._concurrency = concurrency
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: openai.AsyncOpenAI | None = None

    def until(self) -> float:
        """The deadline of calls that start together now, on the monotonic clock."""
        return time.monotonic() + self._overall

    def post(
        self, path: str, bodies: Sequence[dict[str, Any]], *, until: float | None = None
    ) -> list[tuple[bytes | CallError, int]]:
        """Post every body; returns, in order, each response or error and its milliseconds."""
        if not bodies:
            return []
        loop, client = self._started()
        end = self.until() if until is None else until
        running = asyncio.run_coroutine_threadsafe(self._post_all(client, path, bodies, end), loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def close(self) -> None:
        """Close the connections and end the thread that served them."""
        with self._starting:
            loop, client = self._loop, self._client
            self._loop = self._client = None
        if loop is not None and client is not None:
            asyncio.run_coroutine_threadsafe(_end(client), loop).result(timeout=5)
            loop.call_soon_threadsafe(loop.stop)

    async def _post_all(
        self, client: openai.AsyncOpenAI, path: str, bodies: Sequence[dict[str, Any]], end: float
    ) -> list[tuple[bytes | CallError, int]]:
        free = asyncio.Semaphore(self._concurrency)

        async def one(body: dict[str, Any]) -> tuple[bytes | CallError, int]:
            begun = time.monotonic()
            try:
                async with asyncio.timeout(max(0.0, end - begun)), free:
                    begun = time.monotonic()
                    async with asyncio.timeout(self._deadline):
                        result: bytes | CallError = await self._post(client, path, body)
            except TimeoutError:
                limit = f"{self._deadline:g} s" if time.monotonic() < end else f"{self._overall:g} s for all calls"
                result = CallError(Fault.TIMEOUT, f"no answer within {limit}")
            except CallError as error:
                result = error
            return result, round((time.monotonic() - begun) * 1_000)

        return list(await asyncio.gather(*(one(body) for body in bodies)))

    async def _post(self, client: openai.AsyncOpenAI, path: str, body: dict[str, Any]) -> bytes:
        import httpx2
        import openai

        try:
            response = await client.post(path, body=body, cast_to=httpx2.Response)
        except openai.APITimeoutError:
            raise CallError(Fault.TIMEOUT, "the server did not answer in time, also after retries") from None
        except openai.APIConnectionError as error:
            what = type(error.__cause__ or error).__name__
            raise CallError(Fault.UNAVAILABLE, f"no connection to {self.base_url}: {what}") from None
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        return response.content

    def _refused(self, error: openai.APIStatusError) -> CallError:
        message = error.message.replace(self._key, "***") if self._key else error.message
        if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return CallError(Fault.RATE_LIMITED, message)
        if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return CallError(Fault.UNAVAILABLE, message)
        if error.status_code in _DENIED:
            return CallError(Fault.DENIED, message)
        complaint = error.status_code in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
        return CallError(Fault.REFUSED, message, complaint=complaint)

    def _started(self) -> tuple[asyncio.AbstractEventLoop, openai.AsyncOpenAI]:
        with self._starting:
            if self._loop is None or self._client is None:
                self._client = self._connected()
                self._loop = asyncio.new_event_loop()
                # A daemon, so that a program that does not close its model can still exit.
                threading.Thread(target=_serve, args=(self._loop,), name="readmit-endpoint", daemon=True).start()
            return self._loop, self._client

    def _connected(self) -> openai.AsyncOpenAI:
        import openai

        return openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._key or "none",
            max_retries=self._retries,
            timeout=self._deadline,
            http_client=_capped_client(
                # A redirect would send the request, and so record text, to an unconfigured server.
                follow_redirects=False,
                # An environment proxy does not apply to this machine.
                trust_env=not is_local(self.base_url),
            ),
        )


async def _end(client: openai.AsyncOpenAI) -> None:
    """Cancel running calls, so that no thread waits for them, and close the connections."""
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await client.close()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _key_from(variable: str | None, base_url: str) -> str:
    """The API key from the environment. A server on this machine or reached by http:// gets only a key named for it."""
    if variable is None and (is_local(base_url) or in_clear(base_url)):
        return ""
    variable = variable or "OPENAI_API_KEY"
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelError(f"no API key for {base_url}: set the environment variable {variable}")
    return key


def _capped_client(**options: Any) -> httpx2.AsyncClient:
    """An HTTP client that stops reading a response at the size limit."""
    import httpx2
    import openai

    class Capped(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                if size > MAX_RESPONSE_BYTES:
                    raise CallError(Fault.TOO_LONG, f"the response is larger than {MAX_RESPONSE_BYTES} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def cap(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise CallError(Fault.REFUSED, "the server compressed its response although it was asked not to")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Capped(response.stream)

    # Uncompressed, so that the cap counts bytes in memory.
    return openai.DefaultAsyncHttpxClient(
        headers={"Accept-Encoding": "identity"}, event_hooks={"response": [cap]}, **options
    )


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_local(url: str) -> bool:
    """Whether a URL names this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def in_clear(url: str) -> bool:
    """Whether requests to a URL can be read on the network: plain http to another machine."""
    return urlsplit(url).scheme == "http" and not is_local(url)

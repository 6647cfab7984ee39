"""What every request passes: its credential, limits, size and log line. A tiny application behind a real server."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from readmit.server import ApiKeys, BearerCredentials, Entrance, LimitSettings, RequestLimits
from tests.server.serving import served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.requests import Request

LIMITS = LimitSettings(
    per_minute=60_000, at_once=3, anonymous_per_minute=60_000, failures_per_minute=60_000, largest=50_000,
    largest_anonymous=1_000, body_seconds=0.5, again_seconds=0.1,
)  # fmt: skip


class Desk:
    """A server with its keys and its request log."""

    def __init__(self, folder: Path, limits: LimitSettings = LIMITS) -> None:
        self.keys = ApiKeys(folder)
        self.lines: list[str] = []
        self.gate = threading.Event()
        self.reached = 0
        app = Starlette(
            routes=[
                Route("/echo/{rest:path}", self._echo, methods=["GET", "POST"]),
                Route("/stream", self._stream),
                Route("/hold", self._hold),
            ]
        )
        credentials = BearerCredentials(self.keys)
        self.app = Entrance(app, credentials, RequestLimits(limits), self.lines.append, "Bearer see")
        self.url = ""

    def key(self, **changed: Any) -> tuple[str, dict[str, str]]:
        """A new key: its id, and the header that uses it."""
        now = datetime.now(UTC)
        given = {"workspaces": ["trip"], "rights": ["write"], "now": now, "expires": now + timedelta(days=1)}
        made, key = self.keys.add("A1", **{**given, **changed})
        return made.id, {"Authorization": f"Bearer {key}"}

    @property
    def last(self) -> Any:
        """The last line of the log, which is written after the answer."""
        for _ in range(100):
            if self.lines:
                return json.loads(self.lines[-1])
            time.sleep(0.01)
        raise AssertionError("no line")

    async def _echo(self, request: Request) -> Response:
        self.reached += 1
        return JSONResponse({"bytes": len(await request.body())})

    async def _hold(self, _: Request) -> Response:
        await asyncio.to_thread(self.gate.wait)
        return Response("held")

    async def _stream(self, _: Request) -> Response:
        async def beats() -> AsyncIterator[bytes]:
            while True:
                yield b": beat\n\n"
                await asyncio.sleep(0.02)

        return StreamingResponse(beats(), media_type="text/event-stream")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    with served(made.app) as made.url:
        yield made


def test_a_good_key_passes_and_a_line_says_who(desk: Desk) -> None:
    name, header = desk.key()
    answer = httpx.post(f"{desk.url}/echo/x?secret=1", headers=header, content=b"a text of the team")
    assert answer.json() == {"bytes": 18}
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    line = desk.last
    assert {one: line[one] for one in ("principal", "credential", "method", "path", "status", "from")} == {
        "principal": "A1", "credential": name, "method": "POST", "path": "/echo/x", "status": 200, "from": "127.0.0.1",
    }  # fmt: skip
    assert "secret" not in desk.lines[-1]
    assert "a text" not in desk.lines[-1]


def test_a_line_is_one_line_without_controls_and_without_a_key(desk: Desk) -> None:
    _, header = desk.key()
    key = header["Authorization"].removeprefix("Bearer ")
    httpx.get(
        f"{desk.url}/echo/%0d%0a%1b[31m%7b{key}/eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln%e2%80%ae", headers=header
    )
    assert desk.last["status"] == 404
    assert "\n" not in desk.lines[-1]
    assert "\x1b" not in desk.lines[-1]
    assert "\u202e" not in desk.lines[-1]
    assert key.rpartition("_")[2] not in desk.lines[-1]
    assert "eyJ" not in desk.lines[-1]
    assert len(desk.lines[-1]) < 1_000


def test_a_wrong_key_gets_a_challenge_and_no_more(desk: Desk) -> None:
    answer = httpx.get(f"{desk.url}/echo/x", headers={"Authorization": "Bearer rk_000000000000_" + "0" * 64})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == 'Bearer realm="readmit", error="invalid_token"'
    assert answer.json()["type"] == "/problems/CredentialError"
    tools = httpx.post(f"{desk.url}/mcp", headers={"Authorization": "Bearer x"})
    assert tools.headers["www-authenticate"] == "Bearer see"
    assert desk.reached == 0


def test_two_credentials_are_none(desk: Desk) -> None:
    _, header = desk.key()
    both = [("Authorization", header["Authorization"]), ("Authorization", "Bearer other")]
    for given in (both, both[::-1]):
        assert httpx.get(f"{desk.url}/echo/x", headers=given).status_code == 401


def test_a_body_has_a_largest_size_declared_or_not(desk: Desk) -> None:
    _, header = desk.key()
    url = f"{desk.url}/echo/x"
    assert httpx.post(url, headers=header, content=b"x" * 50_000).json() == {"bytes": 50_000}

    def parts() -> Iterator[bytes]:
        yield from (b"x" * 10_000 for _ in range(20))

    for content in (b"x" * 50_001, parts()):
        refused = httpx.post(url, headers=header, content=content)
        assert (refused.status_code, refused.json()["detail"][:35]) == (413, "body: it has more than 50,000 bytes")
    assert httpx.post(url, content=b"x" * 1_001).status_code == 413, "without a credential it is smaller"
    assert desk.reached == 1


def test_a_length_that_lies_is_not_waited_for(desk: Desk) -> None:
    host, port = desk.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nshort")
        assert raw.recv(12) == b"HTTP/1.1 408"
    for length in (b"99999999999999999999999999", b"-1", b"1e3"):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(b"POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n")
            assert raw.recv(10) == b"HTTP/1.1 4"
    assert desk.reached == 0


def test_a_body_that_breaks_off_is_no_request(desk: Desk) -> None:
    host, port = desk.url.removeprefix("http://").split(":")
    for head in (b"Content-Length: 900\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"):
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(b"POST /echo/x HTTP/1.1\r\nHost: x\r\n" + head)
            time.sleep(0.05)
    assert desk.last["status"] == 422
    time.sleep(0.1)
    assert desk.reached == 0


def test_requests_of_one_credential_at_once_are_bounded_and_others_pass(desk: Desk) -> None:
    (_, one), (_, other) = desk.key(), desk.key()
    with httpx.Client(base_url=desk.url, timeout=10) as client:
        held = [threading.Thread(target=client.get, args=("/hold",), kwargs={"headers": one}) for _ in range(3)]
        for thread in held:
            thread.start()
        refused = _until(429, lambda: client.get("/echo/x", headers=one))
        assert (refused.headers["retry-after"], refused.json()["type"]) == ("1", "/problems/RateError")
        assert client.get("/echo/x", headers=other).status_code == 200
        desk.gate.set()
        for thread in held:
            thread.join()
        assert client.get("/echo/x", headers=one).status_code == 200


def _until(status: int, ask: Any) -> httpx.Response:
    for _ in range(200):
        answer: httpx.Response = ask()
        if answer.status_code == status:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"never {status}")


def test_requests_a_minute_are_bounded_and_come_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path, LimitSettings(per_minute=120, failures_per_minute=30))
    (_, header), (_, own) = desk.key(), desk.key(per_minute=30)
    with served(desk.app) as url, httpx.Client(base_url=url) as client:
        statuses = [client.get("/echo/x", headers=header).status_code for _ in range(40)]
        assert statuses[:20] == [200] * 20
        assert 429 in statuses[20:]
        assert 429 in [client.get("/echo/x", headers=own).status_code for _ in range(8)]
        waits = [client.get("/echo/x", headers={"Authorization": "Bearer no"}) for _ in range(12)]
        assert (waits[0].status_code, waits[-1].status_code) == (401, 429)
        assert int(waits[-1].headers["retry-after"]) >= 1
        time.sleep(0.6)
        assert client.get("/echo/x", headers=header).status_code == 200, (
            "an address that guessed still has its good key"
        )


def test_a_stream_ends_soon_after_its_key_is_revoked(desk: Desk) -> None:
    name, header = desk.key()
    with httpx.stream("GET", f"{desk.url}/stream", headers=header, timeout=10) as answer:
        beats = answer.iter_raw()
        for _ in range(10):
            next(beats)
        desk.keys.revoke(name, now=datetime.now(UTC))
        began = time.monotonic()
        for _ in beats:
            assert time.monotonic() - began < 5
    assert (desk.last["status"], desk.last["path"]) == (200, "/stream")


def test_a_list_of_keys_that_cannot_be_read_is_no_list_without_keys(desk: Desk) -> None:
    _, header = desk.key()
    desk.keys.path.write_text("x")
    answer = httpx.get(f"{desk.url}/echo/x", headers=header)
    assert (answer.status_code, answer.json()["type"]) == (503, "/problems/StoreError")
    assert str(desk.keys.path.parent) not in answer.text


def test_buckets_of_many_addresses_take_bounded_memory() -> None:
    limits = RequestLimits(LimitSettings())
    for number in range(30_000):
        assert not limits.begin(None, f"10.{number // 65_536}.{number // 256 % 256}.{number % 256}")
    assert len(limits._addresses._left) <= 20_000
    six = [limits.failed(f"2001:db8::{number:x}") for number in range(40)]
    assert six[-1] > 0, "the addresses of one network are one"

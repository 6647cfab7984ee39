"""A stand-in for OpenAI-compatible servers: a real HTTP server on the loopback interface that plays a script.

Status codes, headers and bodies are the ones such servers send; the faults are the ones that happen to them.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    Play = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn
    body: dict[str, Any]

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        play = self.server.begin(self)
        try:
            play(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.end()

    def send(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class StandIn(ThreadingHTTPServer):
    """Plays the given acts in order, then the last one forever; remembers what it was sent."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *plays: Play) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._script = iter(plays)
        self._last = plays[-1]
        self._lock = threading.Lock()
        self._busy = 0
        self.over = threading.Event()
        self.most_busy = 0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def begin(self, handler: Handler) -> Play:
        with self._lock:
            self.bodies.append(handler.body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self.times.append(time.monotonic())
            self._busy += 1
            self.most_busy = max(self.most_busy, self._busy)
            return next(self._script, self._last)

    def end(self) -> None:
        with self._lock:
            self._busy -= 1

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that went away is part of the script."""


def completion(text: str | None, *, finish: str = "stop", **message: object) -> bytes:
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "stand-in-2025",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, **message},
                    "finish_reason": finish,
                    "logprobs": None,
                }
            ],
            "usage": {
                "prompt_tokens": 40,
                "completion_tokens": 7,
                "total_tokens": 47,
                "prompt_tokens_details": {"cached_tokens": 32, "audio_tokens": 0},
            },
        }
    ).encode()


def says(text: str | None, **options: Any) -> Play:
    return lambda handler: handler.send(200, completion(text, **options))


def echoes(handler: Handler) -> None:
    """Answer with what was asked, later requests sooner, so that order is not kept by chance."""
    user = handler.body["messages"][-1]["content"]
    time.sleep(0.2 / (1 + int(user.rpartition(" ")[2])))
    handler.send(200, completion(f"echo {user}"))


def sends(data: bytes, **headers: str) -> Play:
    return lambda handler: handler.send(200, data, **headers)


def fails(status: int, message: str = "it failed", **headers: str) -> Play:
    data = json.dumps({"error": {"message": message, "type": "server_error", "code": None}}).encode()
    return lambda handler: handler.send(status, data, **headers)


def hangs(handler: Handler) -> None:
    """No answer as long as the server runs."""
    handler.server.over.wait()
    handler.send(200, completion("too late"))


def drips(handler: Handler) -> None:
    """One byte at a time: every read succeeds, and the answer never ends."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not handler.server.over.is_set():
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def cuts(handler: Handler) -> None:
    """The connection ends in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "10000")
    handler.end_headers()
    handler.wfile.write(completion("half")[:50])
    handler.close_connection = True


def resets(handler: Handler) -> None:
    """The connection is reset before anything is sent."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    handler.rfile.close()
    handler.wfile = _Nowhere()  # type: ignore[assignment]


def floods(handler: Handler) -> None:
    """A response without a stated length that goes on for much longer than any answer."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    for _ in range(64):
        handler.wfile.write(b" " * 2**20)
    handler.close_connection = True


def refuses(field: str, message: str) -> Callable[[Play], Play]:
    """A server that answers 400 as long as a request has a field, or a response_format of some type."""

    def wrap(otherwise: Play) -> Play:
        def play(handler: Handler) -> None:
            if field in _fields(handler.body):
                fails(400, message)(handler)
            else:
                otherwise(handler)

        return play

    return wrap


def _fields(body: dict[str, Any]) -> Iterator[str]:
    yield from body
    yield body.get("response_format", {}).get("type", "")


class _Nowhere:
    closed = False

    def write(self, _: bytes) -> int:
        return 0

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

"""A server that answers as a script says: what a network and a proxy may do to a client."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

STATUS = {"name": "default", "epoch": 3, "principal": "bob"}
"""The answer to a client that connects."""


@dataclass(frozen=True)
class Answer:
    """One answer; without a status, the connection ends before it."""

    status: int | None = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    after: float = 0.0
    """Seconds for which it stands open before its body."""


LOST = Answer(None)


def problem(kind: str, status: int, detail: str = "", **headers: str) -> Answer:
    said = {"type": f"/problems/{kind}", "title": "A title.", "status": status, "detail": detail}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, said, named, "application/problem+json")


def events(*said: tuple[str, object], after: float = 0.0) -> Answer:
    """A stream that ends after these events, which come after some seconds."""
    text = ": a heartbeat\n\n" + "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in said)
    return Answer(200, text, media_type="text/event-stream", after=after)


@dataclass(frozen=True)
class Received:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Scripted:
    """Answers with each of some answers, then with the last one again. ``received`` has what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = deque(answers)
        self.received: list[Received] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._answered))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answered(self, received: Received) -> Answer:
        self.received.append(received)
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]


def _handler(answered: Callable[[Received], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = answered(Received(self.command, self.path, headers, sent))
            self.close_connection = True
            if said.status is None:
                return
            is_json = "json" in said.media_type
            body = (json.dumps(said.body) if is_json else said.body).encode()
            self.send_response(said.status)
            named = {"content-type": said.media_type, "content-length": str(len(body)), **said.headers}
            for name, value in {**named, "connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.flush()
            time.sleep(said.after)
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = answer  # noqa: N815 - as the library calls them

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
            pass

    return Handler

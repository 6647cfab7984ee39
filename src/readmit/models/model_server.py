"""A model and an embedder as an HTTP server that OpenAI's clients understand.

The API key of a client names its play: one pass of a program, such as a memory store, over one episode. The first
request without an answer ends the play: every later request of that key is refused, so that a program that goes on
without the answer asks nothing that rests on the gap. Requests that came side by side with the first are still asked.
Once they are answered, the program plays again from the start, under another key.
"""

from __future__ import annotations

import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.models.protocols import Failure, Fault
from readmit.models.served_requests import read_chat, write_chat, write_embeddings, write_error, write_models
from readmit.records.error_types import ModelError, PendingAnswers, RecordError

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.models.protocols import Embedder, Model

LONGEST_REQUEST = 8 * 1024 * 1024
PATIENCE = 60.0
"""Seconds that a connection may be silent."""
QUIET = 0.25
"""Seconds without a new request of the play before its first missing answer is reported."""
_BACKLOG = 128
_PENDING = "pending_answers"
_FINAL = frozenset({Fault.REFUSED, Fault.TOO_LONG, Fault.MALFORMED})
CHAT, EMBEDDINGS, MODELS, PLAY = "/v1/chat/completions", "/v1/embeddings", "/v1/models", "/v1/play"
_GET, _POST = (MODELS, PLAY), (CHAT, EMBEDDINGS)


class StorePlay:
    """One pass of a program over one episode."""

    def __init__(self) -> None:
        self.ended = ""
        """Why nothing more is asked for it, if so."""
        self.unanswered = 0
        self._last = 0.0
        self._lock = threading.Lock()

    def enter(self) -> str:
        """Note a request. Returns why it is refused, if it is."""
        self._last = time.monotonic()
        return self.ended

    def end(self, why: str) -> None:
        """End the play, once no request comes beside the one without an answer."""
        with self._lock:
            self.unanswered += 1
        while (left := self._last + QUIET - time.monotonic()) > 0 and not self.ended:
            time.sleep(left)
        self.ended = self.ended or why


class _Answer(NamedTuple):
    status: HTTPStatus
    body: bytes


class ModelServer(ThreadingHTTPServer):
    """Serves one model under any name, and one embedder. ``report`` gets one line for each refusal."""

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(
        self,
        model: Model,
        embedder: Embedder | None = None,
        *,
        address: tuple[str, int] = ("127.0.0.1", 0),
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Listen; without a port, on one that is free."""
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.model, self.embedder, self.report = model, embedder, report
        self._plays: dict[str, StorePlay] = {}
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        host, port = self.server_address[:2]
        host = host.decode() if isinstance(host, bytes) else str(host)
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"

    def play(self, key: str) -> StorePlay:
        """The play that an API key names."""
        with self._lock:
            return self._plays.setdefault(key, StorePlay())

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's signature
        """A connection that broke concerns that client alone."""
        self.report("a connection broke")

    def answer(self, path: str, body: bytes, play: StorePlay) -> _Answer:
        """Answer a request that has come whole."""
        if ended := play.enter():
            return _refused(HTTPStatus.FAILED_DEPENDENCY, f"{ended}; this play has ended", _PENDING)
        try:
            if path == EMBEDDINGS:
                if self.embedder is None:
                    return _refused(HTTPStatus.NOT_FOUND, "no embedder is served", "not_found")
                return _Answer(HTTPStatus.OK, write_embeddings(body, self.embedder))
            return self._completed(body, play)
        except RecordError as error:
            return _refused(HTTPStatus.BAD_REQUEST, str(error), "invalid_request_error")

    def _completed(self, body: bytes, play: StorePlay) -> _Answer:
        ask = read_chat(body)
        try:
            (result,) = self.model.ask([ask])
        except PendingAnswers as waiting:
            play.end(str(waiting))
            return _refused(HTTPStatus.FAILED_DEPENDENCY, str(waiting), _PENDING)
        except ModelError as error:
            play.end(str(error))
            return _refused(HTTPStatus.FAILED_DEPENDENCY, str(error), "model_error")
        if isinstance(result, Failure):
            if result.fault in _FINAL:
                return _refused(HTTPStatus.BAD_REQUEST, f"{result.fault}: {result.message}", str(result.fault))
            play.end(result.message)
            return _refused(HTTPStatus.FAILED_DEPENDENCY, result.message, str(result.fault))
        return _Answer(HTTPStatus.OK, write_chat(ask, result))


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"
    server_version = "readmit-model"
    sys_version = ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        if self.path == MODELS:
            names = [self.server.model.name, *([self.server.embedder.name] if self.server.embedder else ())]
            self._send(_Answer(HTTPStatus.OK, write_models(names)))
        elif self.path == PLAY:
            play = self._play()
            said = {"ended": bool(play.ended), "why": play.ended, "unanswered": play.unanswered}
            self._send(_Answer(HTTPStatus.OK, msgspec.json.encode(said)))
        else:
            self._send(self._misplaced())

    def do_POST(self) -> None:
        self._send(self._posted() if self.path in _POST else self._misplaced())

    def _posted(self) -> _Answer:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            return _refused(HTTPStatus.LENGTH_REQUIRED, "Content-Length: say how long the request is", "length")
        if len(length) > len(str(LONGEST_REQUEST)) or int(length) > LONGEST_REQUEST:
            most = f"request: {LONGEST_REQUEST:,} bytes at most"
            return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, most, "too_large")
        body = self.rfile.read(int(length))
        try:
            return self.server.answer(self.path, body, self._play())
        except Exception as error:  # noqa: BLE001 - the server stays up, and the client learns that there is no answer
            self.server.report(f"failed: {type(error).__name__}: {error}")
            return _refused(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}; see the server's output", "bug")

    def _play(self) -> StorePlay:
        return self.server.play(self.headers.get("Authorization", "").removeprefix("Bearer "))

    def _misplaced(self) -> _Answer:
        if self.path in (*_GET, *_POST):
            usable = "GET" if self.path in _GET else "POST"
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, f"method: {self.path} takes {usable}", "method")
        return _refused(HTTPStatus.NOT_FOUND, f"path: use {', '.join((*_POST, *_GET))}", "not_found")

    def _send(self, answer: _Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.status is not HTTPStatus.OK:
            self.server.report(f"{self.command} {self.path!r}: {answer.status.value} {answer.body.decode()}")
            # The same request gets the same answer; OpenAI's clients heed this header.
            self.send_header("x-should-retry", "false")
            # The body may not have been read; what follows on this connection could be anything.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
        """The base class logs requests; ``report`` does here."""


def _refused(status: HTTPStatus, message: str, code: str) -> _Answer:
    return _Answer(status, write_error(message, code))

"""The witness as an HTTP server of the standard library.

It speaks plain HTTP. Across machines, put it behind something that speaks HTTPS.
"""

from __future__ import annotations

import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from readmit.trust.witness.protocol import LONGEST_REQUEST, PATH, WitnessAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.trust.witness.cosigner import Witness

PATIENCE = 10.0  # seconds that a connection may be silent
_BACKLOG = 64


class WitnessServer(ThreadingHTTPServer):
    """Serves one witness. ``report`` gets one line for each answer."""

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(self, address: tuple[str, int], witness: Witness, report: Callable[[str], None]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.witness = witness
        self.report = report
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's signature
        """A connection that broke concerns that client alone."""
        self.report("a connection broke")


class _Handler(BaseHTTPRequestHandler):
    server: WitnessServer
    protocol_version = "HTTP/1.1"
    server_version = "readmit-witness"
    sys_version = ""
    timeout = PATIENCE

    def do_POST(self) -> None:
        answer = self._answer()
        self.server.report(f"{self.path!r}: {answer.status.value} {answer.status.phrase}")
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.status is not HTTPStatus.OK:
            # The body may not have been read; what follows on this connection could be anything.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(answer.body)

    def _answer(self) -> WitnessAnswer:
        if self.path != PATH:
            return WitnessAnswer(HTTPStatus.NOT_FOUND, f"path: use {PATH}\n".encode())
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            return WitnessAnswer(HTTPStatus.LENGTH_REQUIRED, b"Content-Length: say how long the request is\n")
        if len(length) > len(str(LONGEST_REQUEST)) or int(length) > LONGEST_REQUEST:
            return WitnessAnswer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"request: %d bytes at most\n" % LONGEST_REQUEST)
        body = self.rfile.read(int(length))
        try:
            return self.server.witness.add(body)
        except Exception as error:  # noqa: BLE001 - nothing is cosigned, and the server stays up
            self.server.report(f"failed: {type(error).__name__}: {error}")
            return WitnessAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, b"the witness failed; see its output\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
        """The base class logs requests; ``report`` does here."""

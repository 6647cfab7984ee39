"""Decides whether a log checkpoint is cosigned, and stores the cosigned one durably before it answers.

The newest cosigned checkpoint of each log is in a SQLite file, so that several processes may share it. The check and
the write are one transaction: no two requests can both extend the same state.

The request of c2sp.org/tlog-witness: a checkpoint, and the proof that it extends the one of the old size.

The witness as an HTTP server of the standard library.

It speaks plain HTTP. Across machines, put it behind something that speaks HTTPS.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.error_types import SealError, WitnessError
from readmit.trust.merkle import EMPTY, HASH_BYTES, verify_consistency
from readmit.trust.notes import (
    COSIGNATURE,
    LONGEST_NOTE,
    LogCheckpoint,
    NoteKey,
    cosign_note,
    note_text,
    open_note,
    size_of,
)
from readmit.trust.private_keys import FILE_MODE, FileRing, decode64, encode64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from readmit.trust.signer import Signer


PATH = "/add-checkpoint"
MOST_HASHES = 63
SIZE_TYPE = "text/x.tlog.size"
TEXT_TYPE = "text/plain; charset=utf-8"
# A hash takes 44 characters of base64 and a newline; a line more says the old size.
LONGEST_REQUEST = LONGEST_NOTE + 45 * (MOST_HASHES + 1)


class WitnessRequest(msgspec.Struct, frozen=True):
    """A log's request for a cosignature. ``old`` is the last size that the witness cosigned."""

    old: int
    proof: tuple[bytes, ...]
    note: bytes

    def to_bytes(self) -> bytes:
        lines = (f"old {self.old}", *map(encode64, self.proof), "")
        return "".join(f"{line}\n" for line in lines).encode() + self.note

    @classmethod
    def from_bytes(cls, body: bytes) -> WitnessRequest:
        """Read a request strictly; ``SealError`` names its fault."""
        if len(body) > LONGEST_REQUEST:
            raise SealError(f"request: {len(body)} bytes are too long; the limit is {LONGEST_REQUEST}")
        head, blank, note = body.partition(b"\n\n")
        if not blank:
            raise SealError("request: expected an old size, a proof, a blank line and a checkpoint")
        try:
            first, *rest = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise SealError("request: the lines before the checkpoint are not ASCII") from None
        word, _, size = first.partition(" ")
        if word != "old":
            raise SealError("request: the first line is not `old` and a size")
        if len(rest) > MOST_HASHES:
            raise SealError(f"request: a proof has at most {MOST_HASHES} hashes")
        proof = tuple(decode64(line, "request: proof") for line in rest)
        if any(len(one) != HASH_BYTES for one in proof):
            raise SealError(f"request: each hash of the proof has {HASH_BYTES} bytes")
        return cls(size_of(size, "request: old size"), proof, note)


class WitnessAnswer(msgspec.Struct, frozen=True):
    """A witness's answer: an HTTP status and a body."""

    status: HTTPStatus
    body: bytes
    kind: str = TEXT_TYPE


_FORMAT = 1
_WAIT = 10.0  # seconds for another process that writes
_TABLE = "CREATE TABLE seen (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, note BLOB NOT NULL)"


class Witness:
    """Cosigns checkpoints of the logs whose keys it knows."""

    def __init__(
        self, state: Path, signer: Signer, logs: Iterable[NoteKey], clock: Callable[[], int], name: str | None = None
    ) -> None:
        self._state = state
        self._signer = signer
        self._logs = tuple(logs)
        self._clock = clock
        # The default is as stable as the key, and no two keys share it.
        self.key = NoteKey(name or f"witness/{signer.keyid[:8]}", signer.public, COSIGNATURE)

    def add(self, body: bytes) -> WitnessAnswer:
        """The answer to one request."""
        try:
            request = WitnessRequest.from_bytes(body)
            head = LogCheckpoint.from_text(note_text(request.note))
        except SealError as error:
            return _refused(HTTPStatus.BAD_REQUEST, str(error))
        known = [key for key in self._logs if key.name == head.origin]
        if not known:
            return _refused(HTTPStatus.NOT_FOUND, "origin: this witness does not know the log; start it with --trust")
        try:
            open_note(request.note, known)
        except SealError as error:
            return _refused(HTTPStatus.FORBIDDEN, str(error))
        if request.old > head.size:
            return _refused(HTTPStatus.BAD_REQUEST, f"old: {request.old} is larger than the checkpoint's {head.size}")
        return self._extend(request, head) or self._cosigned(request.note)

    def _extend(self, request: WitnessRequest, head: LogCheckpoint) -> WitnessAnswer | None:
        """Store a log checkpoint that extends the last one; else return the refusal."""
        with closing(_connect(self._state)) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute("SELECT size, root FROM seen WHERE origin = ?", (head.origin,)).fetchone()
            size, root = row or (0, EMPTY)
            if request.old != size or (size == head.size and row and root != head.root):
                return WitnessAnswer(HTTPStatus.CONFLICT, b"%d\n" % size, SIZE_TYPE)
            if not verify_consistency(size, root, head.size, head.root, request.proof):
                return _refused(
                    HTTPStatus.UNPROCESSABLE_ENTITY, f"proof: the checkpoint is not shown to extend that of size {size}"
                )
            connection.execute(
                "INSERT OR REPLACE INTO seen (origin, size, root, note) VALUES (?, ?, ?, ?)",
                (head.origin, head.size, head.root, request.note),
            )
        return None

    def _cosigned(self, note: bytes) -> WitnessAnswer:
        return WitnessAnswer(HTTPStatus.OK, cosign_note(note, self.key.name, self._signer, self._clock()))


def open_witness(state: Path, logs: Iterable[NoteKey], clock: Callable[[], int], name: str | None = None) -> Witness:
    """The witness of a state file. The first call makes the file, and a key in FILE.keys."""
    keys = FileRing.beside(state)
    if not state.exists():
        if keys.exists():
            # Without what it saw, the key would cosign any rollback.
            raise WitnessError(
                f"state: {state} is missing, but its key is in {keys}; restore the file from a backup, or move the "
                "folder away to start a new witness with a new key"
            )
        _create(state)
    if _format(state) != _FORMAT:
        raise WitnessError(f"state: {state} is not the state of a witness of this version; name another file")
    ring = FileRing.open(keys) if keys.exists() else FileRing.create(keys)
    held = ring.keyids()
    if len(held) > 1:
        raise WitnessError(f"state: {keys} has {len(held)} keys; leave the one that cosigns and move the others away")
    return Witness(state, ring.load(held[0]) if held else ring.generate(), logs, clock, name)


def _create(state: Path) -> None:
    os.close(os.open(state, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
    with closing(_connect(state)) as connection, connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {_FORMAT}")


def _format(state: Path) -> int | None:
    try:
        with closing(_connect(state)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError:
        return None


def _connect(state: Path) -> sqlite3.Connection:
    # Never creates the file: a state that was deleted must not become an empty one.
    address = f"{state.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


def _refused(status: HTTPStatus, reason: str) -> WitnessAnswer:
    return WitnessAnswer(status, f"{reason}\n".encode(errors="backslashreplace"))


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

"""Asks a witness to cosign a head. A head that does not extend the witness's last one is a rollback or a fork."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from readmit.records.error_types import AuditError, SealError, WitnessError
from readmit.trust.notes import COSIGNATURE, LONGEST_NOTE, LogCheckpoint, NoteKey, note_text, size_of, verify_note
from readmit.trust.witness.cosigner import PATH, SIZE_TYPE, WitnessAnswer, WitnessRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


DEADLINE = 15.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Another process of the same log may be cosigned in between.
_ATTEMPTS = 4


def witnessed(
    url: str,
    note: bytes,
    prove: Callable[[int], Sequence[bytes]],
    *,
    keys: Iterable[NoteKey] = (),
    deadline: float = DEADLINE,
) -> bytes:
    """The note with the witness's cosignatures added.

    ``prove(old)`` is the consistency proof from the tree of ``old`` leaves to the note's. With ``keys`` of witnesses,
    only their cosignatures are kept, and there must be one. ``AuditError`` means that the witness saw a log that this
    one does not extend.
    """
    trusted = tuple(keys)
    head = LogCheckpoint.from_text(note_text(note))
    old = 0
    for _ in range(_ATTEMPTS):
        answer = request_cosignature(url, note, old, prove(old), deadline=deadline)
        if answer.status is HTTPStatus.OK:
            return _with(note, answer.body, trusted, url)
        if answer.status is HTTPStatus.UNPROCESSABLE_ENTITY:
            raise AuditError(f"fork: {head.origin} at size {head.size} does not extend what {url} saw at size {old}")
        if answer.status is not HTTPStatus.CONFLICT or answer.kind != SIZE_TYPE:
            raise WitnessError(f"{url} did not cosign: {_said(answer)}")
        seen = _size(answer, url)
        if seen > head.size:
            raise AuditError(
                f"rollback: {url} saw {head.origin} at size {seen}, but this log has only {head.size}; "
                "this is an older copy: find the newer one, and expose nothing until then"
            )
        if seen == old:
            raise AuditError(f"fork: {url} saw another log of {head.origin} at size {seen}; its root differs")
        old = seen
    raise WitnessError(f"{url} saw a new head {_ATTEMPTS} times while this one was sent; try again")


def request_cosignature(
    url: str, note: bytes, old: int, proof: Sequence[bytes], *, deadline: float = DEADLINE
) -> WitnessAnswer:
    """One request to a witness, and its answer. Takes no longer than ``deadline`` seconds."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise WitnessError(f"witness: {url!r} has an impossible port") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise WitnessError(f"witness: {url!r} is not the address of a witness; use https://HOST or https://HOST/PATH")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise WitnessError(
            f"witness: heads are not sent to {parts.hostname} over http://, where others can read and change them; use "
            "https://, or a tunnel on this machine (ssh -L 8420:localhost:8420 HOST, then http://localhost:8420)"
        )
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connect(parts.hostname, port, timeout=deadline)
    # The socket's own timeout starts again with each byte.
    timer = threading.Timer(deadline, _hang_up, [connection])
    timer.daemon = True
    # Taken before the timer starts, so that an answer that it cuts off is late by this clock too.
    end = time.monotonic() + deadline
    timer.start()
    try:
        connection.request(
            "POST", parts.path.rstrip("/") + PATH, body=WitnessRequest(old, tuple(proof), note).to_bytes()
        )
        return _read(connection.getresponse())
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = "no answer in time" if time.monotonic() >= end else str(error) or type(error).__name__
        raise WitnessError(f"witness: {url} cannot be reached: {reason}; see that it runs and try again") from error
    finally:
        timer.cancel()
        connection.close()


def _hang_up(connection: http.client.HTTPConnection) -> None:
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _read(response: http.client.HTTPResponse) -> WitnessAnswer:
    body = response.read(LONGEST_NOTE + 1)
    if len(body) > LONGEST_NOTE:
        raise ValueError(f"the answer is longer than {LONGEST_NOTE} bytes")
    return WitnessAnswer(HTTPStatus(response.status), body, response.headers.get("Content-Type", ""))


def _with(note: bytes, lines: bytes, trusted: tuple[NoteKey, ...], url: str) -> bytes:
    """The note with the lines that count."""
    whole, text = note, f"{note_text(note)}\n".encode()
    try:
        for line in lines.splitlines(keepends=True):
            _, found = verify_note(text + line, trusted)
            if not trusted or any(one.key.kind == COSIGNATURE for one in found):
                whole += line
        note_text(whole)
    except SealError as error:
        raise WitnessError(f"{url} gave a cosignature that cannot be used: {error}") from None
    if whole == note:
        raise WitnessError(f"{url} did not cosign with a trusted key; name the key that `readmit witness` printed")
    return whole


def _size(answer: WitnessAnswer, url: str) -> int:
    try:
        return size_of(answer.body.decode("ascii", errors="replace").removesuffix("\n"), url)
    except SealError as error:
        raise WitnessError(str(error)) from None


def _said(answer: WitnessAnswer) -> str:
    return f"{answer.status.value} {answer.body[:300].decode('utf-8', errors='replace').strip()}"

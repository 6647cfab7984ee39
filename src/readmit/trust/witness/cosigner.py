"""Decides whether a log checkpoint is cosigned, and stores the cosigned one durably before it answers.

The newest cosigned checkpoint of each log is in a SQLite file, so that several processes may share it. The check and
the write are one transaction: no two requests can both extend the same state.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from http import HTTPStatus
from typing import TYPE_CHECKING

from readmit.records.error_types import SealError, WitnessError
from readmit.trust.merkle import EMPTY, verify_consistency
from readmit.trust.notes import COSIGNATURE, NoteKey, cosign_note, note_text, open_note
from readmit.trust.private_keys import FILE_MODE, FileRing
from readmit.trust.tlog import LogCheckpoint
from readmit.trust.witness.protocol import SIZE_TYPE, WitnessAnswer, WitnessRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from readmit.trust.signer import Signer

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

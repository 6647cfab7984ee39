"""The outcome of a project's last moment: for ``readmit status``, and for ``readmit doctor`` what failed.

``status.json`` in the project's folder is one object:

| field | what it holds |
|---|---|
| ``at`` | the moment, as ISO 8601 in UTC |
| ``client``, ``session`` | the client, and the session as the client names it; empty after a failure |
| ``moment`` | ``start``, ``prompt``, ``compact`` or ``end`` |
| ``kind`` | of a return ``admitted``, ``blocked`` or ``reset``; else ``departed`` or ``failed`` |
| ``items`` | how many statements hold for the session: handed over, or loaded by its client and not found wrong |
| ``withdrawn`` | how many statements the session reads as no longer holding |
| ``in_doubt`` | how many it reads as doubtful |
| ``unseen`` | how many sources, files and statements nobody looked at |
| ``fault`` | why nothing was checked; empty if it was |

A prompt before which nothing fell writes nothing. ``faults.log`` has one line for each failure: when, at which moment,
in which client, and why.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.clients.project import Project
    from readmit.clients.session import Session

_MOST_FAULTS = 64 << 10
_LONGEST_WHY = 300


class HookStatus(NamedTuple):
    """The outcome of one moment in numbers."""

    kind: str
    items: int = 0
    withdrawn: int = 0
    in_doubt: int = 0
    unseen: int = 0
    fault: str = ""


def keep_status(project: Project, moment: str, session: Session | None, status: HookStatus) -> None:
    """Write the status file. A project without a folder gets none."""
    client, name = (session.client, session.session[:200]) if session is not None else ("", "")
    fields = {"at": _now(), "client": client, "session": name, "moment": moment, **status._asdict()}
    with suppress(OSError):
        replace_file(project.status_file, json.dumps(fields).encode())


def keep_fault(project: Project, moment: str, client: str, why: str, *, silent: bool = False) -> None:
    """Add a line to the faults of a project, and say so in its status unless it is ``silent``. The oldest lines go."""
    plain = "".join(letter if letter.isprintable() else " " for letter in why)[:_LONGEST_WHY]
    from readmit.clients.session import Session

    with suppress(OSError):
        before = project.faults_file.read_bytes() if project.faults_file.exists() else b""
        kept = before[-_MOST_FAULTS:].partition(b"\n")[2] if len(before) > _MOST_FAULTS else before
        line = f"{_now()} {moment} {client}: {plain}\n".encode("utf-8", "replace")
        replace_file(project.faults_file, kept + line)
    if not silent:
        keep_status(project, moment, Session(client, ""), HookStatus("failed", fault=plain))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file in one piece, for its owner alone."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    fresh.replace(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

"""The items of a session and the files they rest on, in a file of its own, so that a prompt costs one look at each.

It is written at each return of the session. At its end, only what it lost is left. If it is lost itself, prompts say
nothing until the next start.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.clients.moments.hook_status import replace_file
from readmit.clients.project import data_folder, make_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from readmit.clients.session import Session

_MOST_BYTES = 8 << 20
NEVER_RENEWED = 1e18
"""When the lease of a session that ended is renewed."""
NEVER: tuple[int, ...] = ()
"""The version of a file that is not there, or that changed while it was read."""


class SessionFile(NamedTuple):
    """A session as its last return left it."""

    cwd: str
    """The folder that it started in: a session may go elsewhere and keeps its task."""
    lines: tuple[str, ...] = ()
    """Items of memory lines that it loaded itself, and that held."""
    files: dict[str, tuple[int, ...]] = {}  # noqa: RUF012 - a default of a value that nobody changes
    """Versions of the files on which something rests that it holds."""
    probes: dict[str, list[dict[str, Any]]] = {}  # noqa: RUF012 - the same
    """By path, the probes of what it was handed."""
    withdrawn: tuple[str, ...] = ()
    """Items of which it has read that they no longer hold."""
    renew: float = 0.0
    """When its lease is to be renewed, in seconds since 1970."""

    def changed(self) -> list[str]:
        """The files that are not as they were."""
        return [path for path, seen in self.files.items() if file_version(path) != tuple(seen)]


def file_version(path: str) -> tuple[int, ...]:
    """Marks that differ between two versions of a file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - hundreds of them
    except (OSError, ValueError):
        return NEVER
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def file_versions(paths: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The versions of some files."""
    return {path: file_version(path) for path in paths}


def load_session(session: Session) -> SessionFile | None:
    """The items and files of a session after its last return; none if they are unknown."""
    with suppress(OSError, LookupError, ValueError, TypeError, AttributeError):
        path = _path(session)
        if path.stat().st_size <= _MOST_BYTES:
            given = json.loads(path.read_bytes())
            files = {str(name): tuple(map(int, seen)) for name, seen in given["files"].items()}
            return SessionFile(
                str(given["cwd"]), tuple(given["lines"]), files, dict(given["probes"]), tuple(given["withdrawn"]),
                float(given["renew"]),
            )  # fmt: skip
    return None


def save_session(session: Session, held: SessionFile) -> None:
    """Keep what a session holds."""
    path = _path(session)
    make_private(path.parent)
    replace_file(path, json.dumps(held._asdict(), separators=(",", ":")).encode())


def drop_old_sessions(before: float) -> None:
    """Forget sessions that were not heard of since a moment, in seconds since 1970."""
    for path in (data_folder() / "sessions").glob("*.json"):
        with suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()


def _path(session: Session) -> Path:
    return data_folder() / "sessions" / f"{session.file_name}.json"

"""Which session an MCP server works for.

A client tells its hooks the session, and its MCP servers nothing. Both are its children: a hook at the start notes the
processes above it, and a server belongs to the newest session that was noted below its own parent. Where none was, the
session is unknown, and nothing is guessed.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from readmit.clients.project import make_private
from readmit.clients.session import Session
from readmit.records.error_types import UnknownError

if TYPE_CHECKING:
    from readmit.clients.project import Project

_ABOVE = 4
"""Processes above a hook that are noted: a client starts hooks through a shell."""
_LARGEST = 16_384
_MOST_FILES = 500
_OLD_SECONDS = 30 * 86_400


class _Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A session, and the processes above the hook that started it."""

    client: str
    session: str
    parent: str
    above: tuple[str, ...]
    at: int


def note_session(project: Project, session: Session) -> None:
    """Note that a session of this project has started, below the processes above this one."""
    folder = _folder(project)
    make_private(folder)
    note = _Note(session.client, session.session, session.parent, tuple(_processes(_ABOVE)), time.time_ns())
    fresh = folder / f"{session.file_name}.{os.getpid()}"
    fresh.touch(mode=0o600)
    fresh.write_bytes(msgspec.json.encode(note))
    fresh.replace(folder / f"{session.file_name}.json")
    _drop_old(folder)


def session_here(project: Project, client: str) -> Session:
    """The newest session of a client in this project that was started by the process that started this one."""
    mine = next(iter(_processes(1)), "")
    notes = [one for one in _notes(_folder(project)) if one.client == client and mine and mine in one.above]
    if not notes:
        raise UnknownError(
            f"session: no session of {client} was started here by the process that runs this server, so nothing is "
            f"read or written; run `readmit install {client}`, and start the session again"
        )
    found = max(notes, key=lambda one: one.at)
    return Session(found.client, found.session, parent=found.parent)


def _folder(project: Project) -> Path:
    return project.folder / "sessions"


def _notes(folder: Path) -> list[_Note]:
    found = []
    for path in _newest(folder)[:_MOST_FILES]:
        with suppress(OSError, msgspec.MsgspecError), path.open("rb") as file:
            found.append(msgspec.json.decode(file.read(_LARGEST), type=_Note))
    return found


def _drop_old(folder: Path) -> None:
    """Notes of processes that are long gone say nothing."""
    long_ago = time.time() - _OLD_SECONDS
    for number, path in enumerate(_newest(folder)):
        with suppress(OSError):
            if number >= _MOST_FILES or path.stat().st_mtime < long_ago:
                path.unlink()


def _newest(folder: Path) -> list[Path]:
    def when(path: Path) -> float:
        with suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    with suppress(OSError):
        return sorted(folder.glob("*.json"), key=when, reverse=True)
    return []


def _processes(most: int) -> list[str]:
    """The processes above this one, nearest first. A number is used again, so each is named with its start."""
    found: list[str] = []
    process = os.getppid()
    while process > 1 and len(found) < most:
        above, started = _process(process)
        if not started:
            break
        found.append(f"{process}@{started}")
        process = above
    return found


def _process(number: int) -> tuple[int, str]:
    """The parent of a process, and when it was started; nothing of one that is gone."""
    try:
        # The name of the program is in parentheses, and may hold any character.
        fields = Path(f"/proc/{number}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return int(fields[1]), fields[19]
    except (OSError, ValueError, IndexError):
        pass
    import subprocess

    with suppress(OSError, ValueError, subprocess.SubprocessError):
        words = ["/bin/ps", "-o", "ppid=", "-o", "lstart=", "-p", str(number)]
        said = subprocess.run(words, capture_output=True, text=True, timeout=1, check=True)  # noqa: S603 - fixed words
        above, started = said.stdout.split(maxsplit=1)
        return int(above), "_".join(started.split())
    return 0, ""

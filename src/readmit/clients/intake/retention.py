"""How long what sessions did is kept: what a tool printed and what a file said is erased when its time is over.

What the user said stays, and so does every observation that an item, a verdict or a look rests on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.clients.intake.model_drafts import TURNS
from readmit.clients.intake.touched_files import FILE
from readmit.clients.project import spool_folder
from readmit.clients.take_in import DONE
from readmit.workspace.workspace import desk_of
from readmit.writing.expiry import Expired, expire

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.clients.project import Project
    from readmit.records.acts.event import Event
    from readmit.workspace.workspace import Workspace

LIFETIME = timedelta(days=14)
"""How long a result of a tool, and the text of a file, is kept if nothing rests on it."""
EVERY = timedelta(days=7)
"""Time between two searches of the log. Each reads all of it: seconds, for a long one."""
WORTH_REWRITING = 6_000_000
"""So many erased characters leave enough free space in the file that it is rewritten: about twice a month."""
SPOOL_DAYS = 30
"""A spool file of a folder that no session came back to is deleted after so many days."""


class Retained(NamedTuple):
    """The outcome of a retention."""

    expired: Expired
    rewritten: bool = False
    left: str = ""
    """Why the file could not be rewritten; empty if it was, or need not be."""


class _Kept(msgspec.Struct, frozen=True):
    """When the log was searched last, and the characters erased since the file was rewritten."""

    last: float = 0.0
    characters: int = 0


def retain(workspace: Workspace, project: Project, *, now: datetime | None = None) -> Retained | None:
    """Erase observations past their lifetime, unless the log was searched for them lately."""
    moment = now or datetime.now(UTC)
    path = project.folder / "retention.json"
    before = _load(path)
    # A moment to come would end retention.
    if 0 <= moment.timestamp() - before.last < EVERY.total_seconds():
        return None
    _drop_old_spool(moment)
    days = LIFETIME.days
    writer = desk_of(workspace.as_owner()).writer
    expired = expire(writer, _is_over, before=moment - LIFETIME, reason=f"not needed within {days} days")
    characters = before.characters + expired.characters
    left = ""
    if rewritten := characters >= WORTH_REWRITING:
        left = desk_of(workspace).log.connection.compact()
        characters = characters if left else 0
    _save(path, _Kept(moment.timestamp(), characters))
    return Retained(expired, rewritten and not left, left)


def _is_over(event: Event) -> bool:
    """Whether an observation is of what a session did, read or heard, and not of what its user said."""
    return event.name.startswith((DONE, FILE, TURNS))


def _drop_old_spool(now: datetime) -> None:
    """Delete spool files of sessions that no project ever claimed."""
    oldest = now.timestamp() - SPOOL_DAYS * 86_400
    with suppress(OSError):
        for entry in os.scandir(spool_folder()):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)  # noqa: PTH108 - of scandir


def _load(path: Path) -> _Kept:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return _Kept()


def _save(path: Path, kept: _Kept) -> None:
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_bytes(msgspec.json.encode(kept))
    fresh.replace(path)

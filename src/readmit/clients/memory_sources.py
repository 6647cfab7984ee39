"""Memory files as they are now: which of them are read, and what they hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.known_clients import claude_slug
from readmit.clients.project import file_start
from readmit.records.canonical import digest_of
from readmit.records.error_types import RecordError
from readmit.sources.files import version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.check.check_values import CheckedStatement
    from readmit.clients.project import Project

MOST_BYTES = 1_000_000
"""Most bytes of a memory file."""
_MOST_FILES = 200


class Unread(NamedTuple):
    """A file, or a statement of one, that was not imported, and why."""

    file: str
    why: str


class MemorySource(NamedTuple):
    """A memory file as it is now."""

    name: str
    path: Path
    data: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.data)

    def lines(self, said: CheckedStatement) -> str:
        """The lines of a statement as they stand in the file."""
        return b"\n".join(self.data.split(b"\n")[said.first - 1 : said.last]).decode("utf-8", "replace")


def memory_sources(project: Project, files: Sequence[Path], unread: list[Unread]) -> Iterator[MemorySource]:
    """The files that can be read, each once: CLAUDE.md is often a link to AGENTS.md."""
    met: set[Path] = set()
    for given in files:
        absolute = Path(os.path.abspath(given))  # noqa: PTH100 - a link is judged by where it stands
        real = Path(os.path.realpath(given))
        top = project.worktree
        inside = real.is_relative_to(top)
        name = real.relative_to(top).as_posix() if inside else str(real)
        if real in met or not real.exists():
            continue
        met.add(real)
        if len(met) > _MOST_FILES:
            unread.append(Unread(name, f"more than {_MOST_FILES} memory files"))
        elif absolute.is_relative_to(top) and not inside:
            unread.append(Unread(str(given), "a link that leads out of the project"))
        elif why := _unfit(real):
            unread.append(Unread(name, why))
        else:
            yield MemorySource(name, real, real.read_bytes())


def _unfit(path: Path) -> str:
    """Why a file is not read; empty if it is."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if status.st_size > MOST_BYTES:
            return f"larger than {MOST_BYTES:,} bytes"
        data = path.read_bytes()
        data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return f"not readable as text: {type(error).__name__}"
    return "not text: it holds zero bytes" if b"\0" in data else ""


def is_about(project: Project, path: Path) -> bool:
    """Whether a file is about the checkout: it is in it, or a client keeps it for it."""
    return path.is_relative_to(project.worktree) or claude_slug(project.worktree) in path.parts


def check_unchanged(found: Sequence[MemorySource]) -> None:
    """Refuse to keep lines of a file that was written meanwhile: the next import reads it."""
    for one in found:
        if not one.path.exists() or one.path.read_bytes() != one.data:
            raise RecordError(f"{one.name}: it changes while it is read")


def tree_state(project: Project) -> str:
    """A digest that differs once another commit is checked out or a file is added, moved or removed with git.

    A hostile ``HEAD`` may hold anything, so no text of it is kept.
    """
    entry = project.worktree / ".git"
    try:
        if entry.is_file():
            entry = project.worktree / file_start(entry).removeprefix("gitdir:").strip()
        return digest_of(os.fsencode(f"{version((entry / 'index').stat())}{file_start(entry / 'HEAD')}"))
    except (OSError, ValueError):  # a name with a zero byte
        return ""

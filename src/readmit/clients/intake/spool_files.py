"""Spool files of a project: claimed from the folder that all projects share, and read line by line.

A file is renamed into the project's own folder before it is read, so no two readers have it and a writer begins a new
one. It is deleted once everything in it is committed. If a reader ends before that, the next one reads it again.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.clients.project import make_private, project_of, spool_folder
from readmit.clients.spool_line import MOST_FILE, MOST_LINE, MOST_RAW, kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.clients.project import Project

MOST_FILES = 500
"""Most spool files that are looked at for one take-in."""
_LONGEST_LINE = max(MOST_LINE, MOST_RAW) + 1_000
_HEAD = 4 * _LONGEST_LINE
_PATIENCE = 1.0
_EARLIEST = 1_577_836_800_000_000_000
"""The year 2020: an older moment was never written by a hook."""
_AHEAD = 3_600_000_000_000


class SpoolLine(NamedTuple):
    """A tool use or a prompt, as a hook wrote it down."""

    at: int
    """Nanoseconds since 1970."""
    pid: int
    client: str
    fields: Mapping[str, Any]
    """The fields of the payload that ``spool_line.kept`` keeps."""
    raw: bytes

    def text(self, name: str) -> str:
        """A field that is a text; empty if it is missing or another thing."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def given(self, *names: str) -> str:
        """The first of these inputs of the tool that is a text."""
        inputs = self.fields.get("input")
        found = (inputs.get(name) for name in names) if isinstance(inputs, dict) else ()
        return next((one for one in found if isinstance(one, str) and one), "")

    def number(self, name: str) -> int:
        """An input of the tool that is a number; 0 if it is missing or another thing."""
        inputs = self.fields.get("input")
        value = inputs.get(name) if isinstance(inputs, dict) else None
        return value if type(value) is int and 0 < value < 1 << 31 else 0


def claim(project: Project) -> list[Path]:
    """The spool files of a project, oldest first: those that an earlier reader left, and those that are claimed now."""
    own = project.folder / "spool"
    make_private(own)
    with suppress(OSError):
        for path in sorted(spool_folder().glob("*.jsonl"))[:MOST_FILES]:
            if not path.is_symlink() and _is_of(project, path):
                # The moment keeps it apart from what the same session writes later.
                path.rename(own / f"{path.stem}.{time.time_ns()}.jsonl")
    return sorted(own.glob("*.jsonl"), key=lambda path: path.stem.rpartition(".")[2])[:MOST_FILES]


def read_claimed(path: Path) -> bytes | None:
    """The bytes of a claimed file, once no writer is within it; none if one still is."""
    end = time.monotonic() + _PATIENCE
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        while True:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    return None
                time.sleep(0.01)
            else:
                return opened.read(MOST_FILE + _LONGEST_LINE)


def spool_lines(data: bytes) -> Iterator[SpoolLine | None]:
    """The lines of a spool file in order; none for each one that cannot be read."""
    for raw in data.split(b"\n"):
        if raw.strip():
            yield _line(raw)


def replace_rest(path: Path, rest: Sequence[SpoolLine]) -> None:
    """Delete a claimed file, or keep those lines of it that are still to be taken in."""
    if not rest:
        path.unlink(missing_ok=True)
        return
    write_lines(path, rest)


def write_lines(path: Path, lines: Sequence[SpoolLine]) -> None:
    """Write lines to a file in one piece."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(b"".join(b"\n%s\n" % one.raw for one in lines))
    fresh.replace(path)


def hand_on(lines: Sequence[SpoolLine], name: str, project: Project) -> bool:
    """Give lines to the project that they are about, if it has a store. The name makes doing it again harmless."""
    if not project.store.exists():
        return False
    make_private(project.folder / "spool")
    write_lines(project.folder / "spool" / name, lines)
    return True


def is_path(text: str) -> bool:
    """Whether a text can be a path: of characters that can be encoded, on one line."""
    return not any(one in "\0\n" or "\ud800" <= one <= "\udfff" for one in text)


def _is_of(project: Project, path: Path) -> bool:
    """Whether a spool file is of a session in this project: its first line that names a folder says so."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for line in spool_lines(head.rpartition(b"\n")[0] if len(head) == _HEAD else head):
        if line is not None and (cwd := line.text("cwd")):
            return project_of(Path(cwd)).key == project.key
    return False


def _line(raw: bytes) -> SpoolLine | None:
    if len(raw) > _LONGEST_LINE:
        return None
    try:
        # A client may have cut a text within a character, which other readers of JSON refuse.
        given = json.loads(raw)
        payload = given.get("payload")
        fields = kept(payload) if isinstance(payload, dict) else given.get("kept")
        at, pid, client = given.get("at"), given.get("pid"), given.get("client")
    except (ValueError, RecursionError, AttributeError):
        return None
    is_sound = type(at) is int and type(pid) is int and isinstance(client, str) and isinstance(fields, dict)
    if not is_sound or not _EARLIEST < at < time.time_ns() + _AHEAD:
        return None
    cwd = fields.get("cwd")
    if not isinstance(cwd, str) or not os.path.isabs(cwd) or not is_path(cwd):  # noqa: PTH117 - a text from elsewhere
        return None
    return SpoolLine(at, pid, client[:40] or "client", fields, raw)

"""JSON Lines files that several processes append to while others read.

A line is complete once its newline is written. Text after the last newline comes from a writer that died or is still
writing; it counts only if it is a whole JSON value.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from readmit.models.protocols import read_json
from readmit.records.canonical import without_mark
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path
    from typing import BinaryIO

    import filelock

LOCK_SECONDS = 60.0
# Half a last line is cut off. Behind a link it could be the line of a file that is not ours.
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a file, numbered from one, without blank ones."""

    whole: tuple[tuple[int, bytes], ...]
    torn: int | None = None
    """The number of a half-written last line, if there is one."""


class _Addressed(msgspec.Struct):
    custom_id: str


def read_lines(path: Path) -> Lines:
    """Read the complete lines. A missing file has none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Lines(whole=())
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}") from None
    parts = without_mark(data).split(b"\n")
    tail = parts.pop()
    whole = [(number, part) for number, part in enumerate(parts, start=1) if part.strip()]
    if not tail.strip():
        return Lines(whole=tuple(whole))
    if _is_json(tail):
        return Lines(whole=(*whole, (len(parts) + 1, tail)))
    return Lines(whole=tuple(whole), torn=len(parts) + 1)


def id_in(line: bytes) -> str | None:
    """The ``custom_id`` of a line, or ``None`` if it has none."""
    found = read_json(line, _Addressed)
    return None if found is None else found.custom_id


class Addressed:
    """A growing file of lines with ids. Lines already read are not read again."""

    def __init__(self, path: Path, check: Callable[[bytes], object] = lambda _: None) -> None:
        """``check`` sees every line that is in the file already, and may refuse to add to it."""
        self._path = path
        self._check = check
        self._read = 0
        self._ids: set[str | None] = set()

    @property
    def ids(self) -> AbstractSet[str | None]:
        """The ids in the file when lines were last added."""
        return self._ids

    def append_missing(self, lines: Mapping[str, bytes]) -> int:
        """Append the lines whose id is new to the file, durably; returns their number.

        If two processes append the same lines at once, each is in the file once.
        """
        path = self._path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with lock_of(path), os.fdopen(os.open(path, _APPEND, 0o666), "a+b") as file:
                missing = self._caught_up(file, lines)
        except TimeoutError:
            raise ModelError(f"{path}: another process has been writing for {LOCK_SECONDS:g} s; is it stuck?") from None
        except OSError as error:
            if path.is_symlink():
                raise ModelError(f"{path} is a symbolic link; put a file in its place") from None
            raise ModelError(f"{path}: {error.strerror or error}; the directory must be writable") from None
        return missing

    def _caught_up(self, file: BinaryIO, lines: Mapping[str, bytes]) -> int:
        end = file.seek(0, os.SEEK_END)
        if end < self._read:
            # The file was replaced.
            self._read, self._ids = 0, set()
        file.seek(self._read)
        added = file.read()
        *whole, tail = (added if self._read else without_mark(added)).split(b"\n")
        for line in filter(bytes.strip, whole):
            self._check(line)
            self._ids.add(id_in(line))
        self._read = end - len(tail)
        new = b""
        if tail.strip() and _is_json(tail):
            self._check(tail)
            self._ids.add(id_in(tail))
            new = b"\n"
        elif tail:
            # Only a writer that died under the lock leaves half a line, which is useless.
            end = file.truncate(self._read)
        missing = {address: line for address, line in lines.items() if address not in self._ids}
        if missing:
            new += b"".join(line + b"\n" for line in missing.values())
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
            self._read = end + len(new)
            self._ids.update(missing)
        return len(missing)


def lock_of(path: Path) -> filelock.BaseFileLock:
    """The lock that every writer of a file takes."""
    import filelock

    return filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_SECONDS)


def _is_json(data: bytes) -> bool:
    return read_json(data, dict[str, msgspec.Raw]) is not None

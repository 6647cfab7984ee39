"""The files of an open SQLite database: are they still the ones that other processes find under the same path?

A file that was deleted, moved or replaced stays usable for a process that has it open. What is committed to it then is
gone once the process ends, so a commit counts only if its files are still in place.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable


PRIVATE = 0o600
# Where Linux names the file behind a descriptor. Asking for the status of a file that is written all the time makes
# the next write store an exact time, which a commit then has to flush too: a quarter of what a commit costs.
_NAMES = "/proc/self/fd"
# File systems may store times this coarsely: a folder that changed just now can change again under the same time.
_COARSE_NS = 50_000_000


class OpenFiles:
    """A database and its write-ahead log as its path named them when it was opened."""

    def __init__(self, path: str) -> None:
        # A link that points elsewhere later is a replacement. SQLite puts the log beside the link's target.
        self._path = os.path.abspath(path)  # noqa: PTH100 - not resolved
        self.log_path = os.path.realpath(path) + "-wal"
        self.identity = identity_of(self._path)
        # Not a descriptor of the database itself: closing it would release the locks that SQLite holds on the file.
        self._log = os.open(self.log_path, os.O_RDONLY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, _close, self._log)
        opened = os.fstat(self._log)
        self._log_identity = opened.st_dev, opened.st_ino
        self._size = opened.st_size
        self._name: str | None = f"{_NAMES}/{self._log}"
        try:
            self._named = os.readlink(self._name)  # noqa: PTH115 - faster than a Path, once per commit
        except OSError:
            self._name = None
        self._folder = os.path.dirname(self._path)  # noqa: PTH120 - as above
        self._is_link = os.path.realpath(path) != self._path
        self._known_state: tuple[int, int, int] | None = None

    def check_before(self, read_log: Callable[[], object]) -> None:
        """Before a transaction: a write-ahead log that became shorter must not be continued.

        Another process may have written it back and cut it; then ``read_log`` does not raise.
        """
        size = self._length()
        if size < self._size:
            try:
                read_log()
            except StoreError as error:
                raise self._lost(self.log_path, "cut") from error
        self._size = size

    def check_after(self) -> None:
        """After a commit, before it is acknowledged."""
        self._size = self._length()
        # While nothing in the folder was added, removed or renamed, both files are still there.
        folder = None if self._is_link else _found(self._folder)
        state = None if folder is None else (folder.st_dev, folder.st_ino, folder.st_mtime_ns)
        if state is not None and state == self._known_state:
            return
        if identity_of(self._path) != self.identity:
            raise self._lost(self._path, "deleted, moved or replaced")
        if not self._has_its_log():
            raise self._lost(self.log_path, "deleted, moved or replaced")
        is_old = folder is not None and folder.st_mtime_ns < time.time_ns() - _COARSE_NS
        self._known_state = state if is_old else None

    def _has_its_log(self) -> bool:
        if self._name is None:
            return identity_of(self.log_path) == self._log_identity
        try:
            return os.readlink(self._name) == self._named  # noqa: PTH115 - as above
        except OSError:
            return False

    def _length(self) -> int:
        try:
            return os.lseek(self._log, 0, os.SEEK_END)
        except OSError as error:
            raise StoreError(
                f"storage failed: the descriptors of this process were closed under {self._path} ({error.strerror}); "
                "open the store again, after that"
            ) from error

    def _lost(self, name: str, what: str) -> StoreError:
        return StoreError(
            f"storage failed: {name} was {what} while the store was open, so this and perhaps earlier writes are not "
            f"in {self._path}. They are still in this open workspace: keep them with workspace.backup('NEW-FILE') "
            f"before you close it, then run `readmit admin restore NEW-FILE --db {self._path}`"
        )


def create_private(path: str | Path, *, new: bool = False) -> None:
    """Create a missing file for its owner alone. SQLite gives the files beside it the same mode."""
    # SQLite creates what a dangling link points to; O_EXCL would refuse the link.
    real = Path(path if new else os.path.realpath(path))
    if not new and real.exists():
        return
    try:
        file = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    except FileExistsError:  # another process was faster
        if new:
            raise
        return
    try:
        os.fchmod(file, PRIVATE)  # the umask may have taken even the owner's rights
    finally:
        os.close(file)


def identity_of(path: str) -> tuple[int, int] | None:
    """Which file a path names."""
    found = _found(path)
    return None if found is None else (found.st_dev, found.st_ino)


def _close(file: int) -> None:
    with suppress(OSError):  # closed under us
        os.close(file)


def _found(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return None


def unopened(path: str, error: Exception) -> StoreError:
    """Why a file cannot be opened."""
    if isinstance(error, StoreError) and not isinstance(error.__cause__, sqlite3.Error):
        return error
    folder = Path(path).parent
    if not folder.is_dir():
        why = f"the folder {folder} does not exist; make it with `mkdir -p {folder}`"
    elif Path(path).is_dir():
        why = f"it is a folder; name a file in it, for example {Path(path, 'team.db')}"
    else:
        said = error.__cause__ or error
        why = str(said.strerror if isinstance(said, OSError) else said)
    return StoreError(f"cannot open {path}: {why}")

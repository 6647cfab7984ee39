"""The epoch of the last exposure, kept with the keys, not in the database.

A database restored from a backup forgets that a view was consumed. The mark does not: it is outside a
database backup, and only ever rises.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING, Protocol

from readmit.records.error_types import SealError

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE = 0o600
DIGITS = 20


class Watermark(Protocol):
    """An epoch that only rises."""

    def read(self) -> int:
        """The highest epoch at which anything was handed over."""

    def raise_to(self, epoch: int) -> None:
        """Raise it."""


class MemoryWatermark:
    """The watermark of a workspace in memory."""

    def __init__(self) -> None:
        self._epoch = 0

    def read(self) -> int:
        return self._epoch

    def raise_to(self, epoch: int) -> None:
        self._epoch = max(self._epoch, epoch)


class FileWatermark:
    """One small file, locked while it is read or raised, flushed before the call returns."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> int:
        # On a full disk nothing can be created, and only handing over needs to.
        return self._with_lock(0) if self.path.exists() or not self.path.parent.is_dir() else 0

    def raise_to(self, epoch: int) -> None:
        self._with_lock(epoch)

    def lower_to(self, epoch: int) -> None:
        """Accept a backup that ends at this epoch. Called only by a restore that the operator confirmed by name."""
        if self.read() > epoch:
            self._with_lock(epoch, lower=True)

    def _with_lock(self, epoch: int, *, lower: bool = False) -> int:
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                known = self._parse(os.read(file, DIGITS + 1))
                if epoch > known or lower:
                    _write(file, epoch)
                return max(known, epoch)
            finally:
                os.close(file)
        except OSError as error:
            raise SealError(
                f"{self.path}: cannot keep track of what is handed over: {error.strerror}. Nothing was handed over; "
                "see that there is room and that the file is yours, then expose the view again"
            ) from error

    def _parse(self, data: bytes) -> int:
        if not data:
            return 0
        if len(data) != DIGITS or not data.isdigit():
            raise SealError(f"{self.path} is damaged; remove it if the database was not restored from a backup")
        return int(data)


def _write(file: int, epoch: int) -> None:
    # The number has a fixed width: a crash during the write leaves old or new digits, never fewer.
    before = os.fstat(file).st_size
    if os.pwrite(file, f"{epoch:0{DIGITS}d}".encode("ascii"), 0) < DIGITS:
        os.ftruncate(file, before)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)

"""Files that a running server reads again when they change: keys that were revoked, grants that were taken back."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Generic, TypeVar

from readmit.log.key_folder import require_own
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
LARGEST = 4 << 20
"""Most bytes of such a file."""


class WatchedFile(Generic[T]):
    """The content of a file, as it is now. A file that cannot be read, or is not ours, raises: it never counts on."""

    def __init__(self, path: Path, read: Callable[[bytes], T], missing: T | None = None) -> None:
        self.path = path
        self._read = read
        self._missing = missing
        """The content of a missing file; none if it must be there."""
        self._seen: tuple[object, T] | None = None

    def value(self) -> T:
        """The content, read again if the file is another one or was written since."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            if self._missing is not None:
                return self._missing
            raise StoreError(f"{self.path}: there is no such file") from None
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror}") from None
        mark = (found.st_ino, found.st_dev, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)
        if self._seen is None or self._seen[0] != mark:
            self._seen = (mark, self._read(self._content()))
        return self._seen[1]

    def _content(self) -> bytes:
        try:
            with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                found = os.fstat(file.fileno())
                require_own(self.path, found)
                if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                    raise StoreError(f"{self.path}: is no file of at most {LARGEST:,} bytes")
                return file.read(LARGEST + 1)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror}") from None

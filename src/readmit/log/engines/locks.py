"""Named locks that hold across processes, beside the transactions of a database.

A transaction would serve as a lock too, but nobody could write to the workspace while a model answers. These locks
stop only those who ask for the same name. The system releases them when a process ends, however it ends.

A file's locks are ``flock`` locks on empty files in a folder beside it; a server's are its advisory locks. A store in
memory has one process.

Windows has no ``flock``, and readmit does not start there: its watermark needs it too.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import threading
from contextlib import suppress
from typing import Any, Protocol

from readmit.records.error_types import StoreError

_SHARED = 0o060
_OPENING = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Keeper(Protocol):
    """The place in which other processes see a lock."""

    def take(self, name: str) -> Any:
        """A handle for a lock that was free, or ``None``. Does not wait."""

    def still(self, handle: Any) -> bool:
        """Whether a lock is still held. A server may have lost the session that held it."""

    def free(self, handle: Any) -> None:
        """Release a lock."""

    def close(self) -> None:
        """Release everything."""


class Locks:
    """The named locks that one connection holds. Its threads exclude each other too; no thread takes a lock twice."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._guard = threading.Lock()
        self._held: dict[str, Any] = {}

    def take(self, name: str) -> bool:
        """Take a lock if it is free. Does not wait."""
        with self._guard:
            if name in self._held:
                return False
            handle = self._keeper.take(name)
            if handle is not None:
                self._held[name] = handle
            return handle is not None

    def still(self, name: str) -> bool:
        """Whether this connection holds a lock now."""
        with self._guard:
            return name in self._held and self._keeper.still(self._held[name])

    def free(self, name: str) -> None:
        """Release a lock."""
        with self._guard:
            handle = self._held.pop(name, None)
            if handle is not None:
                self._keeper.free(handle)

    def close(self) -> None:
        """Release everything."""
        with self._guard:
            for handle in self._held.values():
                self._keeper.free(handle)
            self._held.clear()
            self._keeper.close()


class InProcess:
    """Locks of a store in memory."""

    def take(self, name: str) -> str:
        return name

    def still(self, handle: str) -> bool:  # noqa: ARG002 - nothing can lose it
        return True

    def free(self, handle: str) -> None:
        """Nothing is held outside the process."""

    def close(self) -> None:
        """Nothing is held outside the process."""


class BesideFile:
    """For a file: the folder ``FILE.locks``, with an empty file per lock. The files stay: removing one is a race.

    Those who may write to the database may lock: a file that a group shares has locks that the group shares.
    """

    def __init__(self, path: str) -> None:
        # Everyone who opens the same file finds the same folder, through a link too.
        self._path = os.path.realpath(path)
        self._folder = f"{self._path}.locks"

    def take(self, name: str) -> int | None:
        try:
            file = self._opened(f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BaseException as error:
                os.close(file)
                if isinstance(error, BlockingIOError):
                    return None
                raise
        except OSError as error:
            raise StoreError(
                f"{self._folder}: cannot lock there: {error.strerror}; see that you may write to the folder, and that "
                "its disk has room"
            ) from error
        return file

    def _opened(self, name: str) -> int:
        place = f"{self._folder}/{name}"
        try:
            return os.open(place, _OPENING)
        except FileNotFoundError:
            pass
        database = os.stat(self._path)  # noqa: PTH116 - as all calls here, without a Path
        group = database.st_gid if database.st_mode & _SHARED == _SHARED else None
        with suppress(FileExistsError):
            os.mkdir(self._folder, 0o700)  # noqa: PTH102
            if group is not None:
                os.chown(self._folder, -1, group)
                os.chmod(self._folder, 0o770)  # noqa: PTH101, S103 - the database's group
        # Under its name only once it has its rights: another process may be waiting for it.
        made = f"{place}.{secrets.token_hex(4)}"
        file = os.open(made, _OPENING | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if group is not None:
                os.fchown(file, -1, group)
                os.fchmod(file, 0o660)
            with suppress(FileExistsError):
                os.link(made, place)
        finally:
            os.unlink(made)  # noqa: PTH108
            os.close(file)
        return os.open(place, _OPENING)

    def still(self, handle: int) -> bool:  # noqa: ARG002 - held until it is closed
        return True

    def free(self, handle: int) -> None:
        # A child that was forked meanwhile shares the lock: closing this end alone would leave it locked.
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)

    def close(self) -> None:
        """Closes nothing: only the locks are open."""

"""Waits for the next commit without asking for it again and again.

Each commit rings. In a file's case, the process that committed opens and closes the write-ahead log once more, which
writes nothing and which Linux reports to every process that watches that file (``inotify``). The writes themselves are
no sign: SQLite makes a commit visible through shared memory, after the last of them. A process that is killed before
it rings closes the log too.

Elsewhere a commit wakes those who wait on the same connection, and the others look every second.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterable

AT_LEAST = 30.0
"""Seconds after which a waiting thread looks without a signal: one may be lost."""
WITHOUT_SIGN = 1.0
"""``AT_LEAST`` where commits of other processes give no signal."""
_LINUX = sys.platform == "linux"
# From <sys/inotify.h>. Closed, after reading or writing; renamed; and, because it lost its name, other attributes.
_SIGNS = 0x08 | 0x10 | 0x800 | 0x04
_MOST_SIGNS = 65_536


class CommitListener:
    """Wakes one thread at a time when a commit may have happened since ``renew``."""

    patience = AT_LEAST
    is_lost = False
    """Whether the store could not be reached when it was last needed."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        for end in (self._out, self._in):
            os.set_blocking(end, False)
        self._guard = threading.Lock()
        self._closing = weakref.finalize(self, _close, (self._out, self._in))

    def renew(self) -> None:
        """Forget earlier signals. Reads from now on are at least as new as they were."""
        _drain(self._out)

    @property
    def files(self) -> list[int]:
        """The descriptors that become readable with a sign."""
        return [self._out]

    def wait(self, seconds: float) -> None:
        """Wait for a sign."""
        waiting = select.poll()
        for file in self.files:
            waiting.register(file, select.POLLIN)
        waiting.poll(max(0.0, seconds) * 1_000)

    def wake(self) -> None:
        """Give a sign, from any thread."""
        with self._guard, suppress(BlockingIOError):  # full: there is a sign already
            if self._closing.alive:
                os.write(self._in, b"!")

    def close(self) -> None:
        """Stop waiting."""
        with self._guard:
            self._closing()


class ConnectionListener(CommitListener):
    """Hears the commits of its own connection, and polls for those of others."""

    def __init__(self, *, patience: float = AT_LEAST) -> None:
        super().__init__()
        self.patience = patience


class FileListener(CommitListener):
    """Watches a write-ahead log."""

    def __init__(self, path: str, bell: Bell) -> None:
        """Raise ``OSError`` if the system watches no more files for this user."""
        super().__init__()
        self._path = path
        self._bell = bell
        try:
            self._signs = _inotify("init1", os.O_NONBLOCK | os.O_CLOEXEC)
            self._watched = weakref.finalize(self, _close, (self._signs,))
            self._number = self._watch()
        except BaseException:
            self.close()
            raise

    def _watch(self) -> int:
        return _inotify("add_watch", self._signs, os.fsencode(self._path), _SIGNS)

    def renew(self) -> None:
        super().renew()
        _drain(self._signs)
        try:
            same = self._watch() == self._number
        except OSError:
            same = False
        if not same and not self._bell.is_closed:
            raise StoreError(
                f"storage failed: {self._path} was deleted, moved or replaced while the store was open, so what is "
                "committed now cannot be read here; open the store again"
            )

    @property
    def files(self) -> list[int]:
        return [self._out, self._signs]

    def close(self) -> None:
        super().close()
        if hasattr(self, "_watched"):
            self._watched()


class Bell(ABC):
    """The listeners of a connection's commits."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._listeners: weakref.WeakSet[CommitListener] = weakref.WeakSet()
        self.is_closed = False

    def listen(self) -> CommitListener:
        """Open a listener."""
        made = self._made()
        with self._guard:
            self._listeners.add(made)
        return made

    @abstractmethod
    def _made(self) -> CommitListener:
        """A new listener of this kind of connection."""

    def wake(self) -> None:
        """Wake the listeners of this connection."""
        with self._guard:
            for one in self._listeners:
                one.wake()

    def close(self) -> None:
        """Wake all listeners of a closed connection: their next look fails."""
        self.is_closed = True
        self.wake()


class Doorbell(Bell):
    """Signals the commits of a SQLite connection to other processes."""

    def __init__(self, log: str = "") -> None:
        """``log`` is the path of the write-ahead log; empty for a store in memory."""
        super().__init__()
        self._is_file = bool(log)
        self._log = log if _LINUX else ""

    def _made(self) -> CommitListener:
        if self._log:
            with suppress(OSError):  # the user watches too many files already
                return FileListener(self._log, self)
        return ConnectionListener(patience=WITHOUT_SIGN if self._is_file else AT_LEAST)

    def ring(self) -> None:
        """Wake all listeners, in other processes too."""
        if not self._log:
            self.wake()
            return
        with suppress(OSError):  # a sign that is lost is made up for
            os.close(os.open(self._log, os.O_RDONLY | os.O_CLOEXEC))


@cache
def _libc() -> ctypes.CDLL:
    # Imported here: only those who wait need it.
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _inotify(name: str, *arguments: object) -> int:
    import ctypes

    found: int = getattr(_libc(), f"inotify_{name}")(*arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _drain(file: int) -> None:
    with suppress(BlockingIOError):
        while os.read(file, _MOST_SIGNS):
            pass


def _close(files: Iterable[int]) -> None:
    for file in files:
        with suppress(OSError):  # closed under us
            os.close(file)

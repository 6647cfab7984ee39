"""Pins of a workspace's log, kept outside its database: the keys that sign it, and its last head.

The pin lies with the keys, apart from the database. A database that was swapped for another, rolled back or forked no
longer fits it. The head is written with each commit and reaches the disk at the latest with the next exposure; the keys
are flushed when they change.

The epoch of the last exposure, kept with the keys, not in the database.

A database restored from a backup forgets that a view was consumed. The mark does not: it is outside a
database backup, and only ever rises.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import msgspec

from readmit.records.error_types import SealError
from readmit.trust.merkle import HASH_BYTES, TreeHead
from readmit.trust.private_keys import FILE_MODE

if TYPE_CHECKING:
    from pathlib import Path


_SIZE = 8
_SLOT = _SIZE + HASH_BYTES + HASH_BYTES


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that may sign a log's heads, and the number of commits after which that holds."""

    workspace: str
    keys: dict[str, bytes]
    """Key id → raw public key, the newest last."""
    size: int = 0
    before: dict[str, bytes] = {}
    """The keys before the last of these commits, which they signed."""


class Pin(Protocol):
    """Keeps the keys and the last head of one workspace."""

    def trust(self) -> Trust | None:
        """The pinned keys; none before the first use."""

    def pin(self, trust: Trust) -> None:
        """Pin keys."""

    def head(self) -> TreeHead | None:
        """The last head."""

    def advance(self, head: TreeHead) -> None:
        """Keep a newer head."""

    def flush(self) -> None:
        """Make the head durable."""


class MemoryPin:
    """The pin of a workspace in memory, or of a verifier with given keys."""

    def __init__(self, trust: Trust | None = None) -> None:
        self._trust = trust
        self._head: TreeHead | None = None

    def trust(self) -> Trust | None:
        return self._trust

    def pin(self, trust: Trust) -> None:
        self._trust = trust

    def head(self) -> TreeHead | None:
        return self._head

    def advance(self, head: TreeHead) -> None:
        self._head = head

    def flush(self) -> None:
        pass


class FilePin:
    """Two small files. Heads alternate between two slots, so that a torn write leaves the one before."""

    def __init__(self, keys: Path, heads: Path) -> None:
        self._keys = keys
        self._heads = heads
        self._file = -1
        self._read: tuple[bytes, TreeHead | None] = (b"", None)
        """The last content of the file, and the head that it states."""

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def trust(self) -> Trust | None:
        try:
            data = self._keys.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SealError(f"{self._keys}: cannot read the pinned keys: {error.strerror}") from error
        try:
            return msgspec.json.decode(data, type=Trust)
        except msgspec.DecodeError as error:
            raise SealError(f"{self._keys} is damaged ({error}); restore it from a backup of the keys") from None

    def pin(self, trust: Trust) -> None:
        part = self._keys.with_suffix(f".{os.getpid()}.part")
        try:
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
            try:
                os.write(file, msgspec.json.encode(trust))
                os.fsync(file)
            finally:
                os.close(file)
            part.replace(self._keys)
        except OSError as error:
            raise SealError(f"{self._keys}: cannot pin the keys: {error.strerror}") from error

    def head(self) -> TreeHead | None:
        if not self._open():
            return None
        data = os.pread(self._file, 2 * _SLOT, 0)
        if data != self._read[0]:
            found = [head for at in (0, _SLOT) if (head := _parsed(data[at : at + _SLOT])) is not None]
            self._read = data, max(found, default=None)
        return self._read[1]

    def advance(self, head: TreeHead) -> None:
        if not self._open(create=True):
            raise SealError(f"{self._heads}: cannot keep the last head of the log: its folder is not there")
        known = self.head()
        if known is not None and known.size >= head.size:
            return  # another process was here with a newer one
        said = head.size.to_bytes(_SIZE, "big") + head.root
        slot, at = said + hashlib.sha256(said).digest(), head.size % 2 * _SLOT
        try:
            if os.pwrite(self._file, slot, at) < _SLOT:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - one report for every failure
            self._read = self._read[0][:at] + slot + self._read[0][at + _SLOT :], head
        except OSError as error:
            raise SealError(f"{self._heads}: cannot keep the last head of the log: {error.strerror}") from error

    def flush(self) -> None:
        try:
            if self._open():
                os.fsync(self._file)
        except OSError as error:
            raise SealError(f"{self._heads}: cannot keep the last head of the log: {error.strerror}") from error

    def forget(self, *, keys: bool) -> None:
        """Forget the last head, after a restore that was intended; the keys too, if they may have changed since."""
        self._heads.unlink(missing_ok=True)
        if keys:
            self._keys.unlink(missing_ok=True)

    def _open(self, *, create: bool = False) -> bool:
        if self._file < 0:
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
            for mode in (flags, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC):
                try:
                    self._file = os.open(self._heads, mode, FILE_MODE)
                    break
                except FileNotFoundError:
                    return False
                except OSError:
                    continue
        return self._file >= 0


@lru_cache(8)  # read with every transaction, and most slots are those of the last one
def _parsed(slot: bytes) -> TreeHead | None:
    said, digest = slot[: _SIZE + HASH_BYTES], slot[_SIZE + HASH_BYTES :]
    if len(slot) != _SLOT or hashlib.sha256(said).digest() != digest:
        return None
    return TreeHead(int.from_bytes(said[:_SIZE], "big"), said[_SIZE:])


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

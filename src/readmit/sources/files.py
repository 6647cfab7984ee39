"""Looks at files below the roots: regular files only, no symbolic link on the way, one bounded read."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

from readmit.records.error_types import GoneError, ProbeError
from readmit.records.probes import FileProbe, Finding
from readmit.sources.look import LookDeadline, check_size, quoted_at, unread
from readmit.sources.prober import Captured, ProbeResult
from readmit.sources.quote_finder import FoundQuote, found_again, quoted_part, worded_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.records.policy import LookRules
    from readmit.sources.places import File

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Nonblocking, because a FIFO may have taken the place of a file since it was examined.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OPEN_DIRECTORIES = 64
_READS = 3
_PIECE = 4_096
# What is found is kept as evidence, for others to see, and a probe may come from any writer: it could ask for these.
_SECRET = re.compile(
    r"\.env(?!\.(?:example|sample|template)$).*|.*\.(?:keys|key|pem|p12|pfx|jks|kdbx)|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|\.(?:git|ssh|gnupg|aws|azure|kube|docker|netrc|pgpass|npmrc|pypirc|git-credentials|htpasswd)",
    re.IGNORECASE,
)
# A file may change twice within one tick of its file system's clock; FAT's is two seconds.
_TICK = 2_000_000_000
_MOST_REMEMBERED = 100_000
_MOST_KEPT = 8_000_000


FileVersion: TypeAlias = tuple[int, int, int, int, int]
"""The metadata that tells two versions of a file apart. A program can set the last but one, not the last."""


def version(status: os.stat_result) -> FileVersion:
    """The version of a file that has this status."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class Unchanged:
    """Which version of its file each probe was last found unchanged in.

    In memory only, unless its program keeps it where nobody else writes: a forged one hides a change. As git does, a
    version is not trusted if its file changed just before it was read: a later change could bear the same times.
    """

    def __init__(self) -> None:
        self._versions: dict[FileProbe, FileVersion] = {}

    def get(self, probe: FileProbe) -> FileVersion | None:
        return self._versions.get(probe)

    def put(self, probe: FileProbe, seen: FileVersion, read_at: int) -> None:
        if is_settled(seen, read_at):
            if len(self._versions) >= _MOST_REMEMBERED:
                self._versions.clear()
            self._versions[probe] = seen


def is_settled(seen: FileVersion, read_at: int) -> bool:
    """Whether no later version of a file that was read at this moment can look the same."""
    *_, changed, touched = seen
    return max(changed, touched) < read_at - _TICK


class Files:
    """The files of one look. Directories stay open until it ends, and each file is examined once."""

    def __init__(self, limits: LookRules, unchanged: Unchanged) -> None:
        self._limits = limits
        self._unchanged = unchanged
        self._open: dict[str, int] = {}
        self._versions: dict[str, FileVersion] = {}
        self._reads: dict[str, tuple[bytes, FileVersion, int]] = {}
        self._kept = 0
        """Bytes of the files that were read."""

    def look(self, probe: FileProbe, deadline: LookDeadline) -> ProbeResult:
        if probe.exists:
            _entry(*self._place(probe.path))
            return ProbeResult(Finding.UNCHANGED, probe)
        seen = self._unchanged.get(probe)
        if seen is not None and self._version(probe.path) == seen:
            return ProbeResult(Finding.UNCHANGED, probe)
        data, seen, read_at = self._read_once(probe.path)
        result = found_again(probe, data, deadline)
        if result.outcome is Finding.UNCHANGED:
            self._unchanged.put(probe, seen, read_at)
        return result

    def _version(self, path: str) -> FileVersion:
        found = self._versions.get(path)
        if found is None:
            found = self._versions[path] = version(_status(*self._place(path)))
        return found

    def _read_once(self, path: str) -> tuple[bytes, FileVersion, int]:
        """A file, its version, and when it was read. A memory file has a probe for each of its lines."""
        if path not in self._reads:
            if self._kept > _MOST_KEPT:
                self._reads.clear()
                self._kept = 0
            read_at = time.time_ns()
            data, seen = self._read(*self._place(path))
            self._reads[path] = data, seen, read_at
            self._kept += len(data)
        return self._reads[path]

    def capture(self, place: File, deadline: LookDeadline) -> Captured:  # noqa: ARG002 - reading a file is bounded
        path = str(place.path)
        probe = unread(FileProbe, place, path=path)
        if place.exists:
            _entry(*self._place(path))
            there = FoundQuote(f"{path} is there".encode(), {})
            return quoted_at(probe, there, path=self._stored(path))
        data = self.read(path)
        if place.quote:
            return quoted_at(probe, worded_part(path, data, place.quote), path=self._stored(path))
        quote = quoted_part(path, data, lines=place.lines, symbol=place.symbol)
        return quoted_at(probe, quote, path=self._stored(path))

    def read(self, path: str) -> bytes:
        """The whole of a file."""
        return self._read(*self._place(path))[0]

    def _stored(self, path: str) -> str:
        """A path as a probe keeps it: relative to the first root if it is below it, so that the root can move."""
        first = PurePath(self._limits.roots[0])
        pure = PurePath(path)
        return str(pure.relative_to(first) if pure.is_relative_to(first) else pure)

    def _place(self, path: str) -> tuple[int, str]:
        """The open directory of a file, and the file's name in it."""
        parent, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            raise ProbeError(f"path: {path} names no file")
        if may_hold_secret(name):
            raise ProbeError(f"path: {name} may hold a secret; such files are not read")
        key = "/" if path.startswith("/") and not parent else parent
        directory = self._open.get(key)
        if directory is None:
            if len(self._open) >= _OPEN_DIRECTORIES:
                self.close()
            directory = self._open[key] = self._opened(key, path)
        return directory, name

    def _opened(self, parent: str, path: str) -> int:
        root, parts = below(self._limits.roots, parent, said=path)
        if secret := next(filter(may_hold_secret, parts), ""):
            raise ProbeError(f"path: {secret} may hold secrets; nothing in it is read")
        return opened_below(root, parts)

    def _read(self, directory: int, name: str) -> tuple[bytes, FileVersion]:
        """The whole of a file in one version of it."""
        # Examined before it is opened: opening a device can have effects.
        seen = _status(directory, name)
        for _ in range(_READS):
            check_size(seen.st_size, self._limits.bytes)
            try:
                file = os.open(name, _FILE, dir_fd=directory)
            except OSError as error:
                raise _refusal(directory, name, error) from None
            try:
                seen = _regular(os.fstat(file), name)
                data = _all(file, self._limits.bytes, seen.st_size)
                after = os.fstat(file)
            finally:
                os.close(file)
            if (found := version(seen)) == version(after):
                return data, found
            seen = after
        raise ProbeError("it changes while it is read")

    def close(self) -> None:
        self._reads.clear()
        self._kept = 0
        while self._open:
            os.close(self._open.popitem()[1])


def may_hold_secret(name: str) -> bool:
    """Whether files and folders of this name are never read."""
    return _SECRET.fullmatch(name) is not None


def below(roots: tuple[str, ...], path: str, *, said: str) -> tuple[str, tuple[str, ...]]:
    """The root that a path is below, and the names that lead from there to it. ``said`` is how a message names it."""
    if not roots:
        raise ProbeError(f"roots: no directory may be read; add one that {said} is below to looks.roots of the policy")
    pure = PurePath(path)
    if ".." in pure.parts:
        raise ProbeError(f"path: {said} holds ..; write it from a root downwards")
    if not pure.is_absolute():
        return roots[0], pure.parts
    for root in roots:
        absolute = PurePath(root)
        if pure.is_relative_to(absolute):
            return str(absolute), pure.relative_to(absolute).parts
    raise ProbeError(f"roots: {said} is not below {' or '.join(roots)}; add its directory to looks.roots of the policy")


def opened_below(root: str, parts: Iterable[str]) -> int:
    """A directory below a root, reached through no link."""
    try:
        directory = os.open(root, _DIRECTORY)
    except OSError as error:
        raise ProbeError(f"the root {root} cannot be opened: {error.strerror}") from None
    return descended(directory, parts)


def descended(directory: int, parts: Iterable[str]) -> int:
    """A directory below an open one, reached through no link. The open one is closed."""
    for part in parts:
        try:
            inner = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        except OSError as error:
            raise _refusal(directory, part, error) from None
        finally:
            os.close(directory)
        directory = inner
    return directory


@contextmanager
def opened_file(directory: int, path: str) -> Iterator[int]:
    """A regular file below an open directory, reached through no link."""
    *parts, name = path.split("/")
    if not {"", ".", ".."}.isdisjoint((*parts, name)):
        raise ProbeError(f"{path} leads elsewhere")
    inner = descended(os.dup(directory), parts)
    try:
        # Examined before it is opened: opening a device can have effects.
        _status(inner, name)
        try:
            file = os.open(name, _FILE, dir_fd=inner)
        except OSError as error:
            raise _refusal(inner, name, error) from None
    finally:
        os.close(inner)
    try:
        _regular(os.fstat(file), name)
        yield file
    finally:
        os.close(file)


def read_below(directory: int, path: str, limit: int) -> bytes:
    """A whole file below an open directory."""
    with opened_file(directory, path) as file:
        return _all(file, limit, os.fstat(file).st_size)


def _status(directory: int, name: str) -> os.stat_result:
    return _regular(_entry(directory, name), name)


def _entry(directory: int, name: str) -> os.stat_result:
    """The status of whatever has a name in a directory."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        raise _refusal(directory, name, error) from None


def _regular(status: os.stat_result, name: str) -> os.stat_result:
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISLNK(status.st_mode):
        raise ProbeError(f"{name} is a symbolic link; links are not followed")
    if stat.S_ISDIR(status.st_mode):
        raise GoneError(f"{name} is a directory")
    raise ProbeError(f"{name} is not a regular file")


def _refusal(directory: int, name: str, error: OSError) -> ProbeError:
    """The error for a failed system call: the file is missing, is a link, or cannot be read."""
    if isinstance(error, FileNotFoundError):
        return GoneError(f"there is no {name}")
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return ProbeError(f"{name} cannot be read: {error.strerror}")
    if stat.S_ISLNK(status.st_mode):
        return ProbeError(f"{name} is a symbolic link; links are not followed")
    if isinstance(error, NotADirectoryError):
        return GoneError(f"{name} is no directory now")
    return ProbeError(f"{name} cannot be read: {error.strerror}")


def _all(file: int, limit: int, size: int) -> bytes:
    """The whole content of a file, which may be longer than its ``size`` says: some file systems give none."""
    pieces: list[bytes] = []
    left, some = limit + 1, size + 1
    while left > 0:
        try:
            # No more than there may be: a buffer is made for all that is asked for.
            piece = os.read(file, min(left, some))
        except BlockingIOError:
            raise ProbeError("it does not end") from None
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
        if len(piece) == size <= limit and len(pieces) == 1:
            # As long as it said, though one more was asked for.
            return piece
        some = max(_PIECE, len(piece))
    raise ProbeError(f"it has more than {limit} bytes, which is the limit")

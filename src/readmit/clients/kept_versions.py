"""Which versions of files a project's probes were last found unchanged in, kept from one process to the next.

A hook is a process of its own, and a start has two seconds for thousands of probes. The file is in readmit's data
folder, beside the store: who could forge it could write there anyway.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.sources.files import FileVersion, Unchanged, is_settled

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.records.probes import FileProbe

_MOST_BYTES = 32 << 20
_MOST_FILES = 5_000


class _Seen(NamedTuple):
    """A version of a file, and the probes that found what they look for in it."""

    version: FileVersion
    probes: set[str]


class KeptVersions(Unchanged):
    """Versions of unchanged files, as in ``Unchanged``, kept in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._seen: dict[str, _Seen] | None = None
        self._is_new = False

    def get(self, probe: FileProbe) -> FileVersion | None:
        seen = self._files.get(probe.path)
        return seen.version if seen is not None and _key(probe) in seen.probes else None

    def put(self, probe: FileProbe, seen: FileVersion, read_at: int) -> None:
        if not is_settled(seen, read_at):
            return
        known = self._files.get(probe.path)
        if known is None or known.version != seen:
            known = self._files[probe.path] = _Seen(seen, set())
        known.probes.add(_key(probe))
        self._is_new = True

    @property
    def _files(self) -> dict[str, _Seen]:
        if self._seen is None:
            self._seen = {}
            with suppress(OSError, msgspec.MsgspecError):
                if self._path.stat().st_size <= _MOST_BYTES:
                    self._seen = msgspec.json.decode(self._path.read_bytes(), type=dict[str, _Seen])
        return self._seen

    def save(self) -> None:
        """Write the versions that were added. If that fails, the next process looks again."""
        if not self._is_new:
            return
        kept = dict(list(self._files.items())[-_MOST_FILES:])
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(kept))
            fresh.replace(self._path)
        self._is_new = False


def _key(probe: FileProbe) -> str:
    """Key of a probe's question about its file, without the path."""
    # The digest is that of the quote: no words of a memory file are written here.
    return f"{probe.first}-{probe.last}:{probe.size}:{probe.symbol}:{bool(probe.quote)}:{probe.digest}"

"""Opens a memory store from one line of text, and checks its package and folder.

    scopedmem                         our own, inside the workspace; scopedmem:NAME for another one beside it
    mem0:FOLDER, amem:FOLDER          a store on disk
    memobase:URL?key_env=NAME         a project on a running server

A LangGraph store belongs to a program and is not named by a line: ``LangGraphMemory`` takes the store itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from readmit.plugins import Line, Opener, Plugins
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from readmit.backends.port import MemoryBackend
    from readmit.log.log import Log
    from readmit.models.protocols import Embedder, Model

    Options = TypeVar("Options", bound=msgspec.Struct)

STORES = Plugins(
    "backend",
    "readmit.backends",
    {
        "scopedmem": Opener("readmit.backends.scopedmem:ScopedMem.at"),
        "mem0": Opener("readmit.backends.adapters.mem0:Mem0.at", "mem0"),
        "amem": Opener("readmit.backends.adapters.amem:AMem.at", "amem"),
        "memobase": Opener("readmit.backends.adapters.memobase:Memobase.at", "memobase"),
    },
    BackendError,
)
_METHODS = ("name", "workspace", "form", "search", "records", "update", "delete", "export", "load", "close")


class NoOptions(msgspec.Struct, forbid_unknown_fields=True):
    """Options of a store whose line takes none."""


class Site(NamedTuple):
    """The context of opening a store: workspace, place and models."""

    line: Line
    log: Log
    """The workspace's log: stores may keep data in ``log.memories`` and ``log.sources``."""
    folder: Path | None = None
    """The folder of a store on disk, if the line names none."""
    embedder: Embedder | None = None
    model: Model | None = None
    """Forms memories. Without one, only verbatim memories can be formed."""

    @property
    def workspace(self) -> str:
        """The name of the workspace that the store serves."""
        return self.log.workspace

    def place(self) -> str | Path:
        """The folder that the line names, or the one that was given. Such a line takes no options."""
        self.options(NoOptions)
        if not self.line.target and self.folder is None:
            raise BackendError(f"backend {self.line.kind}: name a folder, as {self.line.kind}:FOLDER")
        return self.line.target or self.folder or ""

    def needed_embedder(self) -> Embedder:
        """The embedder, for a store that needs one."""
        if self.embedder is None:
            raise BackendError(f"backend {self.line.kind}: embedder: give one, as open_embedder('minilm')")
        return self.embedder

    def options(self, kind: type[Options]) -> Options:
        """The line's options as fields of a struct."""
        return STORES.options(self.line, kind)


def open_backend(
    spec: str, log: Log, *, folder: Path | None = None, embedder: Embedder | None = None, model: Model | None = None
) -> MemoryBackend:
    """Open the memory store that a line names, for the workspace of a log.

    Another package adds a store by an entry point in the group ``readmit.backends``: a function that takes a ``Site``
    and returns the store.
    """
    line = STORES.read(spec)
    made: MemoryBackend = STORES.open(line, Site(line, log, folder, embedder, model), methods=_METHODS)
    if made.workspace != log.workspace:
        raise BackendError(f"backend {line.kind}: it serves workspace {made.workspace!r}, not {log.workspace!r}")
    return made


def folder_at(path: str | Path) -> Path:
    """The folder of a store, created if missing."""
    if not str(path):
        raise BackendError("path: name a folder for the store")
    folder = Path(path).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"path: {folder} cannot be used as a folder: {error.strerror}") from error
    return folder

"""The memory stores of the backend study: which there are, what each needs, and how one is opened for a history.

All rank with the run's embedder. ScopedMem lives in the workspace's own file, and ranks by words as well; Mem0 and
A-MEM are opened in a folder; Memobase runs as a server elsewhere, named by two environment variables, because a key
does not belong on a command line.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from readmit.errors import BackendError, ModelError
from readmit.lab import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit import Workspace
    from readmit.memory import MemoryBackend
    from readmit.models import Embedder, Model

Store = Literal["ScopedMem", "Mem0", "Memobase", "A-MEM"]
STORES: tuple[Store, ...] = ("ScopedMem", "Mem0", "Memobase", "A-MEM")
HALVES = ("Static", "readmit")
URL, KEY = "READMIT_MEMOBASE_URL", "READMIT_MEMOBASE_KEY"

_PACKAGES: dict[Store, tuple[str, str]] = {
    "Mem0": ("mem0", "mem0"),
    "Memobase": ("memobase", "memobase"),
    "A-MEM": ("agentic_memory", "amem"),
}
_SECONDS = 60.0


def stores_of(methods: Iterable[str]) -> tuple[Store, ...]:
    """The stores that some methods use."""
    named = {name.partition("/")[0] for name in methods if "/" in name}
    return tuple(store for store in STORES if store in named)


def lacking(store: Store) -> str:
    """What a store needs and does not have here; empty if it can be used."""
    package, extra = _PACKAGES.get(store, ("", ""))
    if package and find_spec(package) is None:
        return f"{package} is not installed; run: pip install 'readmit[{extra}]'"
    absent = [name for name in (URL, KEY) if store == "Memobase" and not os.environ.get(name)]
    return f"Memobase needs a running server; set {' and '.join(absent)}" if absent else ""


def check_stores(methods: Iterable[str], embedder: Embedder | None) -> None:
    """Refuse methods whose store cannot be used, before anything is formed."""
    stores = stores_of(methods)
    for store in stores:
        if why := lacking(store):
            raise BackendError(f"methods: {store}: {why}")
    if stores:
        # Embed once now, so that a missing package is reported here and not once per episode.
        _needed(embedder, stores[-1]).embed(["ready"])
    if "Memobase" in stores:
        from readmit import Workspace

        # Its health check needs no key; only a read shows whether the key is accepted. Closing reads what to delete.
        with Workspace.open() as workspace, opened("Memobase", workspace, Path(), embedder=embedder, model=None):
            pass


@contextmanager
def opened(
    store: Store, workspace: Workspace, folder: Path, *, embedder: Embedder | None, model: Model | None
) -> Iterator[MemoryBackend]:
    """An empty store for one workspace. Closed at the end, and nothing of it is left on a server."""
    if store == "ScopedMem":
        from readmit.backends import ScopedMem

        yield ScopedMem(
            desk_of(workspace).log.memories, workspace.name, embedder=embedder, clock=desk_of(workspace).writer.clock
        )
        return
    backend = _open(store, workspace, folder, _needed(embedder, store), model)
    try:
        yield backend
    finally:
        try:
            if store == "Memobase":
                for record in list(backend.records()):
                    backend.delete(record.id)
        finally:
            backend.close()


def _open(store: Store, workspace: Workspace, folder: Path, embedder: Embedder, model: Model | None) -> MemoryBackend:
    if store == "Mem0":
        from readmit.backends import Mem0

        return Mem0.open(folder, workspace.name, embedder=embedder, model=model)
    if store == "A-MEM":
        from readmit.backends import AMem

        return AMem.open(folder, workspace.name, embedder=embedder, model=model)
    from readmit.backends import Memobase

    return Memobase.open(
        os.environ[URL],
        workspace.name,
        api_key=os.environ[KEY],
        ledger=desk_of(workspace).log.sources,
        embedder=embedder,
        # A server outlives the run, and no other run may see these records.
        name=f"bench-{secrets.token_hex(8)}",
        timeout=_SECONDS,
    )


def _needed(embedder: Embedder | None, store: Store) -> Embedder:
    if embedder is None:
        raise ModelError(f"{store}: ranks with an embedder; name one with --embedder")
    return embedder

"""How the conformance tests open LangGraph's stores. At module level: a child process opens them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from readmit.backends.langgraph import LangGraphMemory, index_with
from readmit.models import Lexical

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from langgraph.store.base import BaseStore

    from readmit import Workspace

_in_memory: dict[Path, BaseStore] = {}


class Closing(LangGraphMemory):
    """The tests own the connection, so closing the backend closes it."""

    connection: Any

    def close(self) -> None:
        self.connection.close()


def open_sqlite(team: Workspace, folder: Path) -> Closing:
    # The interpreter's own module may be built without extensions, which the store's vectors need.
    import pysqlite3

    connection = pysqlite3.connect(str(folder / "store.db"), isolation_level=None, check_same_thread=False)
    store = SqliteStore(connection, index=index_with(Lexical()))  # type: ignore[arg-type]  # a typed dict with more keys
    store.setup()
    memory = Closing(store, team.name, history=team.admin.log.memories, name=folder.name)
    memory.connection = connection
    return memory


def open_in_memory(team: Workspace, folder: Path) -> LangGraphMemory:
    store = _in_memory.setdefault(folder, InMemoryStore(index=index_with(Lexical())))
    return LangGraphMemory(store, team.name, history=team.admin.log.memories, name=folder.name)


def open_existing(team: Workspace, folder: Path) -> LangGraphMemory:
    """In front of namespaces that a team used before."""
    store = _in_memory.setdefault(folder, InMemoryStore(index=index_with(Lexical())))
    namespace = ("memories", team.name)
    return LangGraphMemory(store, team.name, history=team.admin.log.memories, name=folder.name, namespace=namespace)

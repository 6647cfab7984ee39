"""The parts that the LangGraph graph of one agent is compiled with, so that it can leave and come back.

    graph = builder.compile(**for_langgraph(trip, planner, saver=SqliteSaver(…), store=SqliteStore(…), into="view"))

``langchain.agents.create_agent`` takes the same arguments. Another process makes the same again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.backends.langgraph import LangGraphMemory, ReturningCache, ReturningSaver, TeamStore
from readmit.records.error_types import BackendError
from readmit.workspace.memory_handle import Memory
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from langgraph.cache.base import BaseCache
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.store.base import BaseStore

    from readmit.workspace.agent import Agent


def for_langgraph(
    workspace: Workspace,
    agent: Agent,
    *,
    saver: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    private: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """``checkpointer``, ``store`` and ``cache`` for one agent's graph: those of its own parts that are given.

    ``private`` is the ``TeamStore``'s, ``options`` are the ``ReturningSaver``'s: ``keep``, ``into``, ``sources``,
    ``purpose`` and ``prepare``. Without a saver, the store is closed once the agent departs.
    """
    if agent.identity.workspace != workspace.name:
        raise BackendError(f"agent: {agent!r} is not of workspace {workspace.name!r}")
    if saver is None and options:
        raise BackendError(f"saver: pass one; {', '.join(options)} say what it carries over a return")
    parts: dict[str, Any] = {}
    log = desk_of(workspace).log
    if saver is not None:
        parts["checkpointer"] = ReturningSaver(saver, agent=agent, log=log, **options)
    if store is not None:
        memory = LangGraphMemory(store, workspace.name, history=log.memories)
        back = parts["checkpointer"].memory(Memory(workspace, memory).returned) if saver is not None else None
        parts["store"] = TeamStore(memory, log=log, agent=agent, private=private, returned=back)
    if cache is not None:
        parts["cache"] = ReturningCache(cache, agent=agent, log=log)
    return parts

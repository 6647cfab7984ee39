"""LangGraph: a memory backend over any of its stores, stores to compile graphs with, a checkpoint saver and a cache."""

from __future__ import annotations

from readmit.records.error_types import BackendError

try:
    import langgraph.store.base as _  # noqa: F401 - before the modules that need it: a missing package is named
except ImportError:
    raise BackendError("langgraph is not installed; run: pip install 'readmit[langgraph]'") from None

from readmit.backends.langgraph.graph_stores import ReturnedStore, TeamStore, sources
from readmit.backends.langgraph.records import LangGraphMemory, index_with
from readmit.backends.langgraph.results import ReturningCache
from readmit.backends.langgraph.runs import ainvoke, as_node, invoke
from readmit.backends.langgraph.saver import ReturningSaver
from readmit.backends.langgraph.thread_presence import ReturnInterrupt

__all__ = [
    "LangGraphMemory",
    "ReturnInterrupt",
    "ReturnedStore",
    "ReturningCache",
    "ReturningSaver",
    "TeamStore",
    "ainvoke",
    "as_node",
    "index_with",
    "invoke",
    "sources",
]

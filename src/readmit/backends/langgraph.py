"""LangGraph: a memory backend over any of its stores, stores to compile graphs with, a checkpoint saver and a cache."""

from __future__ import annotations

from readmit.backends.langgraph_records import LangGraphMemory, index_with
from readmit.backends.langgraph_results import ReturningCache
from readmit.backends.langgraph_resume import ReturnInterrupt
from readmit.backends.langgraph_runs import ainvoke, as_node, invoke
from readmit.backends.langgraph_saver import ReturningSaver
from readmit.backends.langgraph_store import ReturnedStore, TeamStore, sources

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

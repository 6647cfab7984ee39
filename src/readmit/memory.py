"""readmit above a memory store: ``Memory`` binds its records, and a returned agent reads them through its view.

A store implements ``MemoryBackend``; the supported stores are in ``readmit.backends``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.backends.admission import Standing
from readmit.backends.bound_writes import Archived, read_archive
from readmit.backends.handle import ReturnedMemory
from readmit.backends.port import Apart, Change, Hit, Material, MemoryBackend, Narrowing, Stored
from readmit.log.ledger import TEAM, Binding, Precision
from readmit.records.lazy import lazily
from readmit.workspace.memory_handle import Adoption, Memory

if TYPE_CHECKING:
    from readmit.workspace.langgraph import for_langgraph
else:
    # It needs langgraph.
    __getattr__ = lazily(__name__, {"readmit.workspace.langgraph": ("for_langgraph",)})

__all__ = [
    "TEAM",
    "Adoption",
    "Apart",
    "Archived",
    "Binding",
    "Change",
    "Hit",
    "Material",
    "Memory",
    "MemoryBackend",
    "Narrowing",
    "Precision",
    "ReturnedMemory",
    "Standing",
    "Stored",
    "for_langgraph",
    "read_archive",
]

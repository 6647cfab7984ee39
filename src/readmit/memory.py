"""readmit above a memory store: ``Memory`` binds its records, and a returned agent reads them through its view.

A store implements ``MemoryBackend``; the supported stores are in ``readmit.backends``.
"""

from __future__ import annotations

from readmit.backends.admission import Standing
from readmit.backends.binding import Archived, read_archive
from readmit.backends.handle import ReturnedMemory
from readmit.ports.backend import (
    TEAM,
    Apart,
    Binding,
    Change,
    Hit,
    Material,
    MemoryBackend,
    Narrowing,
    Precision,
    Stored,
)
from readmit.workspace.memory import Adoption, Memory

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
    "read_archive",
]

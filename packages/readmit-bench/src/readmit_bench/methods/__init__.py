"""The methods of the comparison: one small file each, its rule in its docstring."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from readmit_bench.methods.drop_last_session import DropLastSession
from readmit_bench.methods.memstrata import MemStrata
from readmit_bench.methods.memtx import MemTX
from readmit_bench.methods.protocol import Method, admitted, checked, retrieved
from readmit_bench.methods.readmit_lexical import ReadmitLexical
from readmit_bench.methods.reset import Reset
from readmit_bench.methods.restore import Restore
from readmit_bench.methods.same_version import SameVersion
from readmit_bench.methods.static import Static

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MODEL_FREE",
    "SHORTCUTS",
    "DropLastSession",
    "MemStrata",
    "MemTX",
    "Method",
    "ReadmitLexical",
    "Reset",
    "Restore",
    "SameVersion",
    "Static",
    "admitted",
    "checked",
    "retrieved",
]

MODEL_FREE: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (Static(), Restore(), Reset(), MemStrata(), MemTX(), ReadmitLexical())}
)

SHORTCUTS: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (SameVersion(), DropLastSession())}
)
"""What a benchmark's construction gives away: right for no other reason, and defined on that benchmark alone."""

"""The methods of the comparison: one small file each, its rule in its docstring, and one entry in ``registry``."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from readmit_bench.methods.method import Method, admitted, checked, retrieved
from readmit_bench.methods.registry import COMPARED, MethodEntry, Resources, entries, entry_named, made

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MODEL_FREE",
    "Method",
    "MethodEntry",
    "Resources",
    "admitted",
    "checked",
    "entries",
    "entry_named",
    "made",
    "retrieved",
]

MODEL_FREE: Mapping[str, Method] = MappingProxyType({entry.name: entry.make(Resources()) for entry in COMPARED})

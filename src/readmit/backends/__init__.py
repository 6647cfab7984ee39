"""Memory stores with one interface: ``ScopedMem`` is our own, the others are adapters to existing stores.

The other parts for LangGraph programs are in ``readmit.backends.langgraph``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.backends.adapters.amem import AMem
    from readmit.backends.adapters.mem0 import Mem0
    from readmit.backends.adapters.memobase import Memobase
    from readmit.backends.langgraph.records import LangGraphMemory
    from readmit.backends.scopedmem import ScopedMem
    from readmit.backends.store_lines import Site, open_backend
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.backends.adapters.amem": ("AMem",),
            "readmit.backends.langgraph.records": ("LangGraphMemory",),
            "readmit.backends.adapters.mem0": ("Mem0",),
            "readmit.backends.adapters.memobase": ("Memobase",),
            "readmit.backends.store_lines": ("Site", "open_backend"),
            "readmit.backends.scopedmem": ("ScopedMem",),
        },
    )

__all__ = ["AMem", "LangGraphMemory", "Mem0", "Memobase", "ScopedMem", "Site", "open_backend"]

"""Memory stores behind one port: ``ScopedMem`` is our own, the others are adapters to existing stores.

The other parts for LangGraph programs are in ``readmit.backends.langgraph``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.backends.amem import AMem
    from readmit.backends.langgraph.records import LangGraphMemory
    from readmit.backends.mem0 import Mem0
    from readmit.backends.memobase import Memobase
    from readmit.backends.opening import Site, open_backend
    from readmit.backends.scopedmem import ScopedMem
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.backends.amem": ("AMem",),
            "readmit.backends.langgraph.records": ("LangGraphMemory",),
            "readmit.backends.mem0": ("Mem0",),
            "readmit.backends.memobase": ("Memobase",),
            "readmit.backends.opening": ("Site", "open_backend"),
            "readmit.backends.scopedmem": ("ScopedMem",),
        },
    )

__all__ = ["AMem", "LangGraphMemory", "Mem0", "Memobase", "ScopedMem", "Site", "open_backend"]

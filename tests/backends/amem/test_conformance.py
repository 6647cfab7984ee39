from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from readmit.lab import digest
from readmit.testing import BackendConformance
from tests.backends.amem.openers import open_amem

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(
        find_spec("agentic_memory") is None, reason="a-mem is not installed; run: pip install 'readmit[amem]'"
    ),
]


class TestAMem(BackendConformance):
    opener = staticmethod(open_amem)

    def plant(self, backend: Any, text: str, key: str) -> None:
        """With A-MEM's own write, under an id that copies our source key."""
        name = f"readmit//{key}/{digest(text)[:16]}"
        backend.native.retriever.add_document(text, {"id": name, "content": text, "context": "General"}, name)

    def tamper(self, backend: Any, record: str, text: str) -> None:
        assert backend.native.update(record, content=text)

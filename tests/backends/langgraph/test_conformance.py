from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")
pytest.importorskip("pysqlite3", reason="needs pysqlite3-binary: SqliteStore's vectors are an extension")

from readmit.backends.langgraph import LangGraphMemory
from readmit.lab import digest
from readmit.memory import TEAM
from readmit.testing import BackendConformance
from tests.backends.langgraph.openers import open_existing, open_in_memory, open_sqlite

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.memory import MemoryBackend

pytestmark = pytest.mark.backends


class Native(BackendConformance):
    """Plants and tampers with LangGraph's own calls, not through the adapter."""

    def plant(self, backend: MemoryBackend, text: str, key: str) -> None:
        assert isinstance(backend, LangGraphMemory)
        namespace = backend.below(TEAM, ()) or ()
        backend.store.put((*namespace, "notes"), f"planted-{digest(text)}", {"text": text})

    def tamper(self, backend: MemoryBackend, record: str, text: str) -> None:
        assert isinstance(backend, LangGraphMemory)
        (held,) = [one for one in backend.store.search((), limit=99) if one.key == record.rpartition("/")[2]]
        backend.store.put(held.namespace, held.key, {"text": text})


class TestSqliteStore(Native):
    opener = staticmethod(open_sqlite)


class TestInMemoryStore(Native):
    opener = staticmethod(open_in_memory)

    @pytest.mark.skip(reason="InMemoryStore keeps nothing when its process ends")
    def test_a_killed_process_loses_nothing_it_acknowledged(self, tmp_path: Path) -> None: ...

    @pytest.mark.skip(reason="InMemoryStore keeps nothing when its process ends")
    def test_a_process_killed_before_it_filed_the_sources_leaves_the_record_out(self, tmp_path: Path) -> None: ...


class TestStoreThatWasThereBefore(TestInMemoryStore):
    opener = staticmethod(open_existing)

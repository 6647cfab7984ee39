from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

import pytest

from tests.backends.contract import check_call, check_version, resolve

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(
        find_spec("agentic_memory") is None, reason="a-mem is not installed; run: pip install 'readmit[amem]'"
    ),
    pytest.mark.filterwarnings("ignore"),
]

SYSTEM = "agentic_memory.memory_system:AgenticMemorySystem"
RETRIEVER = "agentic_memory.retrievers:ChromaRetriever"
COLLECTION = "chromadb.api.models.Collection:Collection"
CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    f"{SYSTEM}.__init__": ((), {"storage_path": "", "enable_cache": False}),
    f"{SYSTEM}.delete": (("memory_id",), {}),
    f"{RETRIEVER}.update_document": (("doc_id", "metadata", "content"), {}),
    "agentic_memory.llm_controller:OpenAIController.get_completion": (("prompt",), {"response_format": {}}),
    f"{COLLECTION}.query": ((), {"query_texts": [], "n_results": 1, "ids": None}),
    f"{COLLECTION}.get": ((), {"ids": [], "limit": 1, "offset": 0, "include": []}),
    f"{COLLECTION}.upsert": ((), {"ids": [], "documents": [], "metadatas": [], "embeddings": None}),
    f"{COLLECTION}.count": ((), {}),
    "chromadb:PersistentClient": (("path",), {"settings": None}),
}
NOTE = ("content", "id", "keywords", "links", "timestamp", "context", "evolution_history", "category", "tags")


def test_the_tested_releases_are_installed() -> None:
    check_version("a-mem", least=(0, 2, 6), below=(0, 3))
    check_version("chromadb", least=(1, 5), below=(2,))


@pytest.mark.parametrize("path", CALLS)
def test_a_call_that_the_adapter_makes_is_still_possible(path: str) -> None:
    positional, keywords = CALLS[path]
    check_call(path, *positional, **keywords)


def test_a_note_still_takes_an_id_of_ours_and_keeps_its_content() -> None:
    parameters = inspect.signature(resolve("agentic_memory.memory_system:MemoryNote")).parameters
    missing = [name for name in NOTE if name not in parameters]
    assert not missing, f"MemoryNote no longer takes {missing}; it takes {list(parameters)}"


def test_the_constructor_still_makes_the_parts_that_are_replaced() -> None:
    source = inspect.getsource(resolve(f"{SYSTEM}.__init__"))
    for part in ("self.retriever = ChromaRetriever(", "self.llm_controller = LLMController("):
        assert part in source, f"AgenticMemorySystem.__init__ no longer says {part!r}: the adapter replaces it"


def test_evolution_still_leaves_contents_alone() -> None:
    """The exact binding rests on this: neighbors get another context and other tags, never another content."""
    source = inspect.getsource(resolve(f"{SYSTEM}.process_memory"))
    for assignment in ("update_kwargs['content']", 'update_kwargs["content"]', "note.content ="):
        assert assignment not in source, f"A-MEM's evolution now changes contents ({assignment}): bind conservatively"


def test_add_note_still_keeps_the_content_it_was_given() -> None:
    source = inspect.getsource(resolve(f"{SYSTEM}.add_note"))
    assert "MemoryNote(content=content, **kwargs)" in source, "add_note builds its note in another way"

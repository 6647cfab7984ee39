from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import pytest

from tests.backends.contract import check_call, check_version, resolve

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed; run: pip install 'readmit[mem0]'"),
]

STORE = "mem0.vector_stores.qdrant:Qdrant"
CLIENT = "qdrant_client:QdrantClient"
CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "mem0:Memory.from_config": (("config_dict",), {}),
    "mem0:Memory.add": (("messages",), {"user_id": "", "run_id": "", "metadata": {}, "infer": True}),
    "mem0:Memory.search": (("query",), {"filters": {}, "top_k": 1}),
    "mem0:Memory.get_all": ((), {"filters": {}, "top_k": 1}),
    "mem0:Memory.update": (("memory_id",), {"text": ""}),
    "mem0:Memory.delete": (("memory_id",), {}),
    "mem0:Memory.history": (("memory_id",), {}),
    "mem0:Memory.close": ((), {}),
    f"{STORE}.insert": ((), {"vectors": [], "ids": [], "payloads": []}),
    f"{STORE}.get": ((), {"vector_id": ""}),
    f"{STORE}.list": ((), {"filters": {}, "top_k": 1}),
    f"{CLIENT}.scroll": (
        ("collection_name",),
        {"scroll_filter": None, "limit": 1, "with_payload": True, "with_vectors": True},
    ),
    f"{CLIENT}.query_points": (
        ("collection_name",),
        {"query": [], "query_filter": None, "limit": 1, "with_payload": False},
    ),
    f"{CLIENT}.retrieve": (("collection_name",), {"ids": [], "with_payload": True}),
    f"{CLIENT}.get_collection": (("collection_name",), {}),
    f"{CLIENT}.close": ((), {}),
    "mem0.embeddings.base:EmbeddingBase.embed": (("text", "memory_action"), {}),
    "mem0.embeddings.base:EmbeddingBase.embed_batch": (("texts", "memory_action"), {}),
    "mem0.llms.base:LLMBase.generate_response": (("messages",), {}),
    "mem0.utils.lemmatization:lemmatize_for_bm25": (("text",), {}),
}


@pytest.fixture(autouse=True)
def quiet(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", str(tmp_path_factory.mktemp("mem0")))


def test_the_tested_releases_are_installed() -> None:
    check_version("mem0ai", least=(2, 2), below=(3,))
    check_version("qdrant-client", least=(1, 16), below=(2,))


@pytest.mark.parametrize("path", CALLS)
def test_a_call_that_the_adapter_makes_is_still_possible(path: str) -> None:
    positional, keywords = CALLS[path]
    check_call(path, *positional, **keywords)


def test_the_parts_that_the_adapter_replaces_are_where_they_were(tmp_path_factory: pytest.TempPathFactory) -> None:
    import inspect

    source = inspect.getsource(resolve("mem0:Memory.__init__"))
    for attribute in ("self.embedding_model =", "self.llm =", "self.vector_store ="):
        assert attribute in source, f"mem0.Memory no longer sets {attribute.split()[0]}: the adapter replaces it"


def test_an_inferred_add_still_shows_the_model_only_its_own_session() -> None:
    """The exact binding rests on this: last messages and nearest memories are looked up by the session's ids."""
    import inspect

    source = inspect.getsource(resolve("mem0:Memory._add_to_vector_store"))
    for line in (
        "_build_session_scope(filters)",
        "get_last_messages(session_scope",
        'if k in ("user_id", "agent_id", "run_id") and v',
        "filters=search_filters",
    ):
        assert line in source, f"mem0's inferred add changed: {line!r} is gone. Check what its model sees of other adds"


def test_the_contract_names_what_changed() -> None:
    with pytest.raises(AssertionError, match="argument 1 was 'question', upstream calls it 'query'"):
        check_call("mem0:Memory.search", "question")
    with pytest.raises(AssertionError, match="no longer has 'find'"):
        check_call("mem0:Memory.find")
    with pytest.raises(AssertionError, match="would ignore"):
        check_call("mem0:Memory.search", "query", nearness=3)
    with pytest.raises(AssertionError, match="unexpected keyword argument 'nearness'"):
        check_call("mem0:Memory.update", "memory_id", nearness=3)
    with pytest.raises(AssertionError, match="outside the tested range"):
        check_version("mem0ai", least=(1,), below=(2,))

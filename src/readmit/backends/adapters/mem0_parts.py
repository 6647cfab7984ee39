"""readmit's model and embedder in the shape that mem0 calls, and a qdrant client that ranks only given points.

When an answer cannot be read or a text cannot be embedded, mem0 only logs it and the memory is missing. Here both are
failures, kept until the adapter checks, so that nothing is lost silently.

mem0 filters by metadata only, and a record's id is not metadata. So the narrowing happens in mem0's call to qdrant:
scoring, thresholds and everything after stay mem0's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.backends.adapters.foreign_store import FormingModel
from readmit.records.error_types import BackendError, ReadmitError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from readmit.models.protocols import Embedder

_ANSWER = {
    "type": "object",
    "properties": {
        "memory": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["memory"],
    "additionalProperties": False,
}


class _Memory(msgspec.Struct):
    text: str


class _Memories(msgspec.Struct):
    memory: list[_Memory]


class Extractor(FormingModel):
    """Replaces mem0's language model."""

    prompt = "mem0.extract@1"
    missing = "inferred memories need one; open Mem0 with model=, or form with verbatim=True"
    shape = "a list of memories in JSON"
    extracted: frozenset[str] = frozenset()
    """The memories of the last answer. mem0 only logs those that it cannot store."""

    def generate_response(self, messages: Sequence[dict[str, str]], **_: Any) -> str:
        """Answer mem0's request, which has a system and a user message."""
        self.extracted = frozenset()
        said = {"system": "", "user": ""}
        for message in messages:
            said[message["role"]] += message["content"]
        text, found = self._answered(said["system"], said["user"], _ANSWER, _Memories)
        self.extracted = frozenset(one.text for one in found.memory if one.text)
        return text


class Mem0Embedding:
    """Replaces mem0's embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.failed: Exception | None = None
        """The failure since the adapter last checked, which mem0 may have swallowed."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's own name
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:  # noqa: ARG002
        try:
            rows: list[list[float]] = self.embedder.embed(list(texts)).tolist()
        except ReadmitError as error:
            self.failed = error
            raise
        except Exception as error:
            self.failed = BackendError(f"embedder {self.embedder.name}: {error}")
            raise self.failed from error
        return rows


# Embedded qdrant scans a list of ids for every point. Up to about this length that is cheaper than reading the point's
# payload.
_FEW = 500


class NarrowedClient:
    """Forwards every call, and limits queries of one collection to given points."""

    def __init__(self, client: Any, collection: str, among: Collection[str]) -> None:
        self._client = client
        self._collection = collection
        self._among = among

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query_points(self, collection_name: str, *, limit: int, query_filter: Any = None, **options: Any) -> Any:
        """Query points as qdrant does. mem0's entities are in another collection, which is not limited."""
        options |= {"collection_name": collection_name, "query_filter": query_filter}
        if collection_name != self._collection:
            return self._client.query_points(limit=limit, **options)
        if len(self._among) <= _FEW:
            return self._client.query_points(limit=limit, **options | {"query_filter": self._by_id(query_filter)})
        return self._sifted(limit, options)

    def _by_id(self, query_filter: Any) -> Any:
        models = import_module("qdrant_client").models
        # First, because it rules out most points at once.
        must = [models.HasIdCondition(has_id=list(self._among)), *(query_filter.must or () if query_filter else ())]
        return models.Filter(must=must) if query_filter is None else query_filter.model_copy(update={"must": must})

    def _sifted(self, limit: int, options: dict[str, Any]) -> Any:
        """Rank without payloads until enough points match, and read only their payloads."""
        total = self._client.get_collection(self._collection).points_count or 0
        wanted = -(-limit * max(total, len(self._among)) // len(self._among))
        # mem0 asks for four times what it returns, so somewhat fewer are enough, and a second round costs a whole
        # search.
        enough = limit - limit // 4
        while True:
            found = self._client.query_points(limit=wanted, with_payload=False, **options)
            inside = [point for point in found.points if str(point.id) in self._among][:limit]
            if len(inside) >= enough or len(found.points) < wanted:
                break
            wanted *= 4
        read = self._client.retrieve(self._collection, ids=[point.id for point in inside], with_payload=True)
        payloads = {point.id: point.payload for point in read}
        points = [point.model_copy(update={"payload": payloads[point.id]}) for point in inside if point.id in payloads]
        return found.model_copy(update={"points": points})

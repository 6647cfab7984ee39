"""A qdrant client that ranks only given points.

mem0 filters by metadata only, and a record's id is not metadata. So the narrowing happens in mem0's call to qdrant:
scoring, thresholds and everything after stay mem0's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

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

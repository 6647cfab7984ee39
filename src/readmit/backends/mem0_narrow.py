"""A qdrant client that ranks certain points alone.

mem0 filters by metadata only, and a record's id is not metadata. qdrant itself can filter by id, so the condition is
added where mem0's search passes through: scoring, thresholds and everything after stay mem0's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


class NarrowedClient:
    """Hands every call on, and adds the ids to queries of one collection."""

    def __init__(self, client: Any, collection: str, among: Collection[str]) -> None:
        self._client = client
        self._collection = collection
        self._among = among

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query_points(self, collection_name: str, *, query_filter: Any = None, **options: Any) -> Any:
        """As qdrant's own; mem0 keeps its entities in another collection, which stays as it is."""
        if collection_name == self._collection:
            models = import_module("qdrant_client").models
            # First, because it rules out most points at once.
            must = [models.HasIdCondition(has_id=list(self._among)), *(query_filter.must or () if query_filter else ())]
            query_filter = (
                models.Filter(must=must) if query_filter is None else query_filter.model_copy(update={"must": must})
            )
        return self._client.query_points(collection_name=collection_name, query_filter=query_filter, **options)

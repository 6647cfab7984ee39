"""A saver that can prune threads, which none of LangGraph's own can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.checkpoint.memory import InMemorySaver

from tests.backends.langgraph.trip import thread

if TYPE_CHECKING:
    from collections.abc import Sequence


class Pruning(InMemorySaver):
    """Keeps the latest checkpoint."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        assert strategy == "keep_latest"
        for one in thread_ids:
            _, *gone = self.list(thread(one))
            for old in gone:
                del self.storage[one][""][old.checkpoint["id"]]

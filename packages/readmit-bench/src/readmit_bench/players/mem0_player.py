"""Mem0 (mem0ai 2.x) with its own inference: a session is one ``add`` with ``infer=True``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

USER = "user"


class Mem0Player:
    """One ``mem0.Memory`` in a folder."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def prepare(self, sessions: Sequence[dict[str, Any]]) -> None:
        """Every request shows the memories that are there, so none can be asked before."""

    def remember(self, session: dict[str, Any], at: datetime) -> None:  # noqa: ARG002  # the clock says it
        messages = [{"role": turn["speaker"], "content": turn["text"]} for turn in session["turns"]]
        self._memory.add(messages, user_id=USER)

    def search(self, query: str, limit: int) -> list[str]:
        found = self._memory.search(query, filters={"user_id": USER}, top_k=limit)["results"]
        return [str(one["memory"]) for one in found]


def opened(given: dict[str, Any], folder: Path) -> Mem0Player:
    """A new store, asking the server that the play names."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
    from mem0 import Memory

    endpoint = {"api_key": given["key"], "openai_base_url": given["url"]}
    vectors = {"path": str(folder / "qdrant"), "embedding_model_dims": given["dimensions"], "on_disk": True}
    config = {
        "llm": {"provider": "openai", "config": {**endpoint, "model": given["model"]}},
        "embedder": {"provider": "openai", "config": {**endpoint, "model": given["embedder"]}},
        "vector_store": {"provider": "qdrant", "config": vectors},
        "history_db_path": str(folder / "history.db"),
    }
    return Mem0Player(Memory.from_config(config))

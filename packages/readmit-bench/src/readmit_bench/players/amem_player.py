"""A-MEM (``a-mem`` 0.2) with its own inference: the user's words of a session are one note.

Its analysis of a note depends on the note alone, so all are asked for before the first note is added. Its evolution
shows the nearest notes, so it goes note by note. A-MEM goes on without an answer; the server ends the play then.
"""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

AT_ONCE = 16


class AMemPlayer:
    """One ``AgenticMemorySystem`` in a folder."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def prepare(self, sessions: Sequence[dict[str, Any]]) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._system.analyze_content, filter(None, map(_said, sessions))))

    def remember(self, session: dict[str, Any], at: datetime) -> None:
        if said := _said(session):
            self._system.add_note(said, time=at.strftime("%Y%m%d%H%M"))

    def search(self, query: str, limit: int) -> list[str]:
        if not (held := self._system.retriever.count()):
            return []
        found = self._system.search_agentic(query, k=min(limit, held))
        return [str(self._system.read(one["id"]).content) for one in found]


def _said(session: dict[str, Any]) -> str:
    return "\n".join(turn["text"] for turn in session["turns"] if turn["speaker"] == "user").strip()


def opened(given: dict[str, Any], folder: Path) -> AMemPlayer:
    """A new store, asking the server that the play names."""
    os.environ |= {
        "OPENAI_API_KEY": given["key"],
        "OPENAI_BASE_URL": given["url"],
        # It imports litellm, which downloads a price list unless that is off.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "ANONYMIZED_TELEMETRY": "False",
    }
    # Imported by name and not used here: its own embedder is a sentence transformer that is downloaded.
    for module in ("sentence_transformers", "transformers"):
        sys.modules[module] = SimpleNamespace(SentenceTransformer=None, AutoModel=None, AutoTokenizer=None)  # type: ignore[assignment]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from agentic_memory import memory_system, retrievers
        from chromadb.utils.embedding_functions import OpenAIEmbeddingFunction

        retrievers.SentenceTransformerEmbeddingFunction = lambda **_: OpenAIEmbeddingFunction(
            api_key=given["key"], api_base=given["url"], model_name=given["embedder"]
        )
        return AMemPlayer(
            memory_system.AgenticMemorySystem(llm_model=given["model"], storage_path=str(folder / "chroma"))
        )

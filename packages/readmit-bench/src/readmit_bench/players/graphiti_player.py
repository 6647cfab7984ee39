"""Graphiti (graphiti-core 0.31) with its embedded database, Kuzu: a session is one episode."""

from __future__ import annotations

import asyncio
import os
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path


class GraphitiPlayer:
    """One graph in memory."""

    def __init__(self, graph: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._graph, self._loop = graph, loop
        self._number = 0

    def prepare(self, sessions: Sequence[dict[str, Any]]) -> None:
        """Every request shows the sessions before it or what the graph holds."""

    def remember(self, session: dict[str, Any], at: datetime) -> None:
        from graphiti_core.nodes import EpisodeType

        self._number += 1
        said = "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in session["turns"])
        self._loop.run_until_complete(
            self._graph.add_episode(
                name=f"session {self._number}",
                episode_body=said,
                source_description="a conversation",
                reference_time=at,
                source=EpisodeType.message,
            )
        )

    def search(self, query: str, limit: int) -> list[str]:
        found = self._loop.run_until_complete(self._graph.search(query, num_results=limit))
        return [str(edge.fact) for edge in found]


def opened(given: dict[str, Any], folder: Path) -> GraphitiPlayer:  # noqa: ARG001  # the graph is in memory
    """A new graph, asking the server that the play names."""
    os.environ |= {"GRAPHITI_TELEMETRY_ENABLED": "false", "OPENAI_API_KEY": given["key"], "SEMAPHORE_LIMIT": "8"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from graphiti_core import Graphiti
        from graphiti_core.cross_encoder.openai_reranker_client import OpenAIRerankerClient
        from graphiti_core.driver.driver import GraphProvider
        from graphiti_core.driver.kuzu_driver import KuzuDriver
        from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig
        from graphiti_core.graph_queries import get_fulltext_indices
        from graphiti_core.llm_client.config import LLMConfig
        from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient

        how = LLMConfig(api_key=given["key"], base_url=given["url"], model=given["model"], small_model=given["model"])
        vectors = OpenAIEmbedderConfig(
            api_key=given["key"],
            base_url=given["url"],
            embedding_model=given["embedder"],
            embedding_dim=given["dimensions"],
        )
        graph = Graphiti(
            graph_driver=KuzuDriver(),
            # The schema goes into the prompt, because not every model is asked by schema.
            llm_client=OpenAIGenericClient(config=how, structured_output_mode="json_object"),
            embedder=OpenAIEmbedder(config=vectors),
            # Not asked by the search that is used, which fuses ranks.
            cross_encoder=OpenAIRerankerClient(config=how),
        )
    loop = asyncio.new_event_loop()
    # Its own call makes no index in this database, and its search needs them.
    for query in get_fulltext_indices(GraphProvider.KUZU):
        loop.run_until_complete(graph.driver.execute_query(query))
    return GraphitiPlayer(graph, loop)

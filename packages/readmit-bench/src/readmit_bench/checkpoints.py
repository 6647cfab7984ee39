"""Builds the checkpoint that every method of a comparison starts from."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.retrieval import IndexedHistory
from readmit_bench.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from readmit.models import Embedder, Model
    from readmit_bench.episodes import Checkpoint, Episode


def checkpoints(
    episodes: Iterable[Episode], settings: Settings | None = None, embedder: Embedder | None = None
) -> Generator[tuple[Episode, Checkpoint], None, None]:
    """Each episode with its checkpoint of plain turns. Episodes in a row over one history share its index."""
    settings = settings or Settings()
    history: IndexedHistory | None = None
    try:
        for episode in episodes:
            if history is not None and history.sessions is not episode.sessions:
                history.close()
                history = None
            if history is None and episode.sessions:
                history = IndexedHistory(episode.sessions, _vectors(episode, settings, embedder))
            yield episode, benchmark_named(episode.benchmark).checkpoint(episode, history, settings)
    finally:
        if history is not None:
            history.close()


def checkpoint(episode: Episode, settings: Settings | None = None, embedder: Embedder | None = None) -> Checkpoint:
    """One episode's checkpoint; with the usual settings, unless others are given."""
    with closing(checkpoints([episode], settings, embedder)) as made:
        return next(made)[1]


def work_state(
    episode: Episode, settings: Settings, extractor: Model | None, embedder: Embedder | None = None
) -> Checkpoint:
    """The same with the statements that an extractor draws. Without one, its rows are the turns."""
    if extractor is not None:
        vectors = _vectors(episode, settings, embedder)
        found = benchmark_named(episode.benchmark).extracted(episode, extractor, vectors, settings)
        if found is not None:
            return found
    return checkpoint(episode, settings, embedder)


def _vectors(episode: Episode, settings: Settings, embedder: Embedder | None) -> Embedder | None:
    """The embedder that ranks facts; None where words alone rank."""
    return embedder if benchmark_named(episode.benchmark).embeds(settings) else None

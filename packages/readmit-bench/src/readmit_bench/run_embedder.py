"""Which runs embed, and with what: Memora's facts, proposed pairs, and memory stores are ranked with vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.methods import entry_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Embedder
    from readmit_bench.benchmarks import Study
    from readmit_bench.settings import Settings


def embeds(study: Study, methods: Sequence[str], settings: Settings) -> bool:
    """Whether anything of a run is ranked with vectors.

    Smoke has to run without any extra, so it ranks by words, unless a method embeds anyway.
    """
    if any(not entry_named(name).runs_apart for name in methods):
        return True
    return not study.shipped and any(benchmark_named(name).embeds(settings) for name in study.benchmarks)


def embedder_named(name: str) -> Embedder:
    """An embedder that embeds a text once in a run: episodes over one history, and methods, share its sentences."""
    from readmit.lab import CachedEmbedder, VectorsInMemory
    from readmit.models import open_embedder

    return CachedEmbedder(open_embedder(name), "bench", VectorsInMemory())


def retrieval_notes(study: Study, methods: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """How checkpoints are retrieved, if it is not the paper's way."""
    ranked = [one for one in map(benchmark_named, study.benchmarks) if one.embeds(settings)]
    return tuple(one.retrieval_note for one in ranked) if embeds(study, methods, settings) else ()

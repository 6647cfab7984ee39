"""Which runs embed, and with what: Memora's facts, proposed pairs, and memory stores are ranked with vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.studies import BACKED, MODEL_BASED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.ports.models import Embedder
    from readmit_bench.settings import Settings
    from readmit_bench.studies import Study

FUSED_NOTE = (
    "Memora: sessions and rows are ranked by the facts in them, words and vectors fused, within the paper's numbers of "
    "both and the same for every method. The paper's retrieval is by words: --set memora.retrieval=lexical."
)


def embeds(study: Study, methods: Sequence[str], settings: Settings) -> bool:
    """Whether anything of a run is ranked with vectors.

    Smoke measures nothing and has to run without any extra: there words rank, unless a method embeds anyway.
    """
    ranks = study.name != "smoke" and "memora" in study.benchmarks and settings.memora.retrieval == "fused"
    return ranks or bool({*MODEL_BASED, *BACKED}.intersection(methods))


def embedder_named(name: str) -> Embedder:
    """An embedder that embeds a text once in a run: episodes over one history, and methods, share its sentences."""
    from readmit.models.embedders import CachedEmbedder, VectorsInMemory, open_embedder

    return CachedEmbedder(open_embedder(name), "bench", VectorsInMemory())


def retrieval_notes(study: Study, methods: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """How Memora's checkpoint is retrieved, where that is not the paper's way."""
    fused = "memora" in study.benchmarks and settings.memora.retrieval == "fused"
    return (FUSED_NOTE,) if fused and embeds(study, methods, settings) else ()

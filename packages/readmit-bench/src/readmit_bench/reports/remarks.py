"""Notes under a score table about how a benchmark is built, or about one of its methods."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.methods.method import PRIVATE
from readmit_bench.results import JUDGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit_bench.benchmarks import Study
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.settings import Settings

SCALES = (
    "Within a scale both conditions are pooled by their episodes, as the paper's table does; the average weighs scales "
    "equally."
)
WITHOUT_SBPR = (
    "trace-without-sbpr leaves the view as it is, as the paper's ablation does, and hands over up to "
    f"{PRIVATE} private memories beside it: so many rows more than the budget of the others."
)
CUPMEM = (
    "CUPMem's published cost is 1,927,417 tokens for an episode that completed (1,994,815 with one that failed): ten "
    "times the 187,000 of a history, as if ten steps read every session whole. The paper speaks of full-context "
    "injection without a bound, and its prompts filled a window of 32,768 tokens. Ours keeps to the mechanism's own "
    "bounds: the first step reads a session, the others get two passages and at most 9 older items. With stand-in "
    "answers that takes 347,000 tokens."
)
PUBLISHED_CUPMEM = 1_927_417
FIRST_STEP, WRITE_SIDE = "cup-chunks", ("cup-extract", "cup-update", "cup-affected", "cup-invalidate")


def remarks(study: Study, scored: Scored, settings: Settings) -> Iterator[str]:
    """Each as a sentence or two."""
    methods, benchmark = {line.method for line in scored.lines}, benchmark_named(scored.benchmark)
    if benchmark.construction:
        yield benchmark.construction
    if scored.scales:
        yield SCALES
    yield from benchmark.remarks(scored, settings)
    if "trace-without-sbpr" in methods:
        yield WITHOUT_SBPR
    if study.costs and "CUPMem" in methods:
        yield CUPMEM
        yield from _cost_of_cupmem(scored)


def _cost_of_cupmem(scored: Scored) -> Iterator[str]:
    """Where the tokens of this run's CUPMem went, beside what the paper prints."""
    own = [result for result in scored.results if result.method == "CUPMem" and result.usage]
    spent = sum(result.tokens for result in own)
    if not spent:
        return
    stages: Counter[str] = Counter()
    for result in own:
        for stage in result.usage:
            if stage.stage != JUDGE:
                stages[stage.stage] += stage.tokens
    read, kept = stages[FIRST_STEP], sum(stages[name] for name in WRITE_SIDE)
    parts = (("reading sessions whole", read), ("keeping the memory", kept), ("questions", spent - read - kept))
    listed = ", ".join(f"{name} {100 * part / spent:.0f} %" for name, part in parts)
    each = spent / len(own)
    yield (
        f"In this run it took {each:,.0f} tokens an episode, {100 * each / PUBLISHED_CUPMEM:.0f} % of the published: "
        f"{listed}."
    )

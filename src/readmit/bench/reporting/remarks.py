"""What has to be said under a score table about how a benchmark is built, or about one method in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.bench.methods.protocol import PRIVATE
from readmit.bench.settings import MemoraSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.bench.reporting.scoring import Scored

CONSTRUCTION = {
    "manbench": "The construction gives VIA and IIR away: comparing the two task-version ids (same-version) scores 100 "
    "on both without a model.",
    "stale": "The departure is set at the end of the session that holds the old statement: drop-last-session rejects "
    "it by that alone, without reading it.",
}
SCALES = (
    "Within a scale both conditions are pooled by their episodes, as the paper's table does; the average weighs scales "
    "equally."
)
RESTORE = "Restore hands over the departure state whole: it alone is not held to the budget of rows."
WITHOUT_SBPR = (
    "trace-without-sbpr leaves the view as it is, as the paper's ablation does, and hands over up to "
    f"{PRIVATE} private memories beside it: so many rows more than the budget of the others."
)
CUPMEM = (
    "CUPMem's published cost is 1,927,417 tokens for an episode that completed (1,994,815 with one that failed): ten "
    "times the 187,000 of a history, as if ten steps read every session whole. The description does not say so. Ours "
    "reads it in the first step alone and hands the others passages and lanes: 347,000 tokens with stand-in answers."
)


def remarks(study: str, scored: Scored) -> Iterator[str]:
    """Each as a sentence or two."""
    methods = {line.method for line in scored.lines}
    if scored.benchmark in CONSTRUCTION:
        yield CONSTRUCTION[scored.benchmark]
    if scored.scales:
        yield SCALES
    if "Restore" in methods and scored.benchmark != "manbench":
        yield RESTORE
    if "trace-without-sbpr" in methods:
        yield WITHOUT_SBPR
    if study == "stale-cost" and "CUPMem" in methods:
        yield CUPMEM
    if scored.benchmark == "memora":
        yield from _beyond(scored)


def _beyond(scored: Scored) -> Iterator[str]:
    """Which views hold more than retrieval fills: what obligations need may take a view to 16 rows."""
    budget = MemoraSettings().budget
    counts = {}
    for line in scored.lines:
        views = [r.view for r in scored.results if r.method == line.method and r.view is not None]
        beyond = sum(budget.union < len(view.rows) <= (budget.at_most or 0) for view in views)
        if beyond:
            counts[line.method] = f"{line.method} in {beyond} of {len(views)} views"
    if counts:
        yield (
            f"Retrieval fills {budget.union} rows for every method; what obligations need may go beyond, to "
            f"{budget.at_most}: {', '.join(counts.values())}."
        )

"""Every method's view of every episode, scored without a model: what the command does, for tests to look into."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit_bench.checkpoints import checkpoints
from readmit_bench.judge_free import score_candidates, score_view
from readmit_bench.methods import MODEL_FREE, admitted
from readmit_bench.metrics import average, score_manbench, score_memora

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from readmit_bench.datasets.manbench_cases import ManBenchLabels
    from readmit_bench.datasets.memora_cases import MemoraLabels
    from readmit_bench.datasets.stale_cases import StaleLabels
    from readmit_bench.episodes import Case, Checkpoint, Dataset, Episode, View
    from readmit_bench.methods import Method
    from readmit_bench.metrics import ManBenchOutcome, ManBenchScores, MemoraOutcome, MemoraScores


@dataclass(frozen=True)
class ViewScores:
    """One method's scores by block and their equal-weight mean."""

    blocks: Mapping[str, MemoraScores]
    average: MemoraScores


@dataclass(frozen=True)
class CandidateScores:
    """The same for ManBench candidates."""

    blocks: Mapping[str, ManBenchScores]
    average: ManBenchScores


@dataclass(frozen=True)
class Views:
    """All views of some episodes, in their order."""

    made: tuple[tuple[Checkpoint, Mapping[str, View]], ...]


def make_views(episodes: Iterable[Episode], methods: Mapping[str, Method] = MODEL_FREE) -> Views:
    """Run every method on every episode."""
    return Views(tuple(_each(episodes, methods)))


def _each(
    episodes: Iterable[Episode], methods: Mapping[str, Method]
) -> Iterator[tuple[Checkpoint, Mapping[str, View]]]:
    for _, checkpoint in checkpoints(episodes):
        yield checkpoint, {name: admitted(method, checkpoint) for name, method in methods.items()}


def score_views(data: Dataset[MemoraLabels] | Dataset[StaleLabels], views: Views) -> dict[str, ViewScores]:
    """Which valid and which stale statements each method's views hold, by departure or stratum."""
    outcomes: defaultdict[str, defaultdict[str, list[MemoraOutcome]]] = defaultdict(lambda: defaultdict(list))
    cases: Sequence[Case[MemoraLabels] | Case[StaleLabels]] = data.cases
    for case, (checkpoint, made) in zip(cases, views.made, strict=True):
        for name, view in made.items():
            outcomes[name][case.labels.block].append(score_view(case, view, checkpoint))
    scored = {name: {b: score_memora(found) for b, found in blocks.items()} for name, blocks in outcomes.items()}
    return {name: ViewScores(blocks, average(blocks)) for name, blocks in scored.items()}


def score_manbench_views(data: Dataset[ManBenchLabels], views: Views) -> dict[str, CandidateScores]:
    """Which candidate each method admits, by condition."""
    outcomes: defaultdict[str, defaultdict[str, list[ManBenchOutcome]]] = defaultdict(lambda: defaultdict(list))
    for case, (_, made) in zip(data.cases, views.made, strict=True):
        for name, view in made.items():
            outcomes[name][case.labels.condition].append(score_candidates(case, view))
    scored = {name: {b: score_manbench(found) for b, found in blocks.items()} for name, blocks in outcomes.items()}
    return {name: CandidateScores(blocks, average(blocks)) for name, blocks in scored.items()}

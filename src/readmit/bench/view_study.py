"""The judge-free study: every method's view of every episode, scored without a model.

Views are made from the episodes alone; the cases come into play when all of an episode's views exist.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit.bench.judge_free import ceiling, score_candidates, score_view
from readmit.bench.methods import MODEL_FREE, admitted
from readmit.bench.metrics import average, score_manbench, score_memora
from readmit.bench.retrieval import checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from readmit.bench.datasets.manbench import ManBenchLabels
    from readmit.bench.datasets.memora import MemoraLabels
    from readmit.bench.datasets.stale import StaleLabels
    from readmit.bench.episodes import Case, Checkpoint, Dataset, Episode, View
    from readmit.bench.methods import Method
    from readmit.bench.metrics import ManBenchOutcome, ManBenchScores, MemoraOutcome, MemoraScores


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
class Pace:
    """How fast the views came: CPU seconds for retrieval and all methods together."""

    episodes: int
    views: int
    seconds: float

    @property
    def episodes_per_second(self) -> float:
        return self.episodes / self.seconds if self.seconds else float("inf")


@dataclass(frozen=True)
class Views:
    """All views of some episodes, in their order."""

    made: tuple[tuple[Checkpoint, Mapping[str, View]], ...]
    pace: Pace


def make_views(episodes: Iterable[Episode], methods: Mapping[str, Method] = MODEL_FREE) -> Views:
    """Run every method on every episode."""
    started = time.process_time()
    made = tuple(_each(episodes, methods))
    pace = Pace(len(made), len(made) * len(methods), time.process_time() - started)
    return Views(made, pace)


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


def ceiling_scores(data: Dataset[MemoraLabels] | Dataset[StaleLabels]) -> MemoraScores:
    """What literal matching could see at most: the score of the whole history as a view."""
    return score_memora([ceiling(case) for case in data.cases])

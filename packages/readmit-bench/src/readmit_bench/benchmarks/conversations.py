"""Questions about a history of sessions: the base of Memora, STALE and similar benchmarks.

A subclass needs only ``load``, with labels whose ``statements`` say what holds at return and what has ended. By
default, the whole history is the checkpoint and the view itself is scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readmit_bench.benchmarks.benchmark import Benchmark
from readmit_bench.episodes import Budget
from readmit_bench.judge_free import reach, score_view
from readmit_bench.methods import entry_named
from readmit_bench.metrics import MemoraOutcome
from readmit_bench.retrieval import over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit_bench.episode_runs import Attempt
    from readmit_bench.episodes import Case, Checkpoint, Episode, View
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.results import Result
    from readmit_bench.retrieval import IndexedHistory
    from readmit_bench.settings import Settings

RESTORE = "Restore hands over the departure state whole: it alone is not held to the budget of rows."


class Conversations(Benchmark):
    """Everything of a benchmark except its data."""

    def budget(self, settings: Settings) -> Budget:
        """How much every method may hand over."""
        return Budget(per_query=12, union=12)

    def checkpoint(self, episode: Episode, history: IndexedHistory | None, settings: Settings) -> Checkpoint:
        assert history is not None  # noqa: S101  # its episodes have sessions
        return over(episode, history, [session.index for session in history.sessions], self.budget(settings))

    def score(self, case: Case[Any], made: Attempt, line: Result) -> Result:
        assert made.view is not None and made.checkpoint is not None  # noqa: PT018, S101  # it has not failed
        own = entry_named(line.method).own_memory
        return replace(
            line,
            seen=score_view(case, made.view, made.checkpoint),
            reach=None if own else made.reach or reach(case, made.checkpoint),
            candidates=_extracted(made.view, made.checkpoint),
        )

    def failed(self, case: Case[Any], line: Result, *, answered: bool) -> Result:
        return line if line.seen is not None else replace(line, seen=lost(case, *case.labels.statements()))

    def remarks(self, scored: Scored, settings: Settings) -> Iterator[str]:
        if any(line.method == "Restore" for line in scored.lines):
            yield RESTORE


def lost(case: Case[Any], valid: tuple[Any, ...], stale: tuple[Any, ...]) -> MemoraOutcome:
    """The outcome of a failure: nothing valid is present, and nothing stale is absent."""
    return MemoraOutcome(episode=case.episode.id, presence=(False,) * len(valid), forgetting=(False,) * len(stale))


def _extracted(view: View, checkpoint: Checkpoint) -> dict[str, str]:
    """The texts of the extracted rows in a view, because the data does not hold them under these ids."""
    named = {*view.rows, *view.left_out, *(finding.row for finding in view.findings)}
    return {row.id: row.text for row in checkpoint.rows if row.turn is not None and row.id in named}

"""ManBench-Return: propagated conflict, an answer and its challenger, with agents that argue in the absence."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readmit_bench.active_agents import play
from readmit_bench.actor_answers import choose
from readmit_bench.benchmarks.benchmark import Benchmark, Constructed, Study
from readmit_bench.datasets.manbench_cases import read_manbench
from readmit_bench.episodes import Checkpoint
from readmit_bench.judge_free import score_candidates
from readmit_bench.methods import MODEL_FREE
from readmit_bench.methods.governance import Tuning
from readmit_bench.metrics import OLD_STALE, OLD_VALID, ManBenchOutcome
from readmit_bench.notes import notes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.models import Model
    from readmit_bench.episode_runs import Attempt
    from readmit_bench.episodes import Case, Dataset, Episode, View
    from readmit_bench.results import Result, RunPlan
    from readmit_bench.retrieval import IndexedHistory
    from readmit_bench.settings import Settings

PAPER_CASES = 4838


class ManBench(Benchmark):
    """The candidates are the work state: nothing is extracted, and the chosen answer is right or wrong."""

    name = "manbench"
    title = "ManBench"
    data = "data/bbh_all_small/<task>/val_data.json"
    studies = (
        Study(
            "manbench", ("manbench",), "Propagated conflict: Old-Valid and Old-Stale.", (*MODEL_FREE, "same-version")
        ),
        Study(
            "scale",
            ("manbench",),
            "ManBench-Return with 4, 8, 16 and 32 active agents.",
            ("Static", "readmit-lexical"),
            agents=(4, 8, 16, 32),
            published=("tab:agent-scale", "tab:agent-scale-average"),
        ),
    )
    blocks = (OLD_VALID, OLD_STALE)
    plays_agents = True
    published = ("tab:manbench-formal", "tab:gemini-manbench", "tab:deepseek-manbench")
    construction = (
        "The construction gives VIA and IIR away: comparing the two task-version ids (same-version) scores 100 "
        "on both without a model."
    )
    without_actor = "ManBench candidates are fixed ones, and all examples count; the paper counts eligible ones."

    def load(
        self,
        root: Path,
        study: Study,
        *,
        fillers: Path | None,
        seed: int,
        settings: Settings,
    ) -> Dataset[Any]:
        return read_manbench(root)

    def construct(self, case: Case[Any], actor: Model, settings: Settings) -> Constructed:
        played = play(case, actor, settings.manbench)
        return Constructed(played.case, played.eligible)

    def checkpoint(self, episode: Episode, history: IndexedHistory | None, settings: Settings) -> Checkpoint:
        """The two candidates, newest first."""
        order = tuple(row.id for row in sorted(episode.rows, key=lambda row: -row.at))
        return Checkpoint(
            tasks=episode.tasks,
            rows=episode.rows,
            relevance=(order,) * len(episode.tasks),
            budget=settings.manbench.budget,
            now=max((row.at for row in episode.rows), default=0) + 1,
            task_version=episode.task_version,
        )

    def tuning(self, settings: Settings) -> Tuning:
        confidence = Decimal(str(settings.manbench.verifier_confidence))
        return Tuning(contest_tokens=settings.manbench.verifier_tokens, contest_confidence=confidence)

    def answers(self, actor: Model, checkpoint: Checkpoint, view: View, settings: Settings) -> tuple[str, ...]:
        given = notes(view, checkpoint)
        return (choose(actor, checkpoint.tasks[0], given, max_tokens=settings.manbench.final_tokens),)

    def score(self, case: Case[Any], made: Attempt, line: Result) -> Result:
        assert made.view is not None  # noqa: S101  # it has not failed
        correct = made.answers[0] == case.labels.current.right if made.answers else None
        outcome = replace(score_candidates(case, made.view), correct=correct)
        return replace(line, manbench=outcome, candidates={row.id: row.text for row in case.episode.rows})

    def failed(self, case: Case[Any], line: Result, *, answered: bool) -> Result:
        lost = ManBenchOutcome(
            episode=case.episode.id,
            condition=case.labels.condition,
            valid_admitted=False,
            invalid_admitted=True,
            correct=False if answered else None,
        )
        return replace(line, manbench=lost)

    def differing(self, plan: RunPlan, study: Study) -> Iterator[str]:
        own = sum(count for name, count in plan.cases.items() if name.startswith(f"{self.name}/"))
        scheduled = own // max(1, len(plan.agents))
        if scheduled != PAPER_CASES:
            yield f"ManBench-Return schedules {scheduled:,} examples here; the paper's {PAPER_CASES:,}."

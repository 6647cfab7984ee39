"""Memora: retention and forgetting, questions asked of one persona's history at three departures."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readmit.errors import RecordError
from readmit.lab import Plan, PlannedDuty, Task, plan_tasks
from readmit_bench.benchmarks.benchmark import OUTPUT, Study, other_counts
from readmit_bench.benchmarks.conversations import Conversations, lost
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.episodes import Dataset
from readmit_bench.judges import judge_memora
from readmit_bench.methods.governance import Tuning
from readmit_bench.methods.stores import HALVES, STORES
from readmit_bench.retrieval import IndexedHistory, over
from readmit_bench.work_state import Extracting, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit.models import Embedder, Model
    from readmit_bench.episodes import Budget, Case, Checkpoint, Episode
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.results import Result, RunPlan
    from readmit_bench.settings import ActorForm, MemoraSettings, Settings

# The paper bounds a batch of sessions by their number; this only keeps a request within a context window.
BATCH_CHARS = 96_000
PAPER_CASES = {"25%": 137, "50%": 137, "75%": 137}


class Memora(Conversations):
    """Each question gives one obligation and three to eight queries, which retrieve sessions on each side."""

    name = "memora"
    title = "Memora"
    data = "{weekly,monthly,quarterly}/…, or an archive of it"
    studies = (
        Study("memora", ("memora",), "Retention and forgetting at 25, 50 and 75 % departure."),
        Study(
            "backends",
            ("memora",),
            "The same history in several memory stores, with and without admission, at 50 % departure.",
            tuple(f"{store}/{half}" for store in STORES for half in HALVES),
            (),
            part="0.5",
            published=("tab:backend-portability",),
        ),
    )
    blocks = ("25%", "50%", "75%")
    judged = True
    retrieval_note = (
        "Memora: sessions and rows are ranked by the facts in them, words and vectors fused, within the paper's "
        "numbers of both and the same for every method. The paper's retrieval is by words: --set "
        "memora.retrieval=lexical."
    )
    # The same as STALE's, over three development questions.
    output_tokens: Mapping[str, float] = {**OUTPUT, "answer": 183, "judge": 64, "extract": 198, "plan": 512}
    published = ("tab:qwen-memora", "tab:gemini-memora", "tab:deepseek-memora")
    accuracy = ("fama", "FAMA")
    metric_names: Mapping[str, str] = {"via": "VIA (P) ↑", "iir": "IIR (F) ↑"}

    def load(
        self,
        root: Path,
        study: Study,
        *,
        fillers: Path | None,
        seed: int,
        settings: Settings,
    ) -> Dataset[Any]:
        found = read_memora(root, settings.memora)
        if not study.part:
            return found
        fraction = float(study.part)
        if fraction not in settings.memora.departures:
            raise RecordError(f"memora.departures: {study.name} departs at {fraction}; keep it among them")
        own = tuple(case for case in found.cases if case.labels.fraction == fraction)
        return Dataset(found.benchmark, own, found.notes)

    def tuning(self, settings: Settings) -> Tuning:
        return Tuning(retractions=settings.memora.form != "notes", explicit=settings.memora.changes == "explicit")

    def embeds(self, settings: Settings) -> bool:
        return settings.memora.retrieval == "fused"

    def checkpoint(self, episode: Episode, history: IndexedHistory | None, settings: Settings) -> Checkpoint:
        assert history is not None  # noqa: S101  # its episodes have sessions
        return retrieved(episode, history, settings.memora)

    def extracted(
        self, episode: Episode, extractor: Model, embedder: Embedder | None, settings: Settings
    ) -> Checkpoint:
        """Question and queries retrieve sessions and rank the rows drawn from them; sessions are read in batches.

        Rows are selected from facts: a turn that states none is not a row.
        """
        memora = settings.memora
        how = Extracting(
            per_call=memora.batch_sessions,
            min_confidence=Decimal(str(memora.selector_confidence)),
            max_tokens=memora.state_prediction_tokens,
            max_chars=BATCH_CHARS,
            turns=False,
        )
        with closing(IndexedHistory(episode.sessions, embedder)) as history:
            (planned,) = plan_tasks(extractor, [Task(text=task) for task in episode.tasks])
            made = planned if isinstance(planned, Plan) else None
            queries = () if made is None else made.queries
            found = drawn(extractor, retrieved(episode, history, memora, queries), how, queries, embedder)
        return replace(found, plans=(None if made is None else in_one(made),))

    def form(self, settings: Settings) -> ActorForm:
        return settings.memora.form

    def answer_tokens(self, settings: Settings) -> int:
        return settings.memora.answer_tokens

    def judge(self, case: Case[Any], line: Result, judge: Model, settings: Settings) -> Result:
        outcome, why = judge_memora(judge, case.episode, case.labels, line.answers[0])
        return replace(line, memora=outcome, judgment=why)

    def failed(self, case: Case[Any], line: Result, *, answered: bool) -> Result:
        line = super().failed(case, line, answered=answered)
        return replace(line, memora=lost(case, case.labels.presence, case.labels.forgetting)) if answered else line

    def differing(self, plan: RunPlan, study: Study) -> Iterator[str]:
        return other_counts(self.name, plan, study, PAPER_CASES)

    def remarks(self, scored: Scored, settings: Settings) -> Iterator[str]:
        yield from super().remarks(scored, settings)
        yield from _beyond(scored, settings.memora.budget)


def retrieved(
    episode: Episode, history: IndexedHistory, settings: MemoraSettings, queries: Sequence[str] = ()
) -> Checkpoint:
    """Sessions retrieved for the question, and for queries written for it, on each side of the departure, as rows."""
    asked = (*episode.tasks, *queries)
    before = history.sessions_for(
        asked,
        after=history.sessions[0].index - 1,
        until=episode.departure,
        ranked=settings.retrieved_before,
        recent=settings.recent_before,
    )
    after = history.sessions_for(
        asked,
        after=episode.departure,
        until=history.last,
        ranked=settings.retrieved_after,
        recent=settings.recent_after,
    )
    return over(episode, history, (*before, *after), settings.budget)


def in_one(planned: Plan) -> Plan:
    """The same needs under one obligation: a Memora question is one."""
    needs = {one.id: one for duty in planned.duties for one in duty.dependencies}
    first = planned.duties[0]
    return replace(planned, duties=(PlannedDuty(id=first.id, text=first.text, dependencies=tuple(needs.values())),))


def _beyond(scored: Scored, budget: Budget) -> Iterator[str]:
    """Which views hold more than retrieval fills: what obligations need may take a view to 16 rows."""
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

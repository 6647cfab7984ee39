"""The benchmark protocol: a class that reads its data, builds and scores cases, and supplies notes for reports.

Everything that differs between benchmarks is a member of this protocol, and no other code branches on a benchmark's
name. A class inherits the defaults and defines the rest: at least ``load`` and ``checkpoint``. ``Conversations`` is
shorter, for questions about a history of sessions. Other packages add an instance through the entry point group
``readmit_bench.benchmarks``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from readmit_bench.actor_answers import respond
from readmit_bench.methods import MODEL_FREE
from readmit_bench.methods.governance import Tuning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from readmit.models import Embedder, Model
    from readmit_bench.episode_runs import Attempt
    from readmit_bench.episodes import Case, Checkpoint, Dataset, Episode, View
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.results import Result, RunPlan
    from readmit_bench.retrieval import IndexedHistory
    from readmit_bench.settings import ActorForm, Settings

OUTPUT = {"answer": 172, "judge": 159, "extract": 38, "plan": 298, "premises": 25, "implied": 10, "verify": 8}
"""Mean answer tokens of a strong model that does not think aloud, over six development episodes of STALE: for an
extraction by session, for verification by pair, else by request. A pair that is worded takes 77, as recorded; one that
is only listed as untouched takes four; one in twenty is worded (``plans.standin``)."""


@dataclass(frozen=True)
class Study:
    """One experiment: which benchmark, which part of its data, which methods."""

    name: str
    benchmarks: tuple[str, ...]
    says: str
    model_free: tuple[str, ...] = tuple(MODEL_FREE)
    model_based: tuple[str, ...] = ("trace-paper", "readmit")
    per_block: int | None = None
    agents: tuple[int, ...] = (4,)
    part: str = ""
    """The part of the benchmark's data that it takes, in the benchmark's own terms. Empty: the usual one."""
    in_paper: bool = True
    """Whether it is one of the paper's experiments, so that published figures are shown with it."""
    published: tuple[str, ...] | None = None
    """Labels of the paper's tables about it. None: those of its benchmark."""
    costs: bool = False
    """Whether its score tables have a column of tokens."""
    shipped: bool = False
    """Whether its data come with the package. Such a study must run without any model, so it ranks by words."""

    def methods(self, *, models: bool) -> tuple[str, ...]:
        """What runs unless --methods says otherwise."""
        return (*self.model_free, *self.model_based) if models else self.model_free


@dataclass(frozen=True)
class Constructed:
    """A case after the active agents were played, and whether it is eligible."""

    case: Case[Any]
    eligible: bool = True


@runtime_checkable
class Benchmark(Protocol):
    """One benchmark. Only ``construct``, ``score``, ``judge`` and ``failed`` see labels."""

    name: str
    """In files and on the command line."""
    title: str
    data: str
    """What ``--data`` names, in a line."""
    studies: tuple[Study, ...] = ()
    blocks: tuple[str, ...] = ()
    """Blocks in the order of its tables."""
    strata: tuple[str, ...] = ()
    """Blocks that a selection of N cases per block has to fill."""
    plays_agents: bool = False
    """Whether active agents are played before the return, in numbers that a study may vary."""
    judged: bool = False
    """Whether a model judges the answers."""

    def load(self, root: Path, study: Study, *, fillers: Path | None, seed: int, settings: Settings) -> Dataset[Any]:
        """The cases of a release in its official format."""
        ...

    def construct(self, case: Case[Any], actor: Model, settings: Settings) -> Constructed:
        """Finish a case that needs a model to be built; only where ``plays_agents``."""
        return Constructed(case)

    def embeds(self, settings: Settings) -> bool:
        """Whether its checkpoints are ranked with vectors."""
        return False

    retrieval_note: str = ""
    """What a report must say where they are."""

    def checkpoint(self, episode: Episode, history: IndexedHistory | None, settings: Settings) -> Checkpoint:
        """The checkpoint of plain turns that every method starts from; ``history`` is None without sessions."""
        ...

    def extracted(
        self, episode: Episode, extractor: Model, embedder: Embedder | None, settings: Settings
    ) -> Checkpoint | None:
        """The checkpoint of statements that an extractor draws. None: it is the one of plain turns."""
        return None

    def tuning(self, settings: Settings) -> Tuning:
        """The paper's parameters of TRACE's own requests."""
        return Tuning()

    def form(self, settings: Settings) -> ActorForm:
        """How the actor reads a view."""
        return "notes"

    def answer_tokens(self, settings: Settings) -> int:
        """Most tokens of an actor's answer."""
        return 2048

    def answers(self, actor: Model, checkpoint: Checkpoint, view: View, settings: Settings) -> tuple[str, ...]:
        """What the returning agent says to each task."""
        form, tokens = self.form(settings), self.answer_tokens(settings)
        return respond(actor, checkpoint, view, form=form, max_tokens=tokens)

    def score(self, case: Case[Any], made: Attempt, line: Result) -> Result:
        """The line with what can be scored without a judge."""
        ...

    def judge(self, case: Case[Any], line: Result, judge: Model, settings: Settings) -> Result:
        """The line with the judge's verdict; only where ``judged``."""
        return line

    def failed(self, case: Case[Any], line: Result, *, answered: bool) -> Result:
        """The line with every judgment false: a failure never leaves the denominator."""
        ...

    output_tokens: Mapping[str, float] = OUTPUT
    """Answer tokens by stage, for a plan where nothing is recorded."""

    published: tuple[str, ...] = ()
    """Labels of the paper's tables about it."""
    published_costs: str = ""
    """Label of the paper's table with its costs."""
    accuracy: tuple[str, str] = ("overall", "Overall")
    """The metric to draw against tokens, and its name."""
    metric_names: Mapping[str, str] = {}
    """Its own names for metrics of judged answers."""
    construction: str = ""
    """What its construction reveals."""
    without_actor: str = ""
    """What differs where no actor answers."""

    def facts(self, plan: RunPlan) -> tuple[tuple[str, str], ...]:
        """The names and values of the parts that were run."""
        return ()

    def differing(self, plan: RunPlan, study: Study) -> Iterator[str]:
        """In which numbers of cases a run differs from the paper."""
        return iter(())

    def remarks(self, scored: Scored, settings: Settings) -> Iterator[str]:
        """Notes for under a score table."""
        return iter(())


def other_counts(benchmark: str, plan: RunPlan, study: Study, paper: Mapping[str, int]) -> Iterator[str]:
    """Blocks that hold another number of cases than the paper's."""
    expected = {f"{benchmark}/{block}": study.per_block or count for block, count in paper.items()}
    other = {name: count for name, count in plan.cases.items() if count != expected.get(name, count)}
    if other:
        listed = ", ".join(f"{name} {count} (paper: {expected[name]})" for name, count in other.items())
        yield f"Other case counts than the paper's: {listed}."

"""The benchmark as inspect_ai tasks: a data set, a solver per method, a scorer, and model roles.

A sample is one method on one episode. The solver holds episodes only; labels are held by the scorer, and, for
ManBench, by the setup step that plays the active agents (case construction). Samples carry neither target nor
metadata from the labels, so that nothing of them can reach a prompt or a transcript before scoring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from readmit.bench.attempts import Attempt, Roles, attempt, failed, method_named, scored, with_usage
from readmit.bench.metrics import manbench_values, memora_values, stale_values
from readmit.bench.results import Result
from readmit.bench.roles import RoleModel
from readmit.bench.society import play
from readmit.bench.studies import block_of, unit_of
from readmit.models.usage import Ledger, Metered
from readmit.records.errors import PendingAnswers, ReadmitError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from inspect_ai.scorer import Scorer

    from readmit.bench.episodes import Case
    from readmit.bench.results import AnswerStore, Results
    from readmit.bench.settings import Settings

# Memora and STALE answers rest on these; ManBench needs no judge.
ROLES = ("actor", "extractor", "verifier", "judge")
SHOWN = ("overall", "via", "iir")


@dataclass(frozen=True)
class Setting:
    """What the samples of a run share."""

    models: Mapping[str, str]
    """Role to model name."""
    shared: Roles
    """What is no model, and the same for all: the embedder, and the memory stores."""
    settings: Settings
    agents: int | None
    store: AnswerStore
    results: Results
    waiting: set[tuple[str, str]]
    """Samples that stopped for answers that come by file."""
    cap: int | None = None


@dataclass
class Sampled:
    """One sample under way: its metered roles, and what it has made so far."""

    ledger: Ledger
    asked: list[RoleModel]
    roles: Roles
    case: Case[Any]
    eligible: bool = True
    made: Attempt | None = None
    pending: bool = False
    """An answer is still to come: no line is written, and the next run goes on from here."""


def task_of(name: str, method: str, cases: Sequence[Case[Any]], setting: Setting) -> Task:
    """One method over some cases."""
    by_id = {case.episode.id: case for case in cases}
    under_way: dict[str, Sampled] = {}
    samples = [Sample(id=case.episode.id, input="\n\n".join(case.episode.tasks)) for case in cases]
    return Task(
        name=name,
        dataset=MemoryDataset(samples, name=name),
        setup=construct(by_id, under_way, setting),
        solver=act(method, under_way, setting),
        scorer=admission(method, under_way, setting),
    )


def roles_of(setting: Setting) -> tuple[Ledger, list[RoleModel], Roles]:
    """The roles of one sample, all accounted in one ledger."""
    ledger = Ledger()
    asked = {role: RoleModel(role, name, setting.store, cap=setting.cap) for role, name in setting.models.items()}
    metered = {role: Metered(model, ledger) for role, model in asked.items()}
    return (
        ledger,
        list(asked.values()),
        Roles(**metered, embedder=setting.shared.embedder, stores=setting.shared.stores),
    )


@solver
def construct(cases: Mapping[str, Case[Any]], under_way: dict[str, Sampled], setting: Setting) -> Solver:
    """Prepare a sample. For ManBench with an actor, the departure answer and the active agents come first."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # inspect's own signature
        case = cases[str(state.sample_id)]
        ledger, asked, roles = roles_of(setting)
        sampled = Sampled(ledger, asked, roles, case)
        under_way[case.episode.id] = sampled
        actor = roles.actor
        if case.episode.benchmark == "manbench" and actor is not None:
            try:
                played = await to_thread.run_sync(lambda: play(case, actor, setting.settings.manbench))
                sampled.case, sampled.eligible = played.case, played.eligible
            except PendingAnswers:
                sampled.pending = True
            except UnknownError:
                raise
            except (ReadmitError, ValueError) as error:
                sampled.made = Attempt(failure=f"{type(error).__name__}: {error}")
        return state

    return solve


@solver
def act(method: str, under_way: Mapping[str, Sampled], setting: Setting) -> Solver:
    """Hand the episode to the method, its view to the actor."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # inspect's own signature
        sampled = under_way[str(state.sample_id)]
        if sampled.made is None and sampled.eligible and not sampled.pending:
            episode, roles = sampled.case.episode, sampled.roles
            made = method_named(method, episode.benchmark, roles, setting.settings)
            try:
                sampled.made = await to_thread.run_sync(lambda: attempt(episode, made, roles, setting.settings))
                state.output.completion = "\n\n".join(sampled.made.answers)
            except PendingAnswers:
                sampled.pending = True
        return state

    return solve


@scorer(metrics={"*": [mean()]})
def admission(method: str, under_way: Mapping[str, Sampled], setting: Setting) -> Scorer:
    """Judge, score, and write the line."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  # inspect's own signature
        sampled = under_way[str(state.sample_id)]
        if not sampled.pending:
            try:
                result = await to_thread.run_sync(lambda: _line(sampled, method, setting))
            except PendingAnswers:
                sampled.pending = True
        if sampled.pending:
            setting.waiting.add((method, sampled.case.episode.id))
            return Score(value=dict.fromkeys(SHOWN, float("nan")), explanation="waiting for answers")
        setting.results.append([result])
        return Score(value=shown_values(result), explanation=result.failure or result.judgment)

    return score


def _line(sampled: Sampled, method: str, setting: Setting) -> Result:
    case = sampled.case
    if not sampled.eligible:
        result = Result(
            benchmark=case.episode.benchmark,
            method=method,
            episode=case.episode.id,
            case=case.labels.case,
            block=block_of(case),
            unit=unit_of(case),
            eligible=False,
        )
    else:
        result = scored(case, method, sampled.made or Attempt(), sampled.roles, setting.settings)
        if result.failure:
            result = failed(case, result, answered=sampled.roles.actor is not None)
    peak = max((model.peak_context for model in sampled.asked), default=0)
    repairs = sum(model.repairs for model in sampled.asked)
    agents = setting.agents if case.episode.benchmark == "manbench" else None
    from msgspec.structs import replace as with_field

    return with_usage(with_field(result, agents=agents), sampled.ledger.stages(), peak=peak, repairs=repairs)


def shown_values(result: Result) -> dict[str, float]:
    """VIA, IIR and Overall for inspect's own log and viewer; not a number where the episode does not count."""
    found: dict[str, Fraction] = {}
    if result.stale is not None:
        found = stale_values(result.stale)
    elif result.manbench is not None:
        found = manbench_values(result.manbench)
    elif outcome := result.memora or result.seen:
        found = memora_values(outcome)
    return {name: float(found.get(name, "nan")) for name in SHOWN}

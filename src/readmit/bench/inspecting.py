"""The benchmark as inspect_ai tasks: a data set, a solver per method, a scorer, and model roles.

A sample is one method on one episode. The solver holds episodes only; labels are held by the scorer, and, for
ManBench, by the setup step that plays the active agents (case construction). Samples carry neither target nor
metadata from the labels, so that nothing of them can reach a prompt or a transcript before scoring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    from inspect_ai.scorer import Scorer

    from readmit.bench.attempts import Settings
    from readmit.bench.episodes import Case
    from readmit.bench.results import AnswerStore, Results
    from readmit.ports.models import Embedder

# Memora and STALE answers rest on these; ManBench needs no judge.
ROLES = ("actor", "extractor", "verifier", "judge")


@dataclass(frozen=True)
class Setting:
    """What the samples of a run share."""

    models: Mapping[str, str]
    """Role to model name."""
    embedder: Embedder | None
    settings: Settings
    agents: int | None
    store: AnswerStore
    results: Results


@dataclass
class Sampled:
    """One sample under way: its metered roles, and what it has made so far."""

    ledger: Ledger
    asked: list[RoleModel]
    roles: Roles
    case: Case[Any]
    eligible: bool = True
    made: Attempt | None = None


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
    asked = {role: RoleModel(role, name, setting.store) for role, name in setting.models.items()}
    metered = {role: Metered(model, ledger) for role, model in asked.items()}
    return ledger, list(asked.values()), Roles(**metered, embedder=setting.embedder)


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
            except (PendingAnswers, UnknownError):
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
        if sampled.made is None and sampled.eligible:
            episode, roles = sampled.case.episode, sampled.roles
            made = method_named(method, episode.benchmark, roles, setting.settings)
            sampled.made = await to_thread.run_sync(lambda: attempt(episode, made, roles, setting.settings))
            state.output.completion = "\n\n".join(sampled.made.answers)
        return state

    return solve


@scorer(metrics={"*": [mean()]})
def admission(method: str, under_way: Mapping[str, Sampled], setting: Setting) -> Scorer:
    """Judge, score, and write the line."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  # inspect's own signature
        sampled = under_way[str(state.sample_id)]
        result = await to_thread.run_sync(lambda: _line(sampled, method, setting))
        setting.results.append([result])
        # Values that a metric takes; an episode that does not count has none.
        return Score(value=values_of(result) or {"eligible": 0.0}, explanation=result.failure or result.judgment)

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


def values_of(result: Result) -> dict[str, float]:
    """The metrics of one line, for inspect's own log and viewer."""
    if result.stale is not None:
        return {name: float(value) for name, value in stale_values(result.stale).items()}
    if result.memora is not None:
        return {name: float(value) for name, value in memora_values(result.memora).items()}
    if result.manbench is not None:
        return {name: float(value) for name, value in manbench_values(result.manbench).items()}
    if result.seen is not None:
        return {name: float(value) for name, value in memora_values(result.seen).items()}
    return {}


def at_agents(setting: Setting, agents: int, settings: Settings) -> Setting:
    """The same setting at another scale."""
    return replace(setting, agents=agents, settings=settings)

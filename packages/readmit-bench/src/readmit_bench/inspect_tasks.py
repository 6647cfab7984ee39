"""The benchmark as inspect_ai tasks: a data set, a solver per method, a scorer, and model roles.

A sample is one method on one episode. The solver holds episodes only; labels are held by the scorer, and, for ManBench,
by the setup step that plays the active agents (case construction). Samples carry neither target nor metadata from the
labels, so that nothing of them can reach a prompt or a transcript before scoring. A sample that still waits for an
answer has no score in the log and no line, and says so.
"""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import CapacityLimiter, lowlevel, to_thread
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import apply_limits, time_limit

from readmit.errors import PendingAnswers, ReadmitError, UnknownError
from readmit.models import Metered, TokenLedger
from readmit_bench.benchmarks import benchmark_named
from readmit_bench.episode_runs import Attempt, Roles, attempt, line_of, method_named, scored, with_usage
from readmit_bench.inspect_transcripts import as_messages, as_metadata
from readmit_bench.metrics import manbench_values, memora_values, stale_values
from readmit_bench.outages import Outage
from readmit_bench.roles import Account, RoleModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from inspect_ai.scorer import Scorer

    from readmit_bench.episodes import Case
    from readmit_bench.results import Result, Results
    from readmit_bench.roles import Exchange
    from readmit_bench.settings import Settings

SHOWN = ("overall", "via", "iir")


@dataclass(frozen=True)
class Setting:
    """What the samples of a run share."""

    models: Mapping[str, str]
    """Role to model name."""
    shared: Roles
    """Shared by all samples, and not a model: the embedder and the memory stores."""
    settings: Settings
    agents: int | None
    exchange: Exchange
    results: Results
    time_limit: int | None = None
    waiting: set[tuple[str, str]] = field(default_factory=set)
    """Samples that stopped for answers that come by file."""
    interrupted: set[tuple[str, str]] = field(default_factory=set)
    """Samples that stopped because a provider gave no answer now."""


@dataclass
class Sampled:
    """One sample under way: its metered roles, and what it has made so far."""

    ledger: TokenLedger
    account: Account
    roles: Roles
    case: Case[Any]
    started: float = field(default_factory=time.monotonic)
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


def sampled_of(case: Case[Any], setting: Setting) -> Sampled:
    """A sample that has asked nothing yet, with all its roles accounted together."""
    ledger, account = TokenLedger(), Account()
    metered = {
        role: Metered(RoleModel(role, name, setting.exchange, account, setting.settings.role(role)), ledger)
        for role, name in setting.models.items()
    }
    roles = Roles(**metered, embedder=setting.shared.embedder, stores=setting.shared.stores)
    return Sampled(ledger, account, roles, case)


async def _worked(sampled: Sampled, limit: int | None, work: Callable[[], None]) -> None:
    """Run work that may ask models in a thread, within the sample's time limit. The sample records what stopped it."""
    left = None if limit is None else max(0.0, limit - (time.monotonic() - sampled.started))
    with apply_limits([time_limit(left)], catch_errors=True) as scope:
        try:
            # Its own limiter: as many samples run at once as inspect starts.
            await to_thread.run_sync(work, limiter=CapacityLimiter(1))
        except CancelledError:
            # The thread was notified through its call; only this task was cancelled.
            await lowlevel.checkpoint()
            raise
        except (PendingAnswers, Outage) as stop:
            sampled.account.held_up = stop
    if scope.limit_error is not None:
        sampled.made = Attempt(failure=f"time limit: more than {limit} s (--time-limit)")
        sampled.account.held_up = None
    elif sampled.account.spent and sampled.made is not None:
        sampled.made = replace(sampled.made, failure=sampled.account.spent)


@solver
def construct(cases: Mapping[str, Case[Any]], under_way: dict[str, Sampled], setting: Setting) -> Solver:
    """Prepare a sample. Where agents are played, the departure answer and the active agents come first."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # inspect's own signature
        case = cases[str(state.sample_id)]
        sampled = under_way[case.episode.id] = sampled_of(case, setting)
        actor, benchmark = sampled.roles.actor, benchmark_named(case.episode.benchmark)

        def work() -> None:
            try:
                made = benchmark.construct(case, actor, setting.settings)  # type: ignore[arg-type]  # only with an actor
                sampled.case, sampled.eligible = made.case, made.eligible
            except (PendingAnswers, UnknownError):
                raise
            except (ReadmitError, ValueError) as error:
                sampled.made = Attempt(failure=f"{type(error).__name__}: {error}")

        if benchmark.plays_agents and actor is not None:
            await _worked(sampled, setting.time_limit, work)
        return state

    return solve


@solver
def act(method: str, under_way: Mapping[str, Sampled], setting: Setting) -> Solver:
    """Hand the episode to the method, its view to the actor."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # inspect's own signature
        sampled = under_way[str(state.sample_id)]
        episode, roles = sampled.case.episode, sampled.roles

        def work() -> None:
            made = method_named(method, episode.benchmark, roles, setting.settings)
            sampled.made = attempt(episode, made, roles, setting.settings)

        if sampled.made is None and sampled.eligible and sampled.account.held_up is None:
            await _worked(sampled, setting.time_limit, work)
        if sampled.made is not None:
            state.output.completion = "\n\n".join(sampled.made.answers)
            state.messages = as_messages(episode, sampled.made)
        return state

    return solve


@scorer(metrics={"*": [mean()]})
def admission(method: str, under_way: dict[str, Sampled], setting: Setting) -> Scorer:
    """Judge, score, and write the line."""

    async def score(state: TaskState, target: Target) -> Score | None:  # noqa: ARG001  # inspect's own signature
        sampled = under_way.pop(str(state.sample_id))
        lines: list[Result] = []
        if sampled.account.held_up is None:
            await _worked(sampled, None, lambda: lines.append(_line(sampled, method, setting)))
        stop = sampled.account.held_up
        if stop is not None:
            place = setting.waiting if isinstance(stop, PendingAnswers) else setting.interrupted
            place.add((method, sampled.case.episode.id))
            state.metadata = {"state": "waits for answers by file" if place is setting.waiting else f"open: {stop}"}
            return None
        (result,) = lines
        setting.results.append([result])
        state.metadata = as_metadata(result, sampled.made)
        return Score(
            value=shown_values(result),
            answer="\n\n".join(result.answers),
            explanation=result.failure or result.judgment,
        )

    return score


def _line(sampled: Sampled, method: str, setting: Setting) -> Result:
    case, account, benchmark = sampled.case, sampled.account, benchmark_named(sampled.case.episode.benchmark)
    if not sampled.eligible:
        result = line_of(case, method, eligible=False)
    else:
        result = scored(case, method, sampled.made or Attempt(), sampled.roles, setting.settings)
        if result.failure:
            result = benchmark.failed(case, result, answered=sampled.roles.actor is not None)
    agents = setting.agents if benchmark.plays_agents else None
    result = msgspec.structs.replace(result, agents=agents, retries=account.retries)
    return with_usage(result, sampled.ledger.stages(), peak=account.peak_context, repairs=account.repairs)


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

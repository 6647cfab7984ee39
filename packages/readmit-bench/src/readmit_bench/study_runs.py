"""Runs a study: plan it, resume it, and report its status.

Without any model a study runs in this process, over shared indexes. With models it always runs through inspect_ai: one
mechanism for providers, limits, logs and accounts. Either way ``results.jsonl`` holds the state: an episode without a
line is open, and the same command resumes it.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from readmit.errors import ModelError, RecordError
from readmit_bench.benchmarks import benchmark_named
from readmit_bench.episode_runs import Roles
from readmit_bench.episodes import digest_of_cases
from readmit_bench.judge_free import ceilings
from readmit_bench.methods import entry_named
from readmit_bench.methods.store_histories import Stores
from readmit_bench.methods.stores import check_stores
from readmit_bench.model_free import model_free
from readmit_bench.results import ANSWERS, AnswerStore, Results, RunPlan, alone, read_plan, read_results, start
from readmit_bench.run_embedder import VECTORS, embedder_named, embeds, retrieval_notes
from readmit_bench.run_status import RunStatus
from readmit_bench.settings import Settings, overridden
from readmit_bench.studies import (
    absent_stores,
    chosen_methods,
    planned_cases,
    staffed,
    study_named,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from readmit_bench.benchmarks import Study
    from readmit_bench.episodes import Case
    from readmit_bench.plans.estimate import Estimate
    from readmit_bench.roles import Exchange
    from readmit_bench.studies import Cases

LOGS = "logs"


@dataclass(frozen=True)
class ProviderCalls:
    """How providers are called. None of it changes a result, so a run may be resumed with other values."""

    max_connections: int | None = None
    max_retries: int = 5
    """inspect's own default is to try forever; with its backoff, five take about two minutes."""
    timeout: int = 600
    """Seconds for one attempt at a request."""
    display: str = "none"


@dataclass(frozen=True)
class RunOrder:
    """What the user asks for."""

    study: str
    data: Path | None = None
    fillers: Path | None = None
    methods: tuple[str, ...] = ()
    models: Mapping[str, str] | None = None
    embedder: str = "minilm"
    limit: int | None = None
    stratified: bool = False
    seed: int = 0
    settings: tuple[str, ...] = ()
    """Settings that differ from the paper's, as ``stale.retrieved_union=20``."""
    periods: tuple[str, ...] = ()
    """Periods of Memora's release that are drawn from; none: all that the folder holds."""
    max_tokens: int | None = None
    token_limit: int | None = None
    time_limit: int | None = None
    answers: Path | None = None
    """Where answers are kept, if not with the run: several runs may share the place. It changes no result."""
    calls: ProviderCalls = field(default_factory=ProviderCalls)

    @property
    def changes(self) -> tuple[str, ...]:
        """The settings, with the periods as the one that they are."""
        return (*self.settings, *([f"memora.periods={','.join(self.periods)}"] if self.periods else ()))

    def store(self, out: Path) -> Path:
        """The file of the answers."""
        return (self.answers or out) / ANSWERS

    def vectors(self, out: Path) -> Path:
        """The file of the vectors, beside the answers."""
        return (self.answers or out) / VECTORS


@dataclass
class _Tally:
    """Counts and errors over the samples of one process."""

    asked: int = 0
    waiting: int = 0
    interrupted: int = 0
    outages: Counter[str] = field(default_factory=Counter)
    stopped: str = ""
    episodes: int = 0
    seconds: float = 0.0


def run(order: RunOrder, out: Path, watch: Callable[[int, int], None] | None = None) -> RunStatus:
    """Run the remaining episodes of a study. ``watch`` gets the number of lines done and planned."""
    study, models, methods, settings = _checked(order)
    found = _cases(order, study, settings)
    vectors = order.vectors(out)
    embedder = embedder_named(order.embedder, vectors) if embeds(study, methods, settings) else None
    check_stores(methods, embedder)
    tally = _Tally()
    # Without models, episodes over one history follow one another; with models, samples of all run side by side.
    with alone(out), Stores(embedder, keep=None if models else 1) as stores:
        start(out, _plan(order, study, found, models=models, methods=methods, settings=settings))
        done = {result.key for result in read_results(out)}
        roles = Roles(embedder=embedder, stores=stores)
        if models:
            cases = _Cases(study, methods, found.cases, done)
            _with_models(order, cases, out, models=models, roles=roles, settings=settings, tally=tally)
        else:
            started = time.monotonic()
            tally.episodes = model_free(
                methods, found.cases, out, roles=roles, settings=settings, done=done, watch=watch
            )
            tally.seconds = time.monotonic() - started
    return _status_of(out, tally, order.answers)


def plan_of(
    order: RunOrder,
    *,
    recorded: Sequence[Path] = (),
    per_block: int = 2,
    chars_per_token: float | None = None,
    watch: Callable[[], None] = lambda: None,
) -> tuple[dict[str, str], Estimate]:
    """What a run of the same order would ask and take, and the model of each role. Nothing is asked."""
    from readmit_bench.plans.estimate import Asking, estimate
    from readmit_bench.plans.recorded_answers import Recorded

    study, models, methods, settings = _checked(order)
    found = _cases(order, study, settings)
    asking = Asking(
        methods=methods,
        models=models,
        settings=settings,
        scales=study.agents,
        cap=order.max_tokens,
        per_block=per_block,
        seed=order.seed,
        chars_per_token=chars_per_token,
    )
    return models, estimate(found.cases, asking, Recorded(recorded), watch)


def status(out: Path, answers: Path | None = None) -> RunStatus:
    """How far a run is. ``answers`` is where its answers are kept, if not with the run."""
    return _status_of(out, _Tally(), answers)


def _checked(order: RunOrder) -> tuple[Study, dict[str, str], tuple[str, ...], Settings]:
    """Study, models, methods and settings of an order; refused if it could not be carried out."""
    study = study_named(order.study)
    models = roles_named(order.models or {})
    methods = chosen_methods(study, order.methods, models=bool(models))
    check_roles(study, models, methods)
    if order.periods and "memora" not in study.benchmarks:
        raise RecordError(f"period: {study.name} has no periods; leave it out, or run a study of Memora")
    settings = overridden(Settings(), order.changes)
    return staffed(study, settings), models, methods, settings


def _cases(order: RunOrder, study: Study, settings: Settings) -> Cases:
    found = planned_cases(
        study,
        order.data,
        limit=order.limit,
        stratified=order.stratified,
        seed=order.seed,
        fillers=order.fillers,
        settings=settings,
    )
    if not found.cases:
        raise RecordError(f"limit: no case is left of {study.name}; give at least 1")
    return found


def roles_named(models: Mapping[str, str]) -> dict[str, str]:
    """The model of each role. Extractor and verifier are the actor's unless named (paper: the actor's family)."""
    named = {role: spec for role, spec in models.items() if spec}
    if "actor" in named:
        named.setdefault("extractor", named["actor"])
        named.setdefault("verifier", named["actor"])
    return named


def check_roles(study: Study, models: Mapping[str, str], methods: Sequence[str]) -> None:
    """Refuse a run that would fail halfway because a model is missing."""
    if "judge" in models and "actor" not in models:
        raise ModelError("judge: there is nothing to judge without answers; name an --actor")
    if "actor" in models and "judge" not in models and any(benchmark_named(name).judged for name in study.benchmarks):
        raise ModelError(f"judge: answers of {study.name} are judged by a model; name a --judge")
    asking = [name for name in methods if entry_named(name).asks_models]
    if asking and not {"extractor", "verifier"} <= set(models):
        raise ModelError(f"{', '.join(asking)}: name --extractor and --verifier, or an --actor for all of it")


def _plan(
    order: RunOrder,
    study: Study,
    found: Cases,
    *,
    models: Mapping[str, str],
    methods: tuple[str, ...],
    settings: Settings,
) -> RunPlan:
    from importlib.metadata import version

    cases = found.cases

    scales = study.agents if models.get("actor") else study.agents[:1]
    many: Counter[str] = Counter()
    for case in cases:
        of = benchmark_named(case.episode.benchmark)
        many[f"{of.name}/{case.labels.block}"] += len(scales) if of.plays_agents else 1
    return RunPlan(
        study=study.name,
        data={
            "data": "smoke" if order.data is None else str(order.data.resolve()),
            **({"fillers": str(order.fillers.resolve())} if order.fillers else {}),
        },
        methods=methods,
        models=dict(models),
        embedder=order.embedder if embeds(study, methods, settings) else "",
        notes=(
            *found.notes,
            *retrieval_notes(study, methods, settings),
            *(() if "actor" in models else ceilings(cases)),
            *absent_stores(study, methods, models=bool(models)),
        ),
        cases=dict(many),
        digest=digest_of_cases(cases),
        limit=order.limit,
        stratified=order.stratified,
        seed=order.seed,
        max_tokens=order.max_tokens,
        token_limit=order.token_limit,
        time_limit=order.time_limit,
        settings=order.changes,
        agents=scales,
        version=version("readmit"),
    )


@dataclass(frozen=True)
class _Cases:
    """What a run with models has to do."""

    study: Study
    methods: Sequence[str]
    cases: Sequence[Case[Any]]
    done: set[tuple[str, str, int | None]]

    def left(self, method: str, agents: int | None) -> list[Case[Any]]:
        return [
            case
            for case in self.cases
            if (method, case.episode.id, agents if benchmark_named(case.episode.benchmark).plays_agents else None)
            not in self.done
        ]

    def title(self, method: str, agents: int | None) -> str:
        scale = f"-{agents}" if agents is not None and len(self.study.agents) > 1 else ""
        return f"{self.study.name}-{method}{scale}".lower()


def _with_models(
    order: RunOrder,
    cases: _Cases,
    out: Path,
    *,
    models: Mapping[str, str],
    roles: Roles,
    settings: Settings,
    tally: _Tally,
) -> None:
    """Run everything that is left as inspect tasks."""
    from readmit_bench.inspect_eval import drive
    from readmit_bench.inspect_tasks import Setting, task_of
    from readmit_bench.roles import Exchange

    played = any(benchmark_named(name).plays_agents for name in cases.study.benchmarks)
    scales = cases.study.agents if models.get("actor") and played else (None,)
    store = AnswerStore(order.store(out))
    exchange = Exchange(store, cap=order.max_tokens, token_limit=order.token_limit)
    results = Results(out)
    try:
        for agents in scales:
            at = settings if agents is None else settings.with_agents(agents)
            setting = Setting(models, roles, at, agents, exchange, results, order.time_limit)
            tasks = [
                task_of(cases.title(name, agents), name, left, setting)
                for name in cases.methods
                if (left := cases.left(name, agents))
            ]
            if tasks:
                drive(tasks, models, out / LOGS, order.calls, exchange.fuse)
            tally.waiting += len(setting.waiting)
            tally.interrupted += len(setting.interrupted)
    finally:
        _note(tally, exchange)
        store.close()


def _note(tally: _Tally, exchange: Exchange) -> None:
    tally.asked, tally.outages, tally.stopped = exchange.asked, exchange.fuse.outages, exchange.fuse.blown


def _status_of(out: Path, tally: _Tally, kept_in: Path | None = None) -> RunStatus:
    plan, results = read_plan(out), read_results(out)
    answers = tokens = 0
    if ((kept_in or out) / ANSWERS).exists():
        store = AnswerStore((kept_in or out) / ANSWERS)
        answers, tokens = len(store), store.tokens
        store.close()
    each = sum(plan.cases.values())
    counts = Counter(result.method for result in results)
    return RunStatus(
        study=plan.study,
        planned=plan.planned,
        done=len(results),
        failed=sum(bool(result.failure) for result in results),
        ineligible=sum(not result.eligible for result in results),
        answers=answers,
        tokens=tokens,
        left={name: each - counts[name] for name in plan.methods if counts[name] < each},
        settings=plan.settings,
        asked=tally.asked,
        waiting=tally.waiting,
        interrupted=tally.interrupted,
        outages=dict(tally.outages),
        stopped=tally.stopped,
        episodes=tally.episodes,
        seconds=tally.seconds,
    )


def failure_manifest(out: Path) -> list[dict[str, str]]:
    """Every failure, with its episode: they count in every denominator."""
    return [
        {"method": result.method, "case": result.case, "block": result.block, "failure": result.failure}
        for result in read_results(out)
        if result.failure
    ]

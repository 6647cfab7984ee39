"""The provenance of a report: study, models, settings, and how they differ from the paper's."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.settings import RoleSettings, Settings, overridden
from readmit_bench.studies import study_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit_bench.benchmarks import Benchmark
    from readmit_bench.results import Result, RunPlan

JUDGE = "gpt-5.6-terra"


def what_was_run(plan: RunPlan, results: Sequence[Result]) -> list[tuple[str, str]]:
    """The facts of a run, named."""
    failed, ineligible = _count(results)
    facts = [
        ("Study", plan.study),
        ("Data", f"{_data(plan)}; digest {plan.digest[:16]}"),
        ("Cases planned", ", ".join(f"{name} {count:,}" for name, count in plan.cases.items())),
    ]
    facts += [
        *(fact for one in _benchmarks(plan) for fact in one.facts(plan)),
        ("Models", _models(plan)),
        *([("Roles", _roles(plan))] if plan.models else []),
        ("Embedder", plan.embedder or "none"),
        ("Methods", ", ".join(plan.methods)),
        ("Lines", f"{len(results):,} of {plan.planned:,} planned; {failed:,} failed, {ineligible:,} not eligible"),
        ("Settings", _settings(plan)),
        ("Seed", str(plan.seed)),
        ("readmit", plan.version),
    ]
    return facts


def in_short(plan: RunPlan, results: Sequence[Result]) -> str:
    """The same in one line, for tables that are read without their report."""
    failed, ineligible = _count(results)
    own = "".join(f" {value} {name.lower()};" for one in _benchmarks(plan) for name, value in one.facts(plan))
    limit = "" if plan.limit is None else f" --limit {plan.limit}{' --stratified' if plan.stratified else ''};"
    return (
        f"Run: {plan.study} on {_data(plan)}, digest {plan.digest[:16]};{own} models: {_models(plan)};{limit} "
        f"settings: {_settings(plan)}; {len(results):,} of {plan.planned:,} lines, {failed:,} failed, "
        f"{ineligible:,} not eligible; seed {plan.seed}; readmit {plan.version}."
    )


def remarks(plan: RunPlan, results: Sequence[Result]) -> list[str]:
    """What a reader must know before comparing. Everything not named is the paper's setting."""
    said = list(plan.notes)
    if len(results) < plan.planned:
        left = Counter(dict.fromkeys(plan.methods, sum(plan.cases.values()))) - Counter(r.method for r in results)
        which = ", ".join(f"{name} {count:,}" for name, count in left.items())
        said.append(f"The run is not complete: {len(results):,} of {plan.planned:,} planned lines; to go: {which}.")
    if plan.limit is not None:
        said.append(f"Not all cases: --limit {plan.limit}{' per block' if plan.stratified else ''}, seed {plan.seed}.")
    study = study_named(plan.study)
    said += [text for one in _benchmarks(plan) for text in one.differing(plan, study)] if study.in_paper else []
    if plan.max_tokens is not None:
        said.append(f"Every answer was cut at {plan.max_tokens} tokens (--max-tokens), below the paper's budgets.")
    if plan.settings:
        said.append(f"Settings that are not the paper's: {', '.join(plan.settings)}.")
    _, ineligible = _count(results)
    if ineligible:
        said.append(f"{ineligible:,} lines are not eligible (wrong departure answer, or no quorum) and count nowhere.")
    if "actor" not in plan.models:
        said.append("No answers were asked for: the views themselves are scored, and no judged metric can be.")
        said += [one.without_actor for one in _benchmarks(plan) if one.without_actor]
    elif JUDGE not in (judge := plan.models.get("judge", JUDGE)):
        said.append(f"The judge is {shown_model(judge)}; the paper's is {JUDGE}.")
    return said


def _benchmarks(plan: RunPlan) -> list[Benchmark]:
    return [benchmark_named(name) for name in dict.fromkeys(block.partition("/")[0] for block in plan.cases)]


def _settings(plan: RunPlan) -> str:
    """Every setting that differs from the paper's table."""
    limits = (("max-tokens", plan.max_tokens), ("token-limit", plan.token_limit), ("time-limit", plan.time_limit))
    changed = [*plan.settings, *(f"{name} {most:,}" for name, most in limits if most is not None)]
    return f"the paper's, but {', '.join(changed)}" if changed else "the paper's"


def shown_model(spec: str) -> str:
    """A model's line without folders and addresses of the machine it ran on."""
    kind, colon, rest = spec.partition(":")
    if not colon or "/" in kind:
        return spec
    path, _, query = rest.partition("?")
    name = next((part[len("model=") :] for part in query.split("&") if part.startswith("model=")), PurePath(path).name)
    return f"{kind}:{name}"


def _models(plan: RunPlan) -> str:
    return ", ".join(f"{role} {shown_model(spec)}" for role, spec in plan.models.items()) or "none"


def _roles(plan: RunPlan) -> str:
    """How each role's model was to answer: effort, temperature and limits."""
    settings = overridden(Settings(), plan.settings)
    usual = RoleSettings()
    lines = (f"{role}: {settings.role(role).changes}" for role in plan.models if settings.role(role).changes)
    rest = f"temperature {usual.temperature:g}, the provider's own effort, answer limits of each stage"
    changed = "; ".join(lines)
    return f"{changed}; otherwise {rest}" if changed else rest


def _data(plan: RunPlan) -> str:
    """The folder's own name, without its path, which would reveal the user's machine."""
    name = PurePath(plan.data["data"]).name
    return f"{name} with fillers from {PurePath(plan.data['fillers']).name}" if "fillers" in plan.data else name


def _count(results: Sequence[Result]) -> tuple[int, int]:
    return sum(bool(result.failure) for result in results), sum(not result.eligible for result in results)

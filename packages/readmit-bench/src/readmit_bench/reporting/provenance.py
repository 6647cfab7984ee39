"""What was run, so that no figure has to be read without it; and in what it differs from the paper."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from readmit_bench.datasets.stale import SUBSTITUTE_NOTE
from readmit_bench.reporting.beside import NOT_THE_PAPERS
from readmit_bench.settings import RoleSettings, Settings, overridden

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit_bench.results import Plan, Result

JUDGE = "gpt-5.6-terra"
# Cases of one block, or of all of them, in the paper.
PAPER_CASES = {
    "memora/25%": 137, "memora/50%": 137, "memora/75%": 137,
    "stale/early": 64, "stale/middle": 64, "stale/late": 72,
}  # fmt: skip
SUBSET_CASES = 20
MANBENCH_CASES = 4838


def what_was_run(plan: Plan, results: Sequence[Result]) -> list[tuple[str, str]]:
    """The facts of a run, named."""
    failed, ineligible = _count(results)
    facts = [
        ("Study", plan.study),
        ("Data", f"{_data(plan)}; digest {plan.digest[:16]}"),
        ("Cases planned", ", ".join(f"{name} {count:,}" for name, count in plan.cases.items())),
    ]
    if any(name.startswith("stale/") for name in plan.cases):
        facts.append(("Haystack", _haystack(plan)))
    facts += [
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


def in_short(plan: Plan, results: Sequence[Result]) -> str:
    """The same in a line, for under a table that may be read without its report."""
    failed, ineligible = _count(results)
    haystack = f" {_haystack(plan)} haystack;" if any(name.startswith("stale/") for name in plan.cases) else ""
    limit = "" if plan.limit is None else f" --limit {plan.limit}{' --stratified' if plan.stratified else ''};"
    return (
        f"Run: {plan.study} on {_data(plan)}, digest {plan.digest[:16]};{haystack} models: {_models(plan)};{limit} "
        f"settings: {_settings(plan)}; {len(results):,} of {plan.planned:,} lines, {failed:,} failed, "
        f"{ineligible:,} not eligible; seed {plan.seed}; readmit {plan.version}."
    )


def remarks(plan: Plan, results: Sequence[Result]) -> list[str]:
    """What a reader must know before comparing. Everything not named is the paper's setting."""
    said = list(plan.notes)
    if len(results) < plan.planned:
        left = Counter(dict.fromkeys(plan.methods, sum(plan.cases.values()))) - Counter(r.method for r in results)
        which = ", ".join(f"{name} {count:,}" for name, count in left.items())
        said.append(f"The run is not complete: {len(results):,} of {plan.planned:,} planned lines; to go: {which}.")
    if plan.limit is not None:
        said.append(f"Not all cases: --limit {plan.limit}{' per block' if plan.stratified else ''}, seed {plan.seed}.")
    said += _fewer(plan)
    if plan.max_tokens is not None:
        said.append(f"Every answer was cut at {plan.max_tokens} tokens (--max-tokens), below the paper's budgets.")
    if plan.settings:
        said.append(f"Settings that are not the paper's: {', '.join(plan.settings)}.")
    _, ineligible = _count(results)
    if ineligible:
        said.append(f"{ineligible:,} lines are not eligible (wrong departure answer, or no quorum) and count nowhere.")
    if "actor" not in plan.models:
        said.append("No answers were asked for: the views themselves are scored, and no judged metric can be.")
        if any(name.startswith("manbench/") for name in plan.cases):
            said.append("ManBench candidates are fixed ones, and all examples count; the paper counts eligible ones.")
    elif JUDGE not in (judge := plan.models.get("judge", JUDGE)):
        said.append(f"The judge is {shown_model(judge)}; the paper's is {JUDGE}.")
    return said


def _fewer(plan: Plan) -> Iterator[str]:
    if plan.study in NOT_THE_PAPERS:
        return
    per_block = dict.fromkeys(PAPER_CASES, SUBSET_CASES) if plan.study == "stale-cost" else PAPER_CASES
    other = {name: count for name, count in plan.cases.items() if name in per_block and count != per_block[name]}
    if other:
        told = ", ".join(f"{name} {count} (paper: {per_block[name]})" for name, count in other.items())
        yield f"Other case counts than the paper's: {told}."
    scheduled = sum(n for name, n in plan.cases.items() if name.startswith("manbench/")) // max(1, len(plan.agents))
    if scheduled and scheduled != MANBENCH_CASES:
        yield f"ManBench-Return schedules {scheduled:,} examples here; the paper's {MANBENCH_CASES:,}."


def _settings(plan: Plan) -> str:
    """Everything that departs from the paper's table of settings."""
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


def _models(plan: Plan) -> str:
    return ", ".join(f"{role} {shown_model(spec)}" for role, spec in plan.models.items()) or "none"


def _roles(plan: Plan) -> str:
    """How each role's model was to answer: effort, temperature and limits."""
    settings = overridden(Settings(), plan.settings)
    usual = RoleSettings()
    told = (f"{role}: {settings.role(role).told}" for role in plan.models if settings.role(role).told)
    rest = f"temperature {usual.temperature:g}, the provider's own effort, answer limits of each stage"
    changed = "; ".join(told)
    return f"{changed}; otherwise {rest}" if changed else rest


def _data(plan: Plan) -> str:
    """The folder's own name: where it lies on somebody's machine is nobody else's business."""
    name = PurePath(plan.data["data"]).name
    return f"{name} with fillers from {PurePath(plan.data['fillers']).name}" if "fillers" in plan.data else name


def _haystack(plan: Plan) -> str:
    return "substitute" if SUBSTITUTE_NOTE in plan.notes else "smoke" if plan.study == "smoke" else "official"


def _count(results: Sequence[Result]) -> tuple[int, int]:
    return sum(bool(result.failure) for result in results), sum(not result.eligible for result in results)

"""Writing a report: Markdown, HTML, figures, and a page per episode. Everything that comes from data is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.bench.published import discrepancies
from readmit.bench.reporting.figures import draw
from readmit.bench.reporting.tables import Table, cost_tables, published_tables, score_tables
from readmit.bench.results import Plan, Result, read_plan, read_results
from readmit.bench.retrieval import checkpoint as checkpoint_of
from readmit.bench.studies import planned_cases, study_named
from readmit.records.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.bench.episodes import Episode

EPISODES = 50


@dataclass(frozen=True)
class Section:
    """One run in a report."""

    name: str
    plan: Plan
    left_out: tuple[str, ...]
    tables: tuple[Table, ...]
    published: tuple[Table, ...]
    figures: tuple[tuple[str, str], ...]
    failures: tuple[Result, ...]
    pages: tuple[tuple[str, str], ...]


def write_report(runs: Sequence[Path], to: Path, *, episodes: int = EPISODES) -> Path:
    """Write the report of some runs into a folder; the path of its first page."""
    if not runs:
        raise RecordError("runs: name at least one directory that `readmit bench run --out` wrote")
    to.mkdir(parents=True, exist_ok=True)
    names = _names(runs)
    sections = [_section(run, names[run], to, episodes) for run in runs]
    said = {"sections": sections, "discrepancies": [str(one) for one in discrepancies()]}
    (to / "report.md").write_text(_template("report.md").render(said), encoding="utf-8")
    page = to / "report.html"
    page.write_text(_template("report.html").render(said), encoding="utf-8")
    return page


def _names(runs: Sequence[Path]) -> dict[Path, str]:
    """A folder name for each run, told apart where directories have the same name."""
    names: dict[Path, str] = {}
    for number, run in enumerate(runs, start=1):
        name = run.resolve().name
        names[run] = name if name not in names.values() else f"{name}-{number}"
    return names


def _section(run: Path, name: str, to: Path, episodes: int) -> Section:
    plan, results = read_plan(run), read_results(run)
    if not results:
        raise RecordError(f"{run}: holds no result yet; run the study first")
    benchmarks = list(dict.fromkeys(result.benchmark for result in results))
    folder = to / name
    return Section(
        name=name,
        plan=plan,
        left_out=tuple(_left_out(plan, results)),
        tables=(*score_tables(plan, results), *cost_tables(plan, results)),
        published=tuple(published_tables(benchmarks, plan.study)),
        figures=tuple(draw(plan, results, folder)),
        failures=tuple(result for result in results if result.failure),
        pages=tuple(_episode_pages(plan, results, folder, episodes)),
    )


def _left_out(plan: Plan, results: Sequence[Result]) -> list[str]:
    """What a reader must know before comparing."""
    said = list(plan.notes)
    if len(results) < plan.planned:
        said.append(f"The run is not complete: {len(results)} of {plan.planned} planned lines.")
    if plan.limit is not None:
        said.append(f"Not all cases: --limit {plan.limit}{' per block' if plan.stratified else ''}, seed {plan.seed}.")
    if plan.max_tokens is not None:
        said.append(f"Every answer was cut at {plan.max_tokens} tokens (--max-tokens), below the paper's budgets.")
    ineligible = sum(not result.eligible for result in results)
    if ineligible:
        said.append(f"{ineligible} lines are not eligible (wrong departure answer, or no quorum) and count nowhere.")
    if "actor" not in plan.models:
        said.append("No answers were asked for: the views themselves are scored, and no judged metric can be.")
    return said


def _episode_pages(plan: Plan, results: Sequence[Result], folder: Path, most: int) -> list[tuple[str, str]]:
    chosen = list(dict.fromkeys(result.episode for result in results))[:most]
    if not chosen:
        return []
    episodes = _episodes(plan)
    pages = folder / "episodes"
    pages.mkdir(parents=True, exist_ok=True)
    template = _template("episode.html")
    written = []
    for name in chosen:
        own = [result for result in results if result.episode == name]
        episode = episodes.get(name)
        rows = {} if episode is None else {row.id: row for row in checkpoint_of(episode).rows}
        said = {"episode": episode, "results": own, "rows": rows, "case": own[0].case, "plan": plan}
        (pages / f"{name}.html").write_text(template.render(said), encoding="utf-8")
        written.append((f"episodes/{name}.html", own[0].case))
    return written


def _episodes(plan: Plan) -> dict[str, Episode]:
    """The episodes again, for their history. Where the data is gone, pages go without."""
    data = None if plan.data["data"] == "smoke" else Path(plan.data["data"])
    fillers = Path(plan.data["fillers"]) if "fillers" in plan.data else None
    try:
        found = planned_cases(
            study_named(plan.study),
            data,
            limit=plan.limit,
            stratified=plan.stratified,
            seed=plan.seed,
            fillers=fillers,
        )
    except RecordError:
        return {}
    return {case.episode.id: case.episode for case in found.cases}


def _template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("readmit.bench", "templates"),
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    return environment.get_template(name)


def _cell(text: str) -> str:
    """Text in a Markdown table: on one line, without what would end the cell."""
    return " ".join(str(text).split()).replace("|", "\\|")

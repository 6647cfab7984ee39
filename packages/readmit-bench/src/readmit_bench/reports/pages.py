"""Writing a report: Markdown, HTML, tables as files, figures, a page per episode. What comes from data is escaped."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.errors import RecordError
from readmit.lab import visible_text
from readmit_bench.episodes import digest_of_cases
from readmit_bench.published import discrepancies, published
from readmit_bench.reports.backend_pairs import pair_tables
from readmit_bench.reports.costs import cost_tables
from readmit_bench.reports.differences import difference_tables
from readmit_bench.reports.episode_pages import write_pages
from readmit_bench.reports.figures import draw
from readmit_bench.reports.glossary import METRICS
from readmit_bench.reports.harmless_text import cut, in_markdown
from readmit_bench.reports.provenance import in_short, remarks, what_was_run
from readmit_bench.reports.run_scores import score_run
from readmit_bench.reports.table_files import FOLDER as TABLES
from readmit_bench.reports.table_files import write_tables
from readmit_bench.reports.tables import Column, Table, published_tables, row_of, score_tables
from readmit_bench.results import read_plan, read_results
from readmit_bench.settings import Settings, overridden
from readmit_bench.studies import planned_cases, study_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit_bench.episodes import Episode
    from readmit_bench.reports.canvas import Drawn
    from readmit_bench.reports.episode_pages import Page
    from readmit_bench.results import Result, RunPlan

EPISODES = 50
MOST_FAILURES = 30
GONE = "The data of this run is no longer available: episode pages have no history and no statement texts."
CHANGED = "The data at that path is not the data of the run (its digest differs): episode pages have no history."


@dataclass(frozen=True)
class Section:
    """One run in a report."""

    name: str
    folder: str
    plan: RunPlan
    facts: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    short: str
    scores: tuple[Table, ...]
    differences: tuple[Table, ...]
    costs: tuple[Table, ...]
    figures: tuple[Drawn, ...]
    failures: Table | None
    pages: tuple[Page, ...]
    episodes: int
    exported: tuple[str, ...]
    """Tables that are also files, by name without ending."""


def write_report(runs: Sequence[Path], to: Path, *, episodes: int = EPISODES) -> Path:
    """Write the report of some runs into a folder; the path of its first page."""
    if not runs:
        raise RecordError("runs: name at least one directory that `readmit bench run --out` wrote")
    found = {run.resolve(): (read_plan(run), read_results(run)) for run in dict.fromkeys(run.resolve() for run in runs)}
    for run, (_, results) in found.items():
        if not results:
            raise RecordError(f"{run}: holds no result yet; run the study first, or leave the directory out")
    try:
        to.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise RecordError(f"{to}: is a file; name a folder with --to") from None
    names = _names(list(found), to)
    sections = [_section(names[run], plan, results, to, episodes) for run, (plan, results) in found.items()]
    benchmarks = list(dict.fromkeys(r.benchmark for _, results in found.values() for r in results))
    said = {
        "sections": sections,
        "metrics": METRICS,
        "published": published_tables(benchmarks),
        "source": published().source,
        "discrepancies": [str(one) for one in discrepancies()],
    }
    (to / "report.md").write_text(_tidy(_template("report.md").render(said)), encoding="utf-8")
    page = to / "report.html"
    page.write_text(_template("report.html").render(said), encoding="utf-8")
    return page


def _names(runs: Sequence[Path], to: Path) -> dict[Path, tuple[str, str]]:
    """Each run's name, made unique if directories share one, and a folder for it that needs no quoting."""
    names: dict[Path, tuple[str, str]] = {}
    same: Counter[str] = Counter()
    folders: set[str] = set()
    for run in runs:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", run.name).strip("-") or "run"
        candidates = (plain if number == 1 else f"{plain}-{number}" for number in count(1))
        # A report written next to its runs must not put pages among a run's own files.
        folder = next(one for one in candidates if one.casefold() not in folders and to.resolve() / one not in runs)
        folders.add(folder.casefold())
        same[run.name] += 1
        names[run] = (run.name if same[run.name] == 1 else f"{run.name} ({same[run.name]})", folder)
    return names


def _section(names: tuple[str, str], plan: RunPlan, results: Sequence[Result], to: Path, most: int) -> Section:
    name, folder = names
    scores = score_run(plan, results)
    histories, said = _episodes(plan) if most > 0 else ({}, ())
    pages = write_pages(plan, results, histories, to / folder, template=_template("episode.html"), most=most)
    score_part = (*score_tables(plan, scores), *pair_tables(plan, scores))
    differences, costs = tuple(difference_tables(plan, scores)), tuple(cost_tables(plan, results))
    parts = {"scores": score_part, "differences": differences, "costs": costs}
    exported = write_tables(parts, to / folder / TABLES)
    return Section(
        name=name,
        folder=folder,
        plan=plan,
        facts=tuple(what_was_run(plan, results)),
        remarks=(*remarks(plan, results), *said),
        short=in_short(plan, results),
        scores=score_part,
        differences=differences,
        costs=costs,
        figures=tuple(draw(plan, scores, to / folder)),
        failures=_failures(results),
        pages=tuple(pages),
        episodes=len({result.episode for result in results}),
        exported=tuple(exported),
    )


def _failures(results: Sequence[Result]) -> Table | None:
    """Failures by what they say, the most frequent first."""
    cases: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.failure:
            cases.setdefault((result.method, cut(result.failure)), []).append(result.case)
    if not cases:
        return None
    often = sorted(cases.items(), key=lambda one: -len(one[1]))
    rows = [
        row_of(method, message, cut(found[0], 80), f"{len(found):,}")
        for (method, message), found in often[:MOST_FAILURES]
    ]
    rest = len(cases) - len(rows)
    words = tuple(Column(name, number=False, long=name != "Method") for name in ("Method", "Failure", "First case"))
    columns = (*words, Column("lines"))
    note = f"{rest:,} more sorts of failure: `readmit bench status` lists all." if rest else ""
    return Table("Failures", columns, tuple(rows), note)


def _episodes(plan: RunPlan) -> tuple[dict[str, Episode], tuple[str, ...]]:
    """Load the episodes again for their history. Pages omit it if the data is gone or has changed."""
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
            settings=overridden(Settings(), plan.settings),
        )
    except (RecordError, OSError):
        return {}, (GONE,)
    if digest_of_cases(found.cases) != plan.digest:
        return {}, (CHANGED,)
    return {case.episode.id: case.episode for case in found.cases}, ()


def _template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("readmit_bench", "templates"),
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Show hidden characters in everything a page prints, so that no template has to ask for it.
        finalize=lambda value: type(value)(visible_text(value)) if isinstance(value, str) else value,
    )
    environment.filters["md"] = in_markdown
    return environment.get_template(name)


def _tidy(text: str) -> str:
    """Strip trailing blanks and repeated empty lines."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)).strip("\n") + "\n"

"""``readmit bench``: run the paper's experiments, see how far they are, and write the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from readmit.cli.command import command
from readmit.cli.status import Status

if TYPE_CHECKING:
    from readmit.bench.running import Status as RunStatus
    from readmit.cli.command import Invocation


def add_to(group: click.Group) -> None:
    """Add the commands."""

    @group.group("bench")
    def bench() -> None:
        """The paper's experiments: run them, resume them, report them."""

    by_file = '--actor "batch:DIR?model=NAME" --judge "batch:DIR?model=NAME"'
    examples = (
        "readmit bench run smoke --out smoke",
        "readmit bench run memora --data memora --out memora-views",
        "readmit bench run stale --data stale --out few --actor openai/NAME --judge openai/NAME --limit 5 --stratified",
        f"readmit bench run stale --data stale --out rounds {by_file}",
    )
    command(bench, "run", store=False, examples=examples)(run)
    command(bench, "status", store=False, examples=("readmit bench status smoke",))(status)
    command(bench, "report", store=False, examples=("readmit bench report smoke memora-views --to report",))(report)


def _methods(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


_FOLDER = click.Path(path_type=Path)


@click.argument("study")
@click.option("--data", type=_FOLDER, metavar="DIR", help="Folder of the benchmark's release. Not for smoke.")
@click.option(
    "--fillers", type=_FOLDER, metavar="DIR", help="Memora folder whose small talk fills a substitute haystack."
)
@click.option(
    "--out", type=_FOLDER, required=True, metavar="DIR", help="Where the run is kept. The same again goes on."
)
@click.option("--methods", default="", callback=_methods, metavar="A,B", help="Which methods. Default: the study's.")
@click.option("--actor", default="", metavar="MODEL", help="Who answers. Without one, views are made and scored.")
@click.option("--judge", default="", metavar="MODEL", help="Who judges answers of Memora and STALE.")
@click.option("--extractor", default="", metavar="MODEL", help="Who reads sessions. Default: the actor.")
@click.option("--verifier", default="", metavar="MODEL", help="Who judges pairs. Default: the actor.")
@click.option("--embedder", default="minilm", show_default=True, metavar="NAME", help="For proposing pairs.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only N cases (Memora: questions).")
@click.option("--stratified", is_flag=True, help="N cases of every block instead.")
@click.option("--seed", default=0, show_default=True, help="Which cases --limit takes, and the haystack's order.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut every answer there: for trying things out, below the paper's budgets.",
)
@click.option("--display", metavar="NAME", help="inspect's display of a run with models. Default: rich on a terminal.")
def run(
    invocation: Invocation,
    /,
    *,
    study: str,
    data: Path | None,
    fillers: Path | None,
    out: Path,
    methods: tuple[str, ...],
    limit: int | None,
    stratified: bool,
    seed: int,
    max_tokens: int | None,
    embedder: str,
    display: str | None,
    **models: str,
) -> Status:
    """Run a study, or go on with it: nothing that is there is done or paid for again.

    Studies: smoke, memora, stale, stale-cost, manbench, scale, ablations, backends. A MODEL is an inspect name, as
    openai/NAME, or one of readmit's own: openai:NAME?base_url=…, gguf:PATH, batch:DIR?model=NAME, recorded:PATH.
    """
    from readmit.bench.running import Order
    from readmit.bench.running import run as carry_out
    from readmit.cli.output import progress

    order = Order(
        study=study,
        data=data,
        fillers=fillers,
        methods=methods,
        models={role: models[role] for role in ("actor", "extractor", "verifier", "judge")},
        embedder=embedder,
        limit=limit,
        stratified=stratified,
        seed=seed,
        max_tokens=max_tokens,
        display=display or ("rich" if sys.stdout.isatty() and not invocation.json else "none"),
    )
    with progress(f"Running {study}") as advance:
        told = carry_out(order, out, lambda done, planned: advance())  # noqa: ARG005  # a bar counts by itself
    _tell(invocation, told, out)
    return Status.WAITING if told.waiting else Status.OK


@click.argument("out", type=_FOLDER)
def status(invocation: Invocation, /, *, out: Path) -> None:
    """Say how far a run is, and what failed in it."""
    from readmit.bench.running import status as look

    _tell(invocation, look(out), out)


@click.argument("runs", type=_FOLDER, nargs=-1, required=True, metavar="DIR...")
@click.option(
    "--to", type=_FOLDER, default=Path("bench-report"), show_default=True, metavar="DIR", help="Where to write."
)
@click.option("--episodes", default=50, show_default=True, help="How many episodes get a page of their own.")
def report(invocation: Invocation, /, *, runs: tuple[Path, ...], to: Path, episodes: int) -> None:
    """Write report.md and report.html with tables, figures and episode pages."""
    from readmit.bench.reporting.pages import write_report
    from readmit.cli.output import emit, show, shown
    from readmit.models.extras import need

    for package in ("jinja2", "matplotlib"):
        need(package, "bench")
    page = write_report(runs, to, episodes=episodes)
    if invocation.json:
        emit({"html": str(page), "markdown": str(page.with_suffix(".md"))})
    else:
        show(f"{shown(str(page))} and {shown(page.with_suffix('.md').name)}")


def _tell(invocation: Invocation, told: RunStatus, out: Path) -> None:
    from readmit.bench.running import as_json, failure_manifest
    from readmit.cli.output import emit, show, shown

    failures = failure_manifest(out)
    if invocation.json:
        emit({**as_json(told), "failures": failures})
        return
    show(f"{told.study}: {told.done} of {told.planned} lines, {told.failed} failed, {told.ineligible} not eligible.")
    if told.answers:
        show(f"{told.answers} model answers are kept in {shown(str(out))}.")
    for method, count in told.left.items():
        show(f"  {method}: {count} to go")
    if told.waiting:
        show(f"{told.waiting} episodes wait for answers by file: answer the requests, then run the same command again.")
    for one in failures[:20]:
        show(f"  failed: {one['method']}, {shown(one['case'])}: {shown(one['failure'])}")

"""``readmit bench``: run the paper's experiments, see how far they are, and write the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.lab import Status, command, grouped
from readmit_bench.commands import memora_measures, plan_command
from readmit_bench.commands.options import FOLDER, POSITIVE, ROLES, models, study_options

if TYPE_CHECKING:
    from readmit.lab import Invocation
    from readmit_bench.run_status import RunStatus

OUTAGES, FAILURES = 5, 20
"""How many of each are shown."""


@click.group("bench")
def bench() -> None:
    """The paper's experiments: run them, resume them, report them."""


_limits = grouped("Limits")


@study_options
@click.option(
    "--out", type=FOLDER, required=True, metavar="DIR", help="Where the run is kept. Running it again resumes it."
)
@models("--embedder", default="minilm", show_default=True, metavar="NAME", help="For pairs, and for memory stores.")
@models(
    "--answers", type=FOLDER, metavar="DIR",
    help="Folder of kept answers. Default: with the run. Several runs may share it.",
)  # fmt: skip
@models("--max-connections", type=POSITIVE, metavar="N", help="Calls at once. Default: what the provider allows.")
@models(
    "--max-retries", type=click.IntRange(min=0), default=5, show_default=True, metavar="N",
    help="Retries after rate limits, server errors and lost connections.",
)  # fmt: skip
@models(
    "--timeout",
    type=POSITIVE,
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of one attempt at a request.",
)
@_limits("--token-limit", type=POSITIVE, metavar="N", help="Most tokens of one episode. More is a failure.")
@_limits("--time-limit", type=POSITIVE, metavar="SECONDS", help="Most time of one episode. More is a failure.")
@click.option("--display", metavar="NAME", help="inspect's display of a run with models. Default: rich on a terminal.")
def run(
    invocation: Invocation,
    /,
    *,
    study: str,
    out: Path,
    display: str | None,
    **asked: Any,
) -> Status:
    """Run or resume a study: finished work is not repeated or paid for again.

    `readmit bench list` names the studies and the methods. A MODEL is an inspect name, such as openai/NAME, or one of
    readmit's own: openai:NAME?base_url=…, gguf:PATH, batch:DIR?model=NAME, recorded:PATH.
    """
    from readmit.lab import progress, show
    from readmit_bench.study_runs import ProviderCalls, RunOrder
    from readmit_bench.study_runs import run as carry_out
    from readmit_bench.study_runs import status as look

    named = {role: asked.pop(role) for role in ROLES}
    calls = {name: asked.pop(name) for name in ("max_connections", "max_retries", "timeout")}
    shown_by = display or ("rich" if sys.stdout.isatty() and not invocation.json else "none")
    order = RunOrder(study=study, models=named, calls=ProviderCalls(**calls, display=shown_by), **asked)
    try:
        with progress(f"Running {study}") as advance:
            ran = carry_out(order, out, lambda done, planned: advance())  # noqa: ARG005  # a bar counts by itself
    except KeyboardInterrupt:
        if not (out / "run.json").exists():
            raise
        _report(invocation, look(out, order.answers), out, order.answers)
        if not invocation.json:
            show("Stopped. Every answer that arrived is kept; run the same command to resume.")
        return Status.INTERRUPTED
    _report(invocation, ran, out, order.answers)
    return Status.OUTAGE if ran.interrupted or ran.stopped else Status.WAITING if ran.waiting else Status.OK


@click.argument("out", type=FOLDER)
@click.option("--answers", type=FOLDER, metavar="DIR", help="Where its answers are kept, if not with the run.")
def status(invocation: Invocation, /, *, out: Path, answers: Path | None) -> None:
    """Show how far a run is, and what failed in it."""
    from readmit_bench.study_runs import status as look

    _report(invocation, look(out, answers), out, answers)


@click.argument("runs", type=FOLDER, nargs=-1, required=True, metavar="DIR...")
@click.option(
    "--to", type=FOLDER, default=Path("bench-report"), show_default=True, metavar="DIR", help="Where to write."
)
@click.option("--episodes", default=50, show_default=True, help="How many episodes get a page of their own.")
def report(invocation: Invocation, /, *, runs: tuple[Path, ...], to: Path, episodes: int) -> None:
    """Write report.md and report.html with tables (also as CSV and LaTeX), figures and episode pages."""
    from readmit.lab import emit, one_line, show
    from readmit_bench.reports.pages import write_report

    page = write_report(runs, to, episodes=episodes)
    if invocation.json:
        emit({"html": str(page), "markdown": str(page.with_suffix(".md"))})
    else:
        show(f"{one_line(str(page))} and {one_line(page.with_suffix('.md').name)}")


@click.argument("run", type=FOLDER, metavar="RUN")
@click.option(
    "--to", type=FOLDER, default=Path("docs/runs"), show_default=True, metavar="DIR", help="Folder of kept runs."
)
@click.option("--name", metavar="NAME", help="Name on the page. Default: the run's own.")
@click.option("--unseen", is_flag=True, help="The data was not in view when rules were written.")
def import_run(invocation: Invocation, /, *, run: Path, to: Path, name: str | None, unseen: bool) -> None:
    """Keep the figures of a run: of its directory, or of a file that this command wrote elsewhere.

    A kept run holds figures, notes and the digest of the run, and no text of the data.
    """
    from readmit.lab import emit, one_line, show
    from readmit_bench.kept_runs import kept_from, write_kept

    kept = kept_from(run, name=name, unseen=unseen)
    file = write_kept(kept, to)
    if invocation.json:
        emit({"file": str(file), "digest": kept.digest})
    else:
        show(f"{one_line(str(file))}: run {kept.digest}")


@click.option("--kept", type=FOLDER, default=Path("docs/runs"), show_default=True, metavar="DIR", help="Kept runs.")
@click.option(
    "--to", type=FOLDER, default=Path("docs/results.md"), show_default=True, metavar="FILE", help="Where to write."
)
def results(invocation: Invocation, /, *, kept: Path, to: Path) -> None:
    """Write the page of results from the kept runs."""
    from readmit.lab import emit, one_line, show
    from readmit_bench.kept_runs import results_page

    to.write_text(results_page(kept), encoding="utf-8")
    if invocation.json:
        emit({"page": str(to)})
    else:
        show(one_line(str(to)))


@click.option("--set", "settings", is_flag=True, help="List every setting that --set can change, with its value.")
def list_all(invocation: Invocation, /, *, settings: bool) -> None:
    """List the studies, with their data and default methods, and the methods."""
    from readmit.lab import emit, show
    from readmit_bench.catalog import catalog

    found = catalog(settings=settings)
    if invocation.json:
        emit(found)
        return
    for study in found["studies"]:
        show(f"{study['study']}: {study['says']}")
        show(f"    data: {study['data']}")
        show(f"    methods: {', '.join(study['methods']) or '–'}")
        if study["with models"]:
            show(f"    with models also: {', '.join(study['with models'])}")
    show("")
    for method in found["methods"]:
        show(f"{method['method']}: {method['rule']}{' Asks models.' if method['asks models'] else ''}")
    if settings:
        show("")
        for name, value in found["settings"].items():
            show(f"{name}={value}")


def _report(invocation: Invocation, ran: RunStatus, out: Path, answers: Path | None = None) -> None:
    from readmit.lab import emit, one_line, show
    from readmit_bench.run_status import as_json
    from readmit_bench.study_runs import failure_manifest

    failures = failure_manifest(out)
    if invocation.json:
        emit({**as_json(ran), "failures": failures})
        return
    show(f"{ran.study}: {ran.done} of {ran.planned} lines, {ran.failed} failed, {ran.ineligible} not eligible.")
    if ran.episodes:
        pace = ran.episodes / max(ran.seconds, 1e-9)
        show(f"{ran.episodes:,} episodes in {ran.seconds:.1f} s: {pace:.1f} a second.")
    if ran.settings:
        show(f"Settings changed: {one_line(', '.join(ran.settings))}.")
    if ran.answers:
        now = f"; {ran.asked:,} were asked for now" if ran.asked else ""
        where = one_line(str(answers or out))
        show(f"{ran.answers:,} model answers, {ran.tokens:,} tokens in all, are kept in {where}{now}.")
    for method, count in ran.left.items():
        show(f"  {method}: {count} to go")
    if ran.waiting:
        show(f"{ran.waiting} episodes wait for answers by file: answer the requests, then run the same command again.")
    _report_outages(ran)
    for one in failures[:FAILURES]:
        show(f"  failed: {one['method']}, {one_line(one['case'])}: {one_line(one['failure'])}")
    if len(failures) > FAILURES:
        show(f"  and {len(failures) - FAILURES} more that failed: --json has them all")


def _report_outages(ran: RunStatus) -> None:
    from readmit.lab import one_line, show

    for message, count in list(ran.outages.items())[:OUTAGES]:
        show(f"  no answer ({count}×): {one_line(message)}")
    if ran.stopped:
        show("Nothing more was asked. Fix the errors above, then run the same command again.")
    elif ran.interrupted:
        show(f"{ran.interrupted} episodes are open, because a provider gave no answer: run the same command again.")


_BY_FILE = '--actor "batch:DIR?model=NAME" --judge "batch:DIR?model=NAME"'
for _name, _function, *_examples in (
    (
        "run",
        run,
        "readmit bench run smoke --out smoke",
        "readmit bench run memora --data memora --out memora-views",
        "readmit bench run stale --data stale --out few --actor openai/NAME --judge openai/NAME --limit 5 --stratified",
        f"readmit bench run stale --data stale --out rounds {_BY_FILE}",
    ),
    ("plan", plan_command.plan, *plan_command.EXAMPLES),
    ("retrieval", memora_measures.retrieval, "readmit bench retrieval --data memora"),
    ("shares", memora_measures.shares, *memora_measures.SHARES),
    ("list", list_all, "readmit bench list"),
    ("status", status, "readmit bench status smoke"),
    ("report", report, "readmit bench report smoke memora-views --to report"),
    ("import", import_run, "readmit bench import smoke --to runs", "readmit bench import handed-in.json --unseen"),
    ("results", results, "readmit bench results --kept runs --to results.md"),
):
    bench.add_command(command(_name, store=False, examples=_examples)(_function))

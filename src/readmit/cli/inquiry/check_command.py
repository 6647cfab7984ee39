"""``readmit check``: which statements of an agent's memory files no longer hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.cli.command import Invocation, command
from readmit.cli.model_use.model_options import MODEL
from readmit.cli.status import Status
from readmit.records.error_types import CheckLimitError, PendingAnswers, ReadmitError
from readmit.text.english import counted
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.check_values import CheckReport, StatementPlace


@command(
    "check",
    store=False,
    examples=(
        "readmit check",
        "readmit check CLAUDE.md memory-bank --json",
        "readmit check facts.json --root ../project",
    ),
    ends_with=(Status.ERROR, Status.USAGE, Status.TOO_MUCH),
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option(
    "--root", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="The working tree to check against. Default: the repository that the first file is in.",
)  # fmt: skip
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=300, show_default=True, metavar="SECONDS",
    help="Most seconds for looking at the tree. A model that is asked has its own.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Also list what was not checked, with the reason.")
@click.option(
    "--verifier", metavar="MODEL", envvar="READMIT_VERIFIER",
    help="Also ask a model whether statements still hold whose files changed since they were written: "
    f"{MODEL}. [env: READMIT_VERIFIER]",
)  # fmt: skip
def check_files(
    invocation: Invocation,
    /,
    *,
    files: tuple[Path, ...],
    root: Path | None,
    everything: bool,
    verifier: str | None,
    timeout: float,
) -> Status:
    """Look for what memory files name (paths, symbols, commands, options, versions, links) in the working tree.

    FILE is Markdown, a JSON list of statements, or a folder of such files; without one, the usual places of coding
    agents are looked at: CLAUDE.md, AGENTS.md, memory-bank and others. Ends with 1 if something no longer holds, with
    2 if it could not look, and with 9 if that takes more time or memory than it may.
    """
    from readmit.check.apart import check_apart
    from readmit.check.implicit_doubts import with_changes
    from readmit.check.memory_files import USUAL

    here = root or Path()
    chosen = files or tuple(here / name for name in USUAL if (here / name).exists())
    if not chosen:
        raise click.UsageError(f"FILE: none of {', '.join(USUAL)} is here; name your memory files")
    try:
        checked = check_apart(chosen, root, seconds=timeout, changes=verifier is not None)
        report = checked.report if verifier is None else with_changes(checked.report, checked.changes, verifier)
    except (PendingAnswers, CheckLimitError):
        raise
    except ReadmitError as error:
        raise click.UsageError(str(error)) from None
    invocation.say(_json(report), *_lines(report, everything=everything))
    return Status.ERROR if report.findings else Status.OK


def _json(report: CheckReport) -> dict[str, Any]:
    return {
        "ok": not report.findings,
        "files": report.files,
        "statements": report.statements,
        "held": report.held,
        "findings": [
            {**_where(one.place), "kind": str(one.kind), "looked_for": one.looked_for, "now": one.now}
            for one in report.findings
        ],
        "unchecked": [{**_where(one.place), "name": one.name, "why": one.why} for one in report.unchecked],
    }


def _where(place: StatementPlace) -> dict[str, str | int]:
    return {"file": place.file, "line": place.line, "statement": place.statement}


def _lines(report: CheckReport, *, everything: bool) -> Iterator[str]:
    for one in report.findings:
        yield one_line(f"{one.place.file}:{one.place.line}: {one.kind} {one.looked_for}: {one.now}")
        yield f"    {one_line(one.place.statement)}"
    if everything:
        for left in report.unchecked:
            yield one_line(f"{left.place.file}:{left.place.line}: not checked: {left.name}: {left.why}")
    yield (
        f"{counted(report.statements, 'statement')} in {counted(len(report.files), 'file')}. Names that hold: "
        f"{report.held}; that no longer do: {len(report.findings)}; not checked: {len(report.unchecked)}."
    )
    if report.unchecked and not everything:
        why = Counter(one.why for one in report.unchecked).most_common()
        yield f"Not checked: {', '.join(f'{count} × {reason}' for reason, count in why)}. --all lists them."

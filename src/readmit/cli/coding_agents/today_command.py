"""``readmit today``: what the agents of this project remember, what fell and why, and what waits for a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from readmit.cli.command import command
from readmit.cli.output import plain, table
from readmit.clients.memory_import import USER
from readmit.clients.project import project_of
from readmit.records.error_types import StoreError, UnknownError
from readmit.text.english import counted
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from readmit.cli.command import Invocation
    from readmit.clients.project import Project
    from readmit.pages.project_values import FallenLine, ProjectReport, WaitingLine
    from readmit.workspace.workspace import Workspace

_MOST = 20
"""Most rows of each table, unless all are asked for."""
_ASKS = {
    "draft": "a draft",
    "settlement": "an agent says that a duty is done",
    "dispute": "two statements contradict each other",
    "limit": "beyond a limit of the policy",
}


@command(
    "today",
    store=False,
    examples=("readmit today", "readmit today --accept agent-3f2a", "readmit today --json"),
)
@click.option("--accept", multiple=True, metavar="ID", help="Confirm this draft, or settle its duty. Repeatable.")
@click.option("--refuse", multiple=True, metavar="ID", help="Withdraw this draft. Repeatable.")
@click.option("--all", "everything", is_flag=True, help="Every row, not the newest of each table.")
def show_today(
    invocation: Invocation, /, *, accept: tuple[str, ...], refuse: tuple[str, ...], everything: bool
) -> None:
    """Show what coding agents remember about this project, what fell and why, and what waits for you.

    The project is that of this folder. An id may be its beginning.
    """
    from readmit.clients.report.project_report import project_report

    project = project_of(Path.cwd())
    with open_here(project) as workspace:
        for given, decide in ((accept, _accept), (refuse, _refuse)):
            for one in given:
                decide(workspace, _waiting(project_report(workspace, project), one))
        report = project_report(workspace, project)
    invocation.say(plain(report), *_parts(report, None if everything else _MOST))


def open_here(project: Project) -> Workspace:
    """The workspace of a project in which an agent has been; it is never started here."""
    from readmit.workspace.workspace import Workspace

    if not project.store.exists():
        raise StoreError(
            f"project: no agent remembers anything about {one_line(str(project.worktree))} yet; "
            "run `readmit install`, and start a session"
        )
    return Workspace.open(project.store)


def _waiting(report: ProjectReport, given: str) -> WaitingLine:
    found = [one for one in report.waits if one.kind in {"draft", "settlement"} and one.id.startswith(given)]
    if len(found) != 1:
        why = "no draft waits under it" if not found else f"it is the beginning of {len(found)} ids"
        raise UnknownError(f"ID: {one_line(given)!r}: {why}; `readmit today` lists what waits")
    return found[0]


def _accept(workspace: Workspace, one: WaitingLine) -> None:
    if one.duty:
        workspace.as_owner().settle(one.duty, reason=one.texts[0])
    else:
        workspace.confirm(one.id, by=USER)


def _refuse(workspace: Workspace, one: WaitingLine) -> None:
    workspace.as_owner().revoke(one.id, reason="refused by its reader")


def _parts(report: ProjectReport, most: int | None) -> Iterator[RenderableType]:
    yield (
        f"{one_line(report.checkout)}: {counted(len(report.remembered), 'statement')} "
        f"{'stands' if len(report.remembered) == 1 else 'stand'}, {len(report.fell)} fell, {len(report.waits)} "
        f"{'waits' if len(report.waits) == 1 else 'wait'} for you"
    )
    if report.elsewhere:
        yield f"{counted(report.elsewhere, 'statement')} of other checkouts or packages of this repository, not listed."
    if report.waits:
        rows = [(one.id, _ASKS[one.kind], one.by, " / ".join(one.texts)) for one in report.waits]
        yield from ("", "Waits for you", table(("id", "what", "by", "text"), rows, prose="text"))
        yield "`readmit today --accept ID` lets a draft count, `--refuse ID` withdraws it."
        yield from _by_hand(report)
    if report.fell:
        fell = report.fell[:most]
        yield from ("", "No longer holds")
        for one in fell:
            yield from _fell_lines(one)
        yield from _more(len(report.fell) - len(fell))
    if report.remembered:
        kept = report.remembered[-most:] if most else report.remembered
        texts = [(one.where or one.by, one.text) for one in kept]
        yield from ("", "Remembered", table(("from", "text"), texts, prose="text"))
        yield from _more(len(report.remembered) - len(kept))
    if report.sessions:
        seen = [
            (one.name, f"{one.at:%Y-%m-%d %H:%M}", "left" if one.left else "here", str(one.handed), str(one.withdrawn))
            for one in report.sessions[:most]
        ]
        yield from ("", "Sessions", table(("session", "last", "", "handed over", "withdrawn"), seen))


def _fell_lines(one: FallenLine) -> Iterator[str]:
    yield f"  {one_line(one.where or one.by)}"
    yield f"    was  {one_line(one.text)}"
    if one.instead:
        yield f"    now  {one_line(one.instead)}"
    yield f"    why  {one_line(one.why)}"


def _by_hand(report: ProjectReport) -> Iterator[str]:
    """Commands for disputes and limits, which --accept does not decide."""
    kinds = {one.kind for one in report.waits}
    store = one_line(report.store)
    if "dispute" in kinds:
        yield f'A dispute: `readmit resolve ID --keep ITEM --by "…" --db {store}`.'
    if "limit" in kinds:
        yield f"Beyond a limit: `readmit admin approve ID --db {store}`, or `decline`."


def _more(left: int) -> Iterator[str]:
    if left > 0:
        yield f"{left} more: `readmit today --all`."

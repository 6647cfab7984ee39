"""``why``, ``doctor``: the problems of a return or of a workspace, and the commands that fix them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from readmit.cli import options
from readmit.cli.command import DEFAULT_DB, Invocation, command
from readmit.cli.decision_words import symptom_lines
from readmit.cli.output import emit, plain, show
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.clients.project import project_of
from readmit.clients.report.hook_faults import HookFaults, hook_faults
from readmit.diagnosis.history import newest_return
from readmit.text.escapes import one_line
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from readmit.clients.project import Project


@command("why", examples=("readmit why", "readmit why RETURN", "readmit why RETURN --json"))
@click.argument("return_id", type=Reference("return"), metavar="RETURN", required=False)
def why_return(invocation: Invocation, /, *, return_id: str | None) -> None:
    """Why a return was blocked, partial or empty, and the commands that would fix it. Default: the newest return.

    Shows what is missing, who last supplied it and why that is out, then near misses: an item under another spelling or
    for another task, one without a source, a dependency that no duty requires, an observation without an item. It
    mentions items that were left out, so it is for operators and never for the returning agent.

    In a command, "…" stands for what only the team knows.
    """
    from rich.text import Text

    with invocation.open() as workspace:
        found = workspace.returned(return_id or newest_return(desk_of(workspace).log)).why()
    invocation.say(found, Text(found.says, style="bold"), *symptom_lines(found, invocation.store_options))


@command(
    "doctor",
    examples=("readmit doctor", "readmit doctor --principal A1 --role planner --task trip"),
    ends_with=(Status.UNWELL,),
)
@options.agent_options(required=False)
def check_workspace(invocation: Invocation, /, **who: str | None) -> Status:
    """Check a workspace: its keys, its policy, and what each agent would lack if it returned now.

    Checks every agent that ever departed, or the named one, which need not have departed. Writes nothing. Ends with 8
    if something is wrong; findings that are only worth knowing do not count. Without --db, in a project in which a
    coding agent works: that project's workspace, and the failures of its hooks.
    """
    from rich.text import Text

    given = {name: value for name, value in who.items() if value is not None}
    absent = [f"--{name}" for name in who if name not in given]
    if absent and any(map(options.is_typed, who)):
        raise click.UsageError(
            f"{', '.join(absent)}: name the agent with all three of --principal, --role, --task, or with none"
        )
    project = _project_here(invocation)
    hooks = HookFaults()
    if project is not None:
        invocation, hooks = invocation._replace(db=str(project.store)), hook_faults(project)
    with invocation.open() as workspace:
        found = workspace.doctor(None if absent else workspace.agent(**given))
    healthy = found.healthy and not hooks.is_failed
    if invocation.json:
        emit({"healthy": healthy, **plain(found), **({"hooks": hooks._asdict()} if project is not None else {})})
    else:
        for part in (found.workspace, *found.agents):
            show(Text(part.says, style="bold"), *symptom_lines(part, invocation.store_options), "")
        if hooks.lines:
            show(Text(f"Hooks that checked nothing: {hooks.total}", style="bold"), *map(one_line, hooks.lines), "")
        show("No problems found." if healthy else "Run a command above, then `readmit doctor` again.")
    return Status.OK if healthy else Status.UNWELL


def _project_here(invocation: Invocation) -> Project | None:
    """The coding agent's project of this folder, if no store is named."""
    if options.is_typed("db") or invocation.db != DEFAULT_DB or Path(DEFAULT_DB).exists():
        return None
    project = project_of(Path.cwd())
    return project if project.store.exists() else None

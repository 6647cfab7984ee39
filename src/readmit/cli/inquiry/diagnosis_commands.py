"""``why``, ``doctor``: the problems of a return or of a workspace, and the commands that fix them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from readmit.cli import options
from readmit.cli.command import DEFAULT_DB, command
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.workspace.workspace import DEFAULT_NAME, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from readmit.cli.command import Invocation
    from readmit.diagnosis.symptoms import Diagnosis


@command("why", examples=("readmit why", "readmit why RETURN", "readmit why RETURN --json"))
@click.argument("return_id", type=Reference("return"), metavar="RETURN", required=False)
def why_return(invocation: Invocation, /, *, return_id: str | None) -> None:
    """Why a return was blocked, partial or empty, and the commands that would fix it. Default: the newest return.

    Shows what is missing, who last supplied it and why that is out, then near misses: an item under another spelling or
    for another task, one without a source, a dependency that no duty requires, an observation without an item. It
    mentions items that were left out, so it is for operators and never for the returning agent.

    In a command, "…" stands for what only the team knows.
    """
    from readmit.cli.output import emit, show
    from readmit.diagnosis.history import newest_return

    with invocation.open() as workspace:
        found = workspace.returned(return_id or newest_return(desk_of(workspace).log)).why()
    if invocation.json:
        emit(found)
    else:
        show(*_lines(invocation, found))


@command(
    "doctor",
    examples=("readmit doctor", "readmit doctor --principal A1 --role planner --task trip"),
    ends_with=(Status.UNWELL,),
)
@click.option("--principal", envvar="READMIT_PRINCIPAL", metavar="NAME", help="The agent. [env: READMIT_PRINCIPAL]")
@click.option("--role", envvar="READMIT_ROLE", metavar="NAME", help="Role the agent acts in. [env: READMIT_ROLE]")
@click.option("--task", envvar="READMIT_TASK", metavar="NAME", help="Task the agent works on. [env: READMIT_TASK]")
def check_workspace(invocation: Invocation, /, *, principal: str | None, role: str | None, task: str | None) -> Status:
    """Check a workspace: its keys, its policy, and what each agent would lack if it returned now.

    Checks every agent that ever departed, or the named one, which need not have departed. Writes nothing. Ends with 8
    if something is wrong; findings that are only worth knowing do not count.
    """
    from readmit.cli.output import emit, plain, show

    given = {"--principal": principal, "--role": role, "--task": task}
    absent = [option for option, value in given.items() if value is None]
    if absent and any(map(options.is_typed, ("principal", "role", "task"))):
        raise click.UsageError(
            f"{', '.join(absent)}: name the agent with all three of {', '.join(given)}, or with none"
        )
    with invocation.open() as workspace:
        agent = None
        if principal is not None and role is not None and task is not None:
            agent = workspace.agent(principal, role=role, task=task)
        found = workspace.doctor(agent)
    if invocation.json:
        emit({"healthy": found.healthy, **plain(found)})
    else:
        for part in (found.workspace, *found.agents):
            show(*_lines(invocation, part), "")
        show("No problems found." if found.healthy else "Run a command above, then `readmit doctor` again.")
    return Status.OK if found.healthy else Status.UNWELL


def _lines(invocation: Invocation, found: Diagnosis) -> Iterator[Text]:
    from rich.text import Text

    from readmit.cli.output import shown
    from readmit.diagnosis.checkup import NOTES

    yield Text(found.says, style="bold")
    for number, one in enumerate(found.symptoms, 1):
        yield Text("")
        yield Text.assemble((f"{number}. ", "dim"), (one.says, "yellow" if one.trouble in NOTES else "bold red"))
        for ground in one.grounds:
            yield Text(f"   {ground}")
        for remedy in one.remedies:
            yield Text(f"   {shown(remedy.command)}{_store(invocation)}", style="cyan")
    for limit in found.not_looked_at:
        yield Text(f"Not looked at: {limit}.", style="dim")


def _store(invocation: Invocation) -> str:
    """The options that make a command use the same store, if the defaults do not."""
    options = {"--db": (invocation.store, DEFAULT_DB), "--workspace": (invocation.workspace, DEFAULT_NAME)}
    return "".join(f" {name} {shlex.quote(value)}" for name, (value, usual) in options.items() if value != usual)

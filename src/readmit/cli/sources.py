"""``observe-file``, ``observe-git``, ``observe-http``, ``observe-command`` and ``look``: evidence to look at again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from readmit.cli import options
from readmit.cli.command import command
from readmit.sources.places import Command, File, Git, Http

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.cli.command import Invocation
    from readmit.sources.places import Place
    from readmit.workspace.workspace import Workspace

WHO = "--principal A1 --role planner --task trip"


def add_to(group: click.Group) -> None:
    """Add the commands."""
    file = "readmit observe-file docs/limits.md --lines 10-20 --by A2"
    command(group, "observe-file", examples=(file, "readmit observe-file app.py --symbol Client.send --by A2"))(
        observe_file
    )
    command(group, "observe-git", examples=("readmit observe-git docs/limits.md --ref main --by A2",))(observe_git)
    page = 'readmit observe-http https://example.org/limits --quote "100 requests a minute" --by A2'
    command(group, "observe-http", examples=(page,))(observe_http)
    command(group, "observe-command", examples=("readmit observe-command --by A2 -- python3 --version",))(
        observe_command
    )
    command(group, "look", examples=(f"readmit look {WHO}",))(look)


def _captured(function: Callable[..., Any]) -> Callable[..., Any]:
    for add in reversed(
        (
            click.option(
                "--lifetime", type=click.IntRange(0), default=0, metavar="SECONDS",
                help="How long a look stays fresh. Default: files and git are looked at before every return, others "
                "as the policy says.",
            ),
            options.author(),
            click.option("--id", "id", metavar="ID", help="Makes the write idempotent."),
            options.scope,
        )
    ):  # fmt: skip
        function = add(function)
    return function


def _part(function: Callable[..., Any]) -> Callable[..., Any]:
    for add in reversed(
        (
            click.option("--lines", default="", metavar="FIRST-LAST", help="Only these lines, counted from 1."),
            click.option("--symbol", default="", metavar="NAME", help="Only this Python function or class."),
        )
    ):
        function = add(function)
    return function


@click.argument("path")
@_part
@_captured
def observe_file(invocation: Invocation, /, *, path: str, **fields: Any) -> None:
    """Keep the text of a file as evidence, with the way to look at it again, and print its digest.

    A path is relative to the first of the policy's roots (looks.roots), which is by default the folder of the store.
    """
    _keep(invocation, lambda workspace: _observed(workspace, File(path, **_of(File, fields)), fields))


@click.argument("path")
@click.option("--repository", default=".", show_default=True, metavar="FOLDER", help="The repository.")
@click.option("--ref", default="HEAD", show_default=True, metavar="REF", help="Branch, tag or commit to follow.")
@_part
@_captured
def observe_git(invocation: Invocation, /, *, path: str, **fields: Any) -> None:
    """Keep a file of a git repository as evidence, with the way to look at it again, and print its digest."""
    _keep(invocation, lambda workspace: _observed(workspace, Git(path, **_of(Git, fields)), fields))


@click.argument("url")
@click.option("--quote", default="", metavar="TEXT", help="Only these words of the page.")
@click.option("--pointer", default="", metavar="POINTER", help="Only this value of a JSON document, as in /version.")
@_captured
def observe_http(invocation: Invocation, /, *, url: str, **fields: Any) -> None:
    """Keep a page as evidence, with the way to look at it again, and print its digest.

    The policy must allow the host (looks.hosts).
    """
    _keep(invocation, lambda workspace: _observed(workspace, Http(url, **_of(Http, fields)), fields))


@click.argument("argv", nargs=-1, required=True, metavar="COMMAND...")
@_captured
def observe_command(invocation: Invocation, /, *, argv: tuple[str, ...], **fields: Any) -> None:
    """Keep what a command prints as evidence, with the way to look at it again, and print its digest.

    The policy must allow the command (looks.commands).
    """
    _keep(invocation, lambda workspace: _observed(workspace, Command(argv, **_of(Command, fields)), fields))


@options.identity
@click.option("--purpose", metavar="NAME", help="What the agent comes back for.")
def look(invocation: Invocation, /, *, principal: str, role: str, task: str, purpose: str | None) -> None:
    """Look at the sources behind the return of an agent that is away, and write down what was found.

    A return does this by itself. Doing it before, from a scheduled job, say, tells what changed earlier.
    """
    from msgspec import to_builtins

    from readmit.cli.output import emit, show, shown
    from readmit.records.acts.looks import Looked

    with invocation.open() as workspace:
        agent = workspace.agent(principal, role=role, task=task)
        found = agent.look(purpose=purpose) or Looked()
    if invocation.json:
        emit({"unchanged": list(found.unchanged), "found": [to_builtins(one) for one in found.found]})
        return
    if not found.evidence:
        show("Nothing to write down: no source is due, or each is as the last look found it")
        return
    show(f"Written down: {len(found.evidence)}, of which unchanged: {len(found.unchanged)}")
    for one in found.found:
        show(f"  {one.evidence[:12]} {one.finding}" + (f": {shown(one.why)}" if one.why else ""))


def _keep(invocation: Invocation, observe: Callable[[Any], str]) -> None:
    from readmit.cli.output import emit, show

    with invocation.open() as workspace:
        digest, epoch = observe(workspace), workspace.epoch
    if invocation.json:
        emit({"evidence": digest, "epoch": epoch})
    else:
        show(digest)


def _of(place: type, fields: dict[str, Any]) -> dict[str, Any]:
    """The options that say where the source is, taken out of those of the observation."""
    return {name: fields.pop(name) for name in place.__dataclass_fields__ if name in fields}  # type: ignore[attr-defined]


def _observed(workspace: Workspace, place: Place, fields: dict[str, Any]) -> str:
    return workspace.observe(probe=place, **fields)

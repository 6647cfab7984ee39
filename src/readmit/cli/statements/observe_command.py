"""``observe``: a text as evidence, or a source that can be looked at again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from readmit.cli import options
from readmit.cli.command import command
from readmit.cli.options import grouped
from readmit.cli.statements.source_texts import read_text

if TYPE_CHECKING:
    from readmit.cli.command import Invocation
    from readmit.workspace.workspace import Workspace

_PARTS = {
    "file": ("lines", "symbol"),
    "git": ("repository", "ref", "lines", "symbol"),
    "http": ("quote", "pointer"),
    "command": (),
}
"""The sources, and the options that say which part of one is evidence."""
_OF_A_TEXT = ("source", "at")
_probe = grouped("Sources that are looked at again, instead of TEXT")


@command(
    "observe",
    examples=(
        'readmit observe "Sunrise confirms two nights." --by A2',
        "readmit observe --file docs/limits.md --lines 10-20 --by A2",
        "readmit observe --git app.py --ref main --symbol Client.send --by A2",
        'readmit observe --http https://example.org/limits --quote "100 requests a minute" --by A2',
        'readmit observe --command "python3 --version" --by A2',
    ),
)
@click.argument("text", metavar="[TEXT|@FILE]", required=False)
@options.author()
@click.option("--id", "id", metavar="ID", help="Makes the write idempotent.")
@click.option(
    "--kind",
    "source",
    type=click.Choice(("message", "tool_result", "document")),
    default="message",
    show_default=True,
    help="What was observed.",
)
@options.scope
@click.option("--at", type=options.MOMENT, metavar="TIME", help="When it was true. Default: now.")
@_probe("--file", metavar="PATH", help="A file, below the first of the policy's roots (looks.roots).")
@_probe("--git", metavar="PATH", help="A file of a git repository.")
@_probe("--http", metavar="URL", help="A page. The policy must allow its host (looks.hosts).")
@_probe(
    "--command", metavar="LINE",
    help="What a command prints, split as a shell would and run without one. The policy must allow it "
    "(looks.commands).",
)  # fmt: skip
@_probe("--lines", metavar="FIRST-LAST", help="Of --file and --git: only these lines, counted from 1.")
@_probe("--symbol", metavar="NAME", help="Of --file and --git: only this Python function or class.")
@_probe("--repository", metavar="FOLDER", help="Of --git: the repository. Default: the current folder.")
@_probe("--ref", metavar="REF", help="Of --git: branch, tag or commit to follow. Default: HEAD.")
@_probe("--quote", metavar="TEXT", help="Of --http: only these words of the page.")
@_probe("--pointer", metavar="POINTER", help="Of --http: only this value of a JSON document, as in /version.")
@_probe(
    "--lifetime", type=click.IntRange(0), metavar="SECONDS",
    help="How long a look stays fresh. Default: files and git are looked at before every return, others as the policy "
    "says.",
)  # fmt: skip
def observe(invocation: Invocation, /, *, text: str | None, **given: Any) -> None:
    """Keep a raw observation as evidence and print its digest, to be named as a source.

    A text is kept as it is. Of a file, a page or the output of a command, the way to look at it again is kept with it:
    a return looks whether the source still says the same.
    """
    from readmit.cli.output import emit, show

    shared = {name: given.pop(name) for name in ("by", "id", "task", "roles", "principals")}
    kind = _chosen(text, given)
    with invocation.open() as workspace:
        if text is not None:
            digest = workspace.observe(read_text(text), source=given["source"], at=given["at"], **shared)
        else:
            part = {name: given[name] for name in (*_PARTS[kind], "lifetime") if given[name] is not None}
            digest = _looked_at(workspace, kind, given[kind], part | shared)
        epoch = workspace.epoch
    if invocation.json:
        emit({"evidence": digest, "epoch": epoch})
    else:
        show(digest)


def _chosen(text: str | None, given: dict[str, Any]) -> str:
    """The one thing to observe. Options that do not go with it are refused."""
    kinds = [kind for kind in _PARTS if given[kind] is not None]
    if len(kinds) + (text is not None) != 1:
        raise click.UsageError(f"give either TEXT or one of {', '.join(f'--{kind}' for kind in _PARTS)}")
    goes = (*_OF_A_TEXT,) if text is not None else (*kinds, *_PARTS[kinds[0]], "lifetime")
    for name in given:
        if name not in goes and options.is_typed(name):
            raise click.UsageError(
                f"{'--kind' if name == 'source' else f'--{name}'} does not go with "
                f"{'TEXT' if text is not None else f'--{kinds[0]}'}; `readmit observe --help` says with what it does"
            )
    if kinds == ["command"]:
        try:
            shlex.split(given["command"])
        except ValueError as error:
            raise click.UsageError(f"--command: {error}; close the quotation") from None
    return kinds[0] if kinds else ""


def _looked_at(workspace: Workspace, kind: str, place: str, fields: dict[str, Any]) -> str:
    match kind:
        case "file":
            return workspace.observe_file(place, **fields)
        case "git":
            return workspace.observe_git(place, **fields)
        case "http":
            return workspace.observe_http(place, **fields)
    return workspace.observe_command(shlex.split(place), **fields)

"""``observe``: a text as evidence, or a source that can be looked at again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from readmit.cli import options
from readmit.cli.command import Invocation, command
from readmit.cli.options import grouped
from readmit.cli.statements.source_texts import read_text
from readmit.sources import Command, File, Git, Http

if TYPE_CHECKING:
    from readmit.sources.places import Place

_PROBES = ("file", "git", "http", "command")
_PARTS = {
    "lines": ("file", "git"),
    "symbol": ("file", "git"),
    "repository": ("git",),
    "ref": ("git",),
    "quote": ("http",),
    "pointer": ("http",),
}
"""Options that say which part of a source is evidence, and of which sources."""
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
    help="What was observed. Default: a message, or of a source, a document.",
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
    parts = {name: given.pop(name) for name in (*_PROBES, *_PARTS, "lifetime")}
    probe = _probe_of(text, {name: value for name, value in parts.items() if value is not None})
    with invocation.open() as workspace:
        digest = workspace.observe(None if text is None else read_text(text), probe=probe, **given)
        epoch = workspace.epoch
    invocation.say({"evidence": digest, "epoch": epoch}, digest)


def _probe_of(text: str | None, given: dict[str, Any]) -> Place | None:
    """The one source to observe, if it is no text. Options that do not go with it are refused."""
    kinds = [kind for kind in _PROBES if kind in given]
    if len(kinds) + (text is not None) != 1:
        raise click.UsageError(f"give either TEXT or one of {', '.join(f'--{kind}' for kind in _PROBES)}")
    kind = kinds[0] if kinds else ""
    if wrong := [name for name in given if name not in {*_PROBES, "lifetime"} and kind not in _PARTS[name]]:
        with_what = " and ".join(f"--{one}" for one in _PARTS[wrong[0]])
        raise click.UsageError(f"--{wrong[0]} goes with {with_what}")
    if text is not None:
        if given:
            raise click.UsageError("--lifetime is for a source that is looked at again; leave it out")
        return None
    place = given.pop(kind)
    match kind:
        case "file":
            return File(place, **given)
        case "git":
            return Git(place, **given)
        case "http":
            return Http(place, **given)
    try:
        return Command(shlex.split(place), **given)
    except ValueError as error:
        raise click.UsageError(f"--command: {error}; close the quotation") from None

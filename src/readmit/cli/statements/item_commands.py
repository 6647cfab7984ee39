"""``record``, ``oblige``, ``progress``, ``remember``: statements, duties, and an agent's private experiences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from readmit.cli import error_lines, options
from readmit.cli.command import Invocation, command
from readmit.cli.output import emit, progress, show
from readmit.cli.references import Reference
from readmit.cli.statements.source_texts import observe_sources
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from readmit.writing.passed_plans import Notice


@command(
    "record",
    examples=(
        'readmit record "Sunrise is booked" --source "Sunrise confirms." --by A2 --id h0 --supports d_h',
        'readmit record "Riverside is booked" --source @mail.txt --by A2 --id h1 --supersedes h0',
        'readmit record "Riverside is booked" --source @mail.txt --by A2 --id h1 --slot hotel --expects h0',
        "readmit record --file steps.json",
    ),
)
@click.argument("text", required=False)
@click.option(
    "--file", type=click.File("rb"), metavar="FILE", help="Write many steps at once: a JSON array, - for stdin."
)
@click.option(
    "--kind",
    type=click.Choice(("fact", "role_constraint", "interface_constraint")),
    default="fact",
    show_default=True,
    help="Kind of item.",
)
@options.author("Who records this. Required unless --file is given, whose steps say it.", needed=False)
@click.option("--supports", multiple=True, metavar="ID", help="Dependency it is evidence for. Repeatable.")
@click.option("--supersedes", type=Reference("item"), metavar="ITEM", help="Item it replaces.")
@click.option("--expects", type=Reference("item"), metavar="ITEM", help="Refuse unless this item stands in the slot.")
@click.option("--expects-nothing", is_flag=True, help="Refuse unless nothing stands in the slot.")
@click.option("--inherits", is_flag=True, help="With --supersedes: it also supports what that item did.")
@options.item_fields
def record(invocation: Invocation, /, *, text: str | None, file: BinaryIO | None, **fields: Any) -> None:
    """Record a fact or a constraint, or with --file many steps, in one commit.

    A file holds a JSON array of the steps that scenarios have (`readmit play --schema`), except those that
    return, expose or set the clock.
    """
    if (text is None) == (file is None):
        raise click.UsageError("give either TEXT or --file")
    if file is not None:
        if unused := [name for name in fields if options.is_typed(name)]:
            raise click.UsageError(f"--{unused[0].replace('_', '-')}: the steps in --file say it; leave it out")
        _write_file(invocation, file)
        return
    if fields["by"] is None:
        raise click.UsageError("--by: say who records this")
    _write_item(invocation, lambda workspace: workspace.record, {"text": text, **fields}, "Recorded", warn=True)


@command(
    "oblige",
    examples=('readmit oblige "Write the plan" --requires d_h --critical d_h --by A2 --task trip --id o_plan',),
)
@click.argument("text")
@options.author()
@click.option("--requires", "required", multiple=True, required=True, metavar="ID", help="What it needs. Repeatable.")
@click.option("--critical", multiple=True, metavar="ID", help="What it needs and cannot do without. Repeatable.")
@click.option("--list", "lists", multiple=True, metavar="ID", help="What it needs as many of as fit. Repeatable.")
@options.item_fields
def oblige(invocation: Invocation, /, **fields: Any) -> None:
    """Open an obligation: a duty of a role, and the dependencies it needs."""
    _write_item(invocation, lambda workspace: workspace.oblige, fields, "Opened")


@command(
    "progress",
    examples=('readmit progress "The hotel is still open" --obligation o_plan --by A2 --source @mail.txt',),
)
@click.argument("text")
@options.author()
@click.option(
    "--obligation",
    type=Reference("item"),
    required=True,
    metavar="ITEM",
    help="Obligation whose open work it describes.",
)
@options.item_fields
def move_frontier(invocation: Invocation, /, **fields: Any) -> None:
    """Move an obligation's frontier: the work that is still open."""
    _write_item(invocation, lambda workspace: workspace.progress, fields, "Recorded", warn=True)


@command("remember", examples=(f'readmit remember "They like quiet rooms" --bound-to h0 {options.WHO}',))
@click.argument("text")
@options.identity
@options.signer
@click.option("--bound-to", type=Reference("item"), required=True, metavar="ITEM", help="Item that it came from.")
@click.option("--id", "name", metavar="ID", help="Makes the write idempotent.")
def remember(invocation: Invocation, /, *, text: str, bound_to: str, name: str | None, **who: str) -> None:
    """Store a private experience of an agent, usable only while its source item is.

    The agent must be at work: after it departed, its private bank is closed until it has returned.
    """
    with invocation.open() as workspace:
        made = workspace.agent(**who).remember(text, bound_to=bound_to, id=name)
        epoch = workspace.epoch
    invocation.say(
        {"id": made, "bound_to": bound_to, "epoch": epoch}, f"Remembered {made}, bound to {bound_to}, at epoch {epoch}"
    )


def _write_item(
    invocation: Invocation,
    verb: Callable[[Workspace], Callable[..., str]],
    fields: dict[str, Any],
    done: str,
    *,
    warn: bool = False,
) -> None:
    """Write an item and the observations it rests on, all or nothing."""
    sources = fields.pop("sources")
    with invocation.open() as workspace, desk_of(workspace).writer.act():
        evidence = observe_sources(workspace, sources, fields)
        name = verb(workspace)(sources=evidence, **fields)
        epoch, notices = workspace.epoch, _notices(workspace, fields["by"], [name])
    unproven = " without a source: it proves nothing" if warn and not sources else ""
    said = {"id": name, "epoch": epoch, "evidence": evidence}
    _say(invocation, said, f"{done} {name} at epoch {epoch}{unproven}", notices)


def _notices(workspace: Workspace, by: str, written: Collection[str]) -> tuple[Notice, ...]:
    """The plans that somebody has just passed over with items of these ids."""
    return tuple(one for one in workspace.admin.notices(by=by) if one.news in written and one.written_by == by)


def _say(invocation: Invocation, done: dict[str, Any], words: str, notices: Sequence[Notice]) -> None:
    """Print the written ids, and notices to the writer of plans that it passed over."""
    if invocation.json:
        emit(done | ({"notices": [str(one) for one in notices]} if notices else {}))
        return
    show(words)
    for notice in notices:
        show(one_line(str(notice)))
        for remedy in notice.remedies:
            show(f"  {remedy.command}")


def _write_file(invocation: Invocation, file: BinaryIO) -> None:
    from readmit.scenario.document import read_steps
    from readmit.scenario.play import write_steps

    steps = read_steps(file.read(), file=error_lines.name_of(file))
    with invocation.open() as workspace, progress("Writing", len(steps)) as watch:
        ids = write_steps(workspace, steps, watch=watch)
        epoch = workspace.epoch
        writers = sorted({by for step in steps if (by := getattr(step, "by", None))})
        notices = [one for by in writers for one in _notices(workspace, by, ids)]
    done = {"ids": ids, "epoch": epoch}
    _say(invocation, done, f"Wrote {counted(len(ids), 'step')}; the log is at epoch {epoch}", notices)

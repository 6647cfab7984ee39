"""``init``, ``observe``, ``record``, ``oblige``, ``progress``, ``remember``, ``overrule``; and what is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from readmit.cli import errors, options
from readmit.cli.command import command
from readmit.cli.declared import command_of
from readmit.cli.references import Reference
from readmit.cli.steps import notices_of, step_of, text_of, write_item, write_steps
from readmit.records.acts.kinds import KINDS
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.cli.command import Invocation
    from readmit.writing.passed_plans import Notice

WHO = "--principal A1 --role planner --task trip"


def add_to(group: click.Group) -> None:
    """Add the commands."""
    command(group, "init", examples=("readmit init", "readmit init --db team.db --policy policy.json"))(init)
    command(group, "observe", examples=('readmit observe "Sunrise confirms two nights." --by A2',))(observe)
    recording = (
        'readmit record "Sunrise is booked" --source "Sunrise confirms." --by A2 --id h0 --supports d_h',
        'readmit record "Riverside is booked" --source @mail.txt --by A2 --id h1 --supersedes h0',
        'readmit record "Riverside is booked" --source @mail.txt --by A2 --id h1 --slot hotel --expects h0',
        "readmit record --file steps.json",
    )
    command(group, "record", examples=recording)(record)
    obliging = 'readmit oblige "Write the plan" --requires d_h --critical d_h --by A2 --task trip --id o_plan'
    command(group, "oblige", examples=(obliging,))(oblige)
    moving = 'readmit progress "The hotel is still open" --obligation o_plan --by A2 --source @mail.txt'
    command(group, "progress", examples=(moving,))(progress)
    remembering = f'readmit remember "They like quiet rooms" --bound-to h0 {WHO}'
    command(group, "remember", examples=(remembering,))(remember)
    for kind in KINDS.values():
        if kind.wording is not None:
            group.add_command(command_of(kind, kind.wording))
    restoring = 'readmit overrule h0 --grant restore --by lead --reason "the cancellation was a mistake" --for 2h'
    command(group, "overrule", examples=(restoring,))(overrule)


@click.option("--policy", type=click.File("rb"), metavar="FILE", help="Policy to put in force, as JSON.")
@options.signer
def init(invocation: Invocation, /, *, policy: BinaryIO | None) -> None:
    """Start a workspace, or put a policy in force in an existing one.

    Creates the database file, or the tables on the server, if needed, and the workspace's first signing key.
    """
    from readmit.cli.output import emit, show, shown
    from readmit.log.location import names
    from readmit.records.base import nfc
    from readmit.records.canonical import decode_file
    from readmit.records.policy import Policy, differences
    from readmit.workspace.workspace import Workspace
    from readmit.writing.spelling import normal

    chosen = None if policy is None else decode_file(policy.read(), Policy, what=errors.name_of(policy))
    created = not {invocation.workspace, nfc(invocation.workspace)}.intersection(names(invocation.db))
    with Workspace.open(invocation.db, name=invocation.workspace) as workspace:
        changed = [] if chosen is None else list(differences(workspace.admin.policy, normal(chosen)))
        if chosen is not None and changed:
            workspace.as_owner(signer=invocation.signer).admin.govern(chosen)
        key = desk_of(workspace).keys.signer().keyid
        if invocation.json:
            emit(
                {"db": invocation.store, "workspace": workspace.name, "created": created, "epoch": workspace.epoch,
                 "policy_changed": changed}
            )  # fmt: skip
            return
        verb = "Started" if created else "Found"
        show(
            f"{verb} workspace {shown(workspace.name)} in {invocation.store}, epoch {workspace.epoch}, key {key[:12]}…"
        )
        if changed:
            show(f"The policy that governs everybody changed: {shown(', '.join(changed))}")


@click.argument("text", metavar="TEXT|@FILE")
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
@click.option("--at", metavar="TIME", help="When it was true. Default: now.")
def observe(invocation: Invocation, /, *, text: str, **fields: Any) -> None:
    """Keep a raw observation as evidence and print its digest, to be named as a source."""
    from readmit.cli.output import emit, show

    step = step_of({"do": "observe", "text": text_of(text), **fields})
    (digest,), epoch = write_steps(invocation, [(step, "observe")])
    if invocation.json:
        emit({"evidence": digest, "epoch": epoch})
    else:
        show(digest)


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
@click.option("--inherits", is_flag=True, help="It also supports what the item before it, or in its slot, did.")
@options.item
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
    _write_item(invocation, {"do": "record", "text": text, **fields}, "Recorded", warn=True)


@click.argument("text")
@options.author()
@click.option("--requires", "required", multiple=True, required=True, metavar="ID", help="What it needs. Repeatable.")
@click.option("--critical", multiple=True, metavar="ID", help="What it needs and cannot do without. Repeatable.")
@options.item
def oblige(invocation: Invocation, /, *, text: str, **fields: Any) -> None:
    """Open an obligation: what a role owes, and which dependencies it needs for that."""
    _write_item(invocation, {"do": "oblige", "text": text, **fields}, "Opened")


@click.argument("text")
@options.author()
@click.option(
    "--obligation",
    type=Reference("item"),
    required=True,
    metavar="ITEM",
    help="Obligation whose open work it describes.",
)
@options.item
def progress(invocation: Invocation, /, *, text: str, **fields: Any) -> None:
    """Move an obligation's frontier: what is still open about it now."""
    _write_item(invocation, {"do": "progress", "text": text, **fields}, "Recorded", warn=True)


@click.argument("text")
@options.identity
@options.signer
@click.option("--bound-to", type=Reference("item"), required=True, metavar="ITEM", help="Item that it came from.")
@click.option("--id", "id", metavar="ID", help="Makes the write idempotent.")
def remember(invocation: Invocation, /, *, text: str, **fields: Any) -> None:
    """Store a private experience of an agent, usable only while its source item is.

    The agent must be at work: after it departed, its private bank is closed until it has returned.
    """
    from readmit.cli.output import emit, show

    (name,), epoch = write_steps(invocation, [(step_of({"do": "remember", "text": text, **fields}), "remember")])
    if invocation.json:
        emit({"id": name, "bound_to": fields["bound_to"], "epoch": epoch})
    else:
        show(f"Remembered {name}, bound to {fields['bound_to']}, at epoch {epoch}")


@click.argument("target", type=Reference("item"), metavar="ITEM")
@click.option(
    "--grant",
    type=click.Choice(("restore", "rejustify", "settle")),
    required=True,
    help="restore: undo what took it out. rejustify: let it stand without its premise. settle: end its disputes.",
)
@click.option("--by", required=True, metavar="NAME", help="Overseer named in the policy.")
@options.signer
@click.option("--reason", required=True, metavar="TEXT", help="Why; the audit shows it.")
@click.option("--for", "lasting", metavar="DURATION", help="How long it holds, as in 2h or 1d12h.")
@click.option("--expires", metavar="TIME", help="Until when it holds, instead of --for.")
@click.option("--id", "id", metavar="ID", help="Makes the write idempotent.")
def overrule(invocation: Invocation, /, *, target: str, **fields: Any) -> None:
    """Set automated rejections of an item aside, for a while and for a reason.

    Only overseers named in the policy may, and never for their own return.
    """
    from readmit.cli.output import emit, show

    if (fields["lasting"] is None) == (fields["expires"] is None):
        raise click.UsageError("give either --for or --expires")
    _, epoch = write_steps(invocation, [(step_of({"do": "overrule", "target": target, **fields}), "overrule")])
    if invocation.json:
        emit({"item": target, "epoch": epoch})
    else:
        show(f"Rejections of {target} up to epoch {epoch} are set aside")


def _write_item(invocation: Invocation, fields: dict[str, Any], verb: str, *, warn: bool = False) -> None:
    sources = fields.pop("sources")
    name, evidence, epoch, notices = write_item(invocation, fields, sources=sources)
    unproven = " without a source: it proves nothing" if warn and not sources else ""
    done = {"id": name, "epoch": epoch, "evidence": evidence}
    _say(invocation, done, f"{verb} {name} at epoch {epoch}{unproven}", notices)


def _say(invocation: Invocation, done: dict[str, Any], words: str, notices: Sequence[Notice]) -> None:
    """What was written, and what its writer should know of the plans that it passed over."""
    from readmit.cli.output import emit, show, shown

    if invocation.json:
        emit(done | ({"notices": [str(one) for one in notices]} if notices else {}))
        return
    show(words)
    for notice in notices:
        show(shown(str(notice)))
        for remedy in notice.remedies:
            show(f"  {remedy.command}")


def _write_file(invocation: Invocation, file: BinaryIO) -> None:
    from readmit.cli.output import progress as bar
    from readmit.scenario.document import read_steps
    from readmit.scenario.play import write
    from readmit.text.english import counted

    steps = read_steps(file.read(), file=errors.name_of(file))
    with invocation.open() as workspace, bar("Writing", len(steps)) as watch:
        ids = write(workspace, steps, watch=watch)
        epoch = workspace.epoch
        writers = sorted({by for step in steps if (by := getattr(step, "by", None))})
        notices = [one for by in writers for one in notices_of(workspace, by, ids)]
    done = {"ids": ids, "epoch": epoch}
    _say(invocation, done, f"Wrote {counted(len(ids), 'step')}; the log is at epoch {epoch}", notices)

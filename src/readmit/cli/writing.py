"""``init``, ``observe``, ``record``, ``confirm``, ``link``, ``overrule``: what changes the shared state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from readmit.cli import options
from readmit.cli.command import command

if TYPE_CHECKING:
    from readmit.cli.command import Invocation

KINDS = ("fact", "role_constraint", "interface_constraint", "obligation", "frontier")
DOES = {"obligation": "oblige", "frontier": "progress"}


def add_to(group: click.Group) -> None:
    """Add the commands."""
    command(group, "init", examples=("readmit init", "readmit init --db team.db --policy policy.json"))(init)
    command(group, "observe", examples=('readmit observe "Sunrise confirms two nights." --by A2',))(observe)
    recording = (
        'readmit record "Sunrise is booked" --source "Sunrise confirms." --by A2 --id h0 --supports d_h',
        'readmit record "Riverside is booked" --source @mail.txt --by A2 --id h1 --supersedes h0',
        'readmit record "Write the plan" --kind obligation --requires d_h --critical d_h --by A2 --source @mail.txt',
        "readmit record --file steps.json",
    )
    command(group, "record", examples=recording)(record)
    command(group, "confirm", examples=("readmit confirm x1 --by A2",))(confirm)
    linking = ("readmit link h0 d_h --by A2", "readmit link h0 d_h --by A2 --withdraw")
    command(group, "link", examples=linking)(link)
    restoring = 'readmit overrule h0 --grant restore --by lead --reason "the cancellation was a mistake" --for 2h'
    command(group, "overrule", examples=(restoring,))(overrule)


@click.option("--policy", type=click.File("rb"), metavar="FILE", help="Policy to put in force, as JSON.")
def init(invocation: Invocation, /, *, policy: BinaryIO | None) -> None:
    """Start a workspace, or put a policy in force in an existing one.

    Makes the database file, or the tables on the server, if need be, and the workspace's first signing key.
    """
    from readmit.cli.output import emit, show, shown
    from readmit.records.base import nfc
    from readmit.records.canonical import decode
    from readmit.records.policy import Policy
    from readmit.store.location import names
    from readmit.workspace.workspace import Workspace

    chosen = None if policy is None else decode(policy.read(), Policy, what="policy")
    created = not {invocation.workspace, nfc(invocation.workspace)}.intersection(names(invocation.db))
    with Workspace.open(invocation.db, name=invocation.workspace, policy=chosen) as workspace:
        key = workspace.signer().keyid
        if invocation.json:
            emit({"db": invocation.store, "workspace": workspace.name, "created": created, "epoch": workspace.epoch})
            return
        verb = "Started" if created else "Found"
        show(
            f"{verb} workspace {shown(workspace.name)} in {invocation.store}, epoch {workspace.epoch}, key {key[:12]}…"
        )


@click.argument("text", metavar="TEXT|@FILE")
@options.author()
@click.option("--id", "name", metavar="ID", help="Makes the write idempotent.")
@click.option(
    "--kind",
    "source",
    type=click.Choice(("message", "tool_result", "document")),
    default="message",
    show_default=True,
    help="What was observed.",
)
@click.option("--task", metavar="NAME", help="Only this task may see it.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="Only this role may see it. Repeatable.")
@click.option("--principal", "principals", multiple=True, metavar="NAME", help="Only they may see it. Repeatable.")
def observe(invocation: Invocation, /, *, text: str, name: str | None, **fields: Any) -> None:
    """Keep a raw observation as evidence and print its digest, to be named as a source."""
    from readmit.cli.output import emit, show

    step = _step({"do": "observe", "text": _text(text), "id": name, **fields})
    digest = _written(invocation, [(step, "observe")])[0][0]
    if invocation.json:
        emit({"evidence": digest})
    else:
        show(digest)


@click.argument("text", required=False)
@click.option(
    "--file", type=click.File("rb"), metavar="FILE", help="Write many steps at once: a JSON array, - for stdin."
)
@click.option("--id", "name", metavar="ID", help="Name of the item; makes the write idempotent.")
@click.option("--kind", type=click.Choice(KINDS), default="fact", show_default=True, help="Kind of item.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="TEXT|@FILE|DIGEST",
    help="Evidence the item rests on: what was observed, a file that holds it, or a digest. Repeatable.",
)
@click.option("--by", metavar="NAME", help="Who records this. Required unless --file is given, whose steps say it.")
@click.option("--slot", metavar="ID", help="What it is about; a later item about the same slot replaces it.")
@click.option("--supports", multiple=True, metavar="ID", help="Dependency it is evidence for. Repeatable.")
@click.option("--depends-on", multiple=True, metavar="ITEM", help="Premise it rests on. Repeatable.")
@click.option("--supersedes", metavar="ITEM", help="Item it replaces.")
@click.option("--inherits", is_flag=True, help="It also supports what the item before it, or in its slot, did.")
@click.option(
    "--requires", "required", multiple=True, metavar="ID", help="Obligation: dependency it needs. Repeatable."
)
@click.option(
    "--critical", multiple=True, metavar="ID", help="Obligation: needed dependency that is critical. Repeatable."
)
@click.option("--obligation", metavar="ITEM", help="Frontier: obligation whose open work it describes.")
@click.option("--task", metavar="NAME", help="Only this task may see it.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="Only this role may see it. Repeatable.")
@click.option("--principal", "principals", multiple=True, metavar="NAME", help="Only they may see it. Repeatable.")
@click.option("--private", is_flag=True, help="Private to the principals named.")
@click.option("--purpose", "purposes", multiple=True, metavar="NAME", help="Only for this purpose. Repeatable.")
@click.option("--applies-to", "tasks", multiple=True, metavar="TASK", help="Only applicable to this task. Repeatable.")
@click.option("--valid-from", metavar="TIME", help="True from this moment, as in 2026-05-04T09:00:00Z.")
@click.option("--valid-until", metavar="TIME", help="True until this moment.")
def record(invocation: Invocation, /, *, text: str | None, file: BinaryIO | None, **fields: Any) -> None:
    """Record one item, or with --file many steps; all of it or nothing.

    A file holds a JSON array of the steps that scenarios have (`readmit play --schema`), except those that
    return, expose or set the clock.
    """
    from readmit.cli.output import emit, show

    if (text is None) == (file is None):
        raise click.UsageError("give either TEXT or --file")
    if file is not None:
        _write_file(invocation, file)
        return
    sources, name, kind = fields.pop("sources"), fields.pop("name"), fields.pop("kind")
    if fields["by"] is None:
        raise click.UsageError("--by: say who records this")
    scope = {field: fields[field] for field in ("task", "roles", "principals")}
    seen = [
        {"do": "observe", "id": _source_id(name, number), "text": _text(one), "by": fields["by"], **scope}
        for number, one in enumerate(sources, 1)
        if not _is_digest(one)
    ]
    written = [(_step(one), f"--source {number}") for number, one in enumerate(seen, 1)]
    item = {"do": DOES.get(kind, "record"), "text": text, "id": name, **fields}
    if kind not in DOES:
        item["kind"] = kind
    with_digests = [one for one in sources if _is_digest(one)]
    ids, epoch = _written(invocation, written, item={**item, "sources": with_digests})
    if invocation.json:
        emit({"id": ids[-1], "epoch": epoch, "evidence": [*with_digests, *ids[:-1]]})
    else:
        show(f"Recorded {ids[-1]} at epoch {epoch}" + (" without a source: it proves nothing" if not sources else ""))


@click.argument("item")
@click.option("--by", required=True, metavar="NAME", help="Who has read the item and vouches for it.")
@click.option("--id", "name", metavar="ID", help="Makes the write idempotent.")
def confirm(invocation: Invocation, /, *, item: str, by: str, name: str | None) -> None:
    """Vouch for an item that a model drafted.

    Under the policy `drafts: confirm` it counts from then on, for everybody but the one who vouched.
    """
    from readmit.cli.output import emit, show

    _, epoch = _written(invocation, [(_step({"do": "confirm", "item": item, "by": by, "id": name}), "confirm")])
    if invocation.json:
        emit({"item": item, "epoch": epoch})
    else:
        show(f"Confirmed {item} at epoch {epoch}")


@click.argument("item")
@click.argument("need", metavar="DEPENDENCY")
@click.option("--by", required=True, metavar="NAME", help="Who says so.")
@click.option("--withdraw", "withdrawn", is_flag=True, help="The item is no evidence for it after all.")
@click.option("--id", "name", metavar="ID", help="Makes the write idempotent.")
def link(invocation: Invocation, /, *, item: str, need: str, name: str | None, **fields: Any) -> None:
    """Say that an item is evidence for a dependency. The latest word on the two decides."""
    from readmit.cli.output import emit, show

    step = _step({"do": "link", "item": item, "need": need, "id": name, **fields})
    _, epoch = _written(invocation, [(step, "link")])
    if invocation.json:
        emit({"item": item, "need": need, "withdrawn": fields["withdrawn"], "epoch": epoch})
    else:
        show(f"{item} is {'no longer ' if fields['withdrawn'] else ''}evidence for {need}, from epoch {epoch} on")


@click.argument("item")
@click.option(
    "--grant",
    type=click.Choice(("restore", "rejustify", "settle")),
    required=True,
    help="restore: undo what took it out. rejustify: let it stand without its premise. settle: end its disputes.",
)
@click.option("--by", required=True, metavar="NAME", help="Overseer named in the policy.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; the audit shows it.")
@click.option("--for", "lasting", metavar="DURATION", help="How long it holds, as in 2h or 1d12h.")
@click.option("--expires", metavar="TIME", help="Until when it holds, instead of --for.")
@click.option("--id", "name", metavar="ID", help="Makes the write idempotent.")
def overrule(invocation: Invocation, /, *, item: str, name: str | None, **fields: Any) -> None:
    """Set automated rejections of an item aside, for a while and for a reason.

    Only overseers named in the policy may, and never for their own return.
    """
    from readmit.cli.output import emit, show

    if (fields["lasting"] is None) == (fields["expires"] is None):
        raise click.UsageError("give either --for or --expires")
    step = _step({"do": "overrule", "target": item, "id": name, **fields})
    _, epoch = _written(invocation, [(step, "overrule")])
    if invocation.json:
        emit({"item": item, "epoch": epoch})
    else:
        show(f"Rejections of {item} up to epoch {epoch} are set aside")


def _write_file(invocation: Invocation, file: BinaryIO) -> None:
    from readmit.cli.output import counted, emit, progress, show
    from readmit.scenario.document import read_steps
    from readmit.scenario.play import write

    steps = read_steps(file.read())
    with invocation.open() as workspace, progress("Writing", len(steps)) as watch:
        ids = write(workspace, steps, watch=watch)
        epoch = workspace.epoch
    if invocation.json:
        emit({"ids": ids, "epoch": epoch})
    else:
        show(f"Wrote {counted(len(ids), 'step')}; the log is at epoch {epoch}")


def _written(
    invocation: Invocation, written: list[tuple[Any, str]], *, item: dict[str, Any] | None = None
) -> tuple[list[str], int]:
    """Write steps in one commit; an item written last rests on the observations before it."""
    from readmit.scenario.play import Player

    with invocation.open() as workspace, workspace.batch():
        player = Player(workspace)
        ids = [player.play(step, place) for step, place in written]
        if item is not None:
            ids.append(player.play(_step({**item, "sources": [*item["sources"], *ids]}), "record"))
        return ids, workspace.epoch


def _step(fields: dict[str, Any]) -> Any:
    """A step from what the options say; what was not said is left to its default."""
    from readmit.scenario.document import step

    return step({name: value for name, value in fields.items() if value is not None and value not in ((), False)})


def _source_id(item: str | None, number: int) -> str | None:
    """An id for the source of an item that has one, so that the same command again changes nothing."""
    from readmit.records.canonical import digest

    return None if item is None else digest((item, number))[:32]


def _is_digest(source: str) -> bool:
    return len(source) == 64 and all(letter in "0123456789abcdef" for letter in source)  # noqa: PLR2004 - SHA-256 in hex


def _text(source: str) -> str:
    """A text, or the contents of the file that ``@FILE`` names."""
    if not source.startswith("@"):
        return source
    try:
        return Path(source[1:]).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        from readmit.records.errors import RecordError

        raise RecordError(f"{source[1:]}: not UTF-8 text; convert it first") from None

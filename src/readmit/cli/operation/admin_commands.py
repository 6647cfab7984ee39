"""``readmit admin``: decisions of the owner and the overseers, and agents whose lease ran out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec

from readmit.cli import error_lines, options
from readmit.cli.command import CommandGroup, Invocation, ReadmitCommand
from readmit.cli.item_words import agent_in_words
from readmit.cli.output import emit, show
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.records.canonical import decode_file
from readmit.records.policy import Policy, differences
from readmit.text.escapes import one_line
from readmit.writing.forget import texts_in_reach
from readmit.writing.item_content import normal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, timedelta

    from readmit.presence.lease import Sweep


@click.group("admin", cls=CommandGroup)
def admin() -> None:
    """Policy, limits, rejections, roles, leases and backups. For the owner and the overseers."""


@admin.command("govern", examples=("readmit admin govern policy.json", "readmit admin govern - < policy.json"))
@click.argument("policy", type=click.File("rb"), metavar="FILE")
@options.governor
def govern(invocation: Invocation, /, *, policy: BinaryIO, by: str | None) -> None:
    """Put a policy in force for everybody from here on. FILE is JSON, - for stdin."""
    chosen = decode_file(policy.read(), Policy, what=error_lines.name_of(policy))
    with invocation.acting(by) as workspace:
        changed = list(differences(workspace.admin.policy, normal(chosen)))
        if changed:
            workspace.admin.govern(chosen, by=by)
        epoch = workspace.epoch
    done = f"The policy that governs everybody changed: {one_line(', '.join(changed))}"
    invocation.say({"epoch": epoch, "policy_changed": changed}, done if changed else "This policy is in force already.")


@admin.command(
    "overrule",
    examples=('readmit admin overrule h0 --by lead --reason "the cancellation was a mistake" --for 2h',),
)
@click.argument("target", type=Reference("item"), metavar="ITEM")
@click.option("--by", required=True, metavar="NAME", help="Overseer named in the policy.")
@options.signer
@click.option("--reason", required=True, metavar="TEXT", help="Why; the audit shows it.")
@click.option("--for", "lasting", type=options.DURATION, metavar="DURATION", help="How long it holds, as in 1d12h.")
@click.option("--expires", type=options.MOMENT, metavar="TIME", help="Until when it holds, instead of --for.")
@click.option("--id", "id", metavar="ID", help="Makes the write idempotent.")
def overrule_rejections(
    invocation: Invocation, /, *, target: str, lasting: timedelta | None, expires: datetime | None, **fields: Any
) -> None:
    """Restore an item that was rejected, for a while and for a reason.

    Only overseers named in the policy may, and never for their own return.
    """
    until = lasting if expires is None else expires
    if until is None or (lasting is not None and expires is not None):
        raise click.UsageError("give either --for or --expires")
    with invocation.open() as workspace:
        epoch = workspace.admin.overrule(target, expires=until, **fields)
    invocation.say({"item": target, "epoch": epoch}, f"Rejections of {target} up to epoch {epoch} are set aside")


@click.command(
    "forget",
    cls=ReadmitCommand,
    examples=(
        'readmit forget h0 --reason "the customer asked for it"',
        'readmit forget mail-17 h0 --by lead --reason "not ours to keep" --yes',
    ),
)
@click.argument("targets", nargs=-1, required=True, type=Reference("item", "evidence", "observe", "remember"))
@click.option("--reason", required=True, metavar="TEXT", help="Why; it stays on the log, so do not repeat the text.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.governor
def forget_texts(
    invocation: Invocation, /, *, targets: tuple[str, ...], reason: str, yes: bool, by: str | None
) -> None:
    """Take the texts of items, observations and memories out for good.

    Everything that quotes them goes too: verdicts, drafts, vectors, cached answers, records of the reference store. The
    log still verifies. What rests on them no longer counts. It cannot be undone. Owner and overseers only.
    """
    if not yes:
        named = ", ".join(targets)
        click.confirm(f"Take the text of {named} out for good? This cannot be undone", abort=True, err=True)
    from readmit.clients.intake.forget_beside import Beside

    with Beside.of(invocation.db) as beside, invocation.acting(by) as workspace:
        texts = texts_in_reach(workspace.admin.log, targets)
        gone = workspace.admin.forget(*targets, reason=reason, by=by)
        places = beside.forget(texts, gone.fell)
    if places:
        left = "; ".join(filter(None, (gone.left, f"beside the store, {', '.join(places)}")))
        gone = msgspec.structs.replace(gone, left=left)
    if invocation.json:
        emit(gone)
        return
    show(one_line(f"Forgotten at epoch {gone.epoch}: {', '.join(gone.erased)}"))
    for said, names in (
        ("No longer counts", gone.fell),
        ("Says the same and was not forgotten", gone.same_text),
        ("Delete in its own store", gone.records),
        ("Copy of the store that still holds it", gone.copies),
    ):
        for name in names:
            show(one_line(f"{said}: {name}"))
    show(one_line(f"May still hold it: {gone.left or 'backups elsewhere, if there are any'}"))


@admin.command("sweep", examples=("readmit admin sweep", "readmit admin sweep --every 5"), ends_with=(Status.UNWELL,))
@click.option("--every", type=click.FloatRange(0.1), metavar="SECONDS", help="Go on, and look this often.")
@click.option("--trust-clock", is_flag=True, help="Judge leases by the clock, however far it is ahead of the log.")
def sweep_leases(invocation: Invocation, /, *, every: float | None, trust_clock: bool) -> Status:
    """Depart for every agent whose lease ran out.

    Without --every it looks once. If the clock is ahead of the log, nobody wrote since or the clock is wrong: leases
    that only the clock ends are named, not ended, and the status is 8. With --every, they are ended once they were seen
    unrenewed for their whole length. Stop it with Ctrl-C.
    """
    unjudged = False
    with invocation.open() as workspace:
        sweeper = workspace.admin.sweeper(trust_clock=trust_clock)
        sweeps: Iterable[Sweep] = [sweeper.sweep()] if every is None else sweeper.follow(every=every)
        try:
            for found in sweeps:
                _print_sweep(invocation, found)
                unjudged = bool(found.unjudged)
        except KeyboardInterrupt:
            show("Stopped.")
    return Status.UNWELL if unjudged else Status.OK


def _print_sweep(invocation: Invocation, found: Sweep) -> None:
    if invocation.json:
        emit(found)
        return
    for one in found.departed:
        show(
            one_line(f"{agent_in_words(one.identity)} departed at epoch {one.epoch} (departure {one.id}): {one.reason}")
        )
    for lease in found.unjudged:
        show(
            one_line(
                f"{agent_in_words(lease.identity)}: the lease is over by this clock alone, which is {lease.ahead} s "
                "ahead of the log. If it is right, run `readmit admin sweep --trust-clock`; or let "
                "`readmit admin sweep --every 5` watch it"
            )
        )
    if not (found.departed or found.unjudged):
        show("No lease ran out.")

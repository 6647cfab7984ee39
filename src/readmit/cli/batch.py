"""``readmit batch``: the progress of a directory of requests and answers, and its problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from readmit.cli.command import command
from readmit.cli.status import Status

if TYPE_CHECKING:
    from readmit.cli.command import Invocation
    from readmit.models.batch import BatchStatus


@click.group("batch")
def batch() -> None:
    """Models that answer by file: requests.jsonl out, responses*.jsonl in."""


def add_to(group: click.Group) -> None:
    """Add the group and its commands."""
    group.add_command(batch)
    command(batch, "status", store=False, examples=("readmit batch status answers",))(status)
    command(batch, "check", store=False, examples=("readmit batch check answers --json",))(check)


@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--waiting", is_flag=True, help="Print the request lines that have no answer, to send next.")
def status(invocation: Invocation, /, *, directory: str, waiting: bool) -> Status:
    """Count requests, answers, failures and what still waits. Ends with 6 while something waits."""
    from readmit.cli.output import emit, show
    from readmit.models import batch as files

    found = files.batch_status(directory)
    if waiting:
        for line in files.unanswered_requests(directory):
            click.echo(line)
    elif invocation.json:
        emit(msgspec.to_builtins(found))
    else:
        show(_line(found))
    return Status.WAITING if found.waiting else Status.OK


@click.argument("directory", type=click.Path(), metavar="DIR")
def check(invocation: Invocation, /, *, directory: str) -> Status:
    """Look at every line of every file: duplicates, unknown ids, errors, conflicts, half-written lines.

    Waiting is not a problem here. Ends with 5 if something needs attention.
    """
    from readmit.cli.output import emit, show, shown
    from readmit.models import batch as files
    from readmit.text.english import counted

    found = files.check_batch(directory)
    if invocation.json:
        emit({"ok": found.ok, **msgspec.to_builtins(found)})
    else:
        show(_line(found.status))
        for one in found.problems:
            named = f" {one.custom_id[:12]}…" if one.custom_id else ""
            show(shown(f"{one.kind:10} {one.where}{named}: {one.message}"))
        if found.repeated:
            show(f"Given more than once with the same text, which is harmless: {counted(found.repeated, 'answer')}.")
        if found.ok:
            show("Nothing needs attention.")
    return Status.OK if found.ok else Status.UNVERIFIED


def _line(found: BatchStatus) -> str:
    from readmit.text.english import counted

    return (
        f"{counted(found.requests, 'request')}: {found.answered} answered, {found.failed} answered with an error, "
        f"{found.waiting} waiting."
    )

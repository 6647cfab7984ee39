"""``readmit batch``: the progress of a directory of requests and answers, and its problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from readmit.cli.command import CommandGroup
from readmit.cli.status import Status

if TYPE_CHECKING:
    from readmit.cli.command import Invocation
    from readmit.models.batch import BatchStatus


@click.group("batch", cls=CommandGroup)
def batch() -> None:
    """Models that answer by file: requests.jsonl out, responses*.jsonl in."""


@batch.command("status", store=False, examples=("readmit batch status answers",), ends_with=(Status.WAITING,))
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--waiting", is_flag=True, help="Print the request lines that have no answer, to send next.")
def count_answers(invocation: Invocation, /, *, directory: str, waiting: bool) -> Status:
    """Count requests, answers, failures and what still waits. Ends with 6 while something waits."""
    from readmit.cli.output import emit, show
    from readmit.models import batch as files

    found = files.batch_status(directory)
    if waiting:
        for line in files.unanswered_requests(directory):
            click.echo(line)
    elif invocation.json:
        emit(found)
    else:
        show(_line(found))
    return Status.WAITING if found.waiting else Status.OK


@batch.command("check", store=False, examples=("readmit batch check answers --json",), ends_with=(Status.UNVERIFIED,))
@click.argument("directory", type=click.Path(), metavar="DIR")
def check_answers(invocation: Invocation, /, *, directory: str) -> Status:
    """Look at every line of every file: duplicates, unknown ids, errors, conflicts, half-written lines.

    Waiting is not a problem here. Ends with 5 if something needs attention.
    """
    from readmit.cli.output import emit, plain, show, shown
    from readmit.models import batch as files
    from readmit.text.english import counted

    found = files.check_batch(directory)
    if invocation.json:
        emit({"ok": found.ok, **plain(found)})
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

"""``readmit admin backup`` and ``restore``: a right copy of a store in use, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from readmit.cli.command import Invocation, command
from readmit.cli.output import emit, show
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from readmit.diagnosis.verification.restore import Lacking

_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@command("backup", examples=("readmit admin backup team-2026-03-01.db --db team.db",))
@_FILE
def backup_store(invocation: Invocation, /, *, file: Path) -> None:
    """Copy the store to a new FILE, with all its workspaces, while it may be in use. Keys are not copied.

    A plain copy of the file of a store in use lacks what is still in the file beside it.
    """
    with invocation.open() as workspace:
        epoch = workspace.admin.backup(file)
        name = workspace.name
    invocation.say(
        {"file": str(file), "workspace": name, "epoch": epoch},
        f"Backed up {invocation.store} to {file}; {name} ends at epoch {epoch}. Back up the keys apart from it.",
    )


@command(
    "restore",
    examples=("readmit admin restore saved.db --db team.db", "readmit admin restore saved.db --db team.db --replace"),
)
@_FILE
@click.option("--replace", is_flag=True, help="Take the present store away. It is kept under another name.")
@click.option(
    "--accept-loss", is_flag=True,
    help="Go on from a backup that lacks what was seen here, or is of another store, and hand views over again "
    "although it does not know which were handed over after it was made.",
)  # fmt: skip
def restore_store(invocation: Invocation, /, *, file: Path, replace: bool, accept_loss: bool) -> None:
    """Put the backup FILE in the place of the store, and list the events that it lacks."""
    from readmit.diagnosis.verification.restore import restore

    done = restore(file, invocation.db, replace=replace, accept_loss=accept_loss)
    if invocation.json:
        lacking = [{**one._asdict(), "events": one.events} for one in done.lacking]
        emit({"replaced": done.aside and str(done.aside), "keys": done.has_keys, "workspaces": lacking})
        return
    show(f"Put {file} in the place of {invocation.db}.")
    if done.aside is not None:
        show(f"What was there is now {done.aside}.")
    for one in done.lacking:
        show(*(f"{one_line(one.workspace)}: {line}" for line in _lines(one, accepted=accept_loss)))
    if not done.has_keys:
        show(f"Its keys are not in {done.keys}: put that folder back, or run `readmit keys rotate --lost`.")


def _lines(one: Lacking, *, accepted: bool) -> list[str]:
    if not one.is_same_log:
        lines = [f"the backup ends at epoch {one.epoch} and has another history than the store that was replaced."]
    elif one.events:
        lines = [f"the backup ends at epoch {one.epoch}; at least {one.events} later events are missing."]
    elif one.commits:
        lines = [f"the backup ends at epoch {one.epoch}; {one.commits} commits that were seen here are missing."]
    else:
        lines = [f"the backup ends at epoch {one.epoch}; nothing is known to be missing."]
    if one.handed_over > one.epoch and accepted:
        lines.append(f"views were handed over up to epoch {one.handed_over}; some may be handed over again.")
    elif one.handed_over > one.epoch:
        lines.append(
            f"views were handed over up to epoch {one.handed_over}, so none is until the log is past it. "
            "Put a newer backup back, or restore with --accept-loss."
        )
    return lines

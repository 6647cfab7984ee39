"""``init``, ``status``: start a workspace, and what one holds."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from readmit.cli import error_lines
from readmit.cli.command import DEFAULT_DB, Invocation, command
from readmit.cli.item_words import agent_in_words
from readmit.cli.options import is_typed
from readmit.cli.output import plain, progress
from readmit.clients.project import project_of
from readmit.clients.report.status_line import read_status, status_line
from readmit.log.location import names
from readmit.records.acts.event import Checkpoint
from readmit.records.base import nfc
from readmit.records.canonical import decode_file
from readmit.records.policy import Policy
from readmit.state.absence import last_absence
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from readmit.records.identity import Identity


@command("init", examples=("readmit init", "readmit init --db team.db --policy policy.json"))
@click.option("--policy", type=click.File("rb"), metavar="FILE", help="Policy to start under, as JSON.")
def init(invocation: Invocation, /, *, policy: BinaryIO | None) -> None:
    """Start a workspace: the database file, or the tables on the server, and the workspace's first signing key.

    If it exists, nothing changes; `readmit admin govern` puts another policy in force.
    """
    chosen = None if policy is None else decode_file(policy.read(), Policy, what=error_lines.name_of(policy))
    created = not {invocation.workspace, nfc(invocation.workspace)}.intersection(names(invocation.db))
    with Workspace.open(invocation.db, name=invocation.workspace, policy=chosen) as workspace:
        epoch, key = workspace.epoch, desk_of(workspace).keys.signer().keyid
    verb = "Started" if created else "Found"
    invocation.say(
        {"db": invocation.store, "workspace": workspace.name, "created": created, "epoch": epoch},
        f"{verb} workspace {one_line(workspace.name)} in {invocation.store}, epoch {epoch}, key {key[:12]}…",
    )


def _of_project(invocation: Invocation) -> bool:
    """Show the status of the coding agent's project here, if no store is named; false if there is none."""
    if is_typed("db") or invocation.db != DEFAULT_DB or Path(DEFAULT_DB).exists():
        return False
    found = read_status(project_of(Path.cwd()))
    if found is not None:
        invocation.say(found, status_line(found, datetime.now(UTC)))
    return found is not None


@command("status", examples=("readmit status", "readmit status --json"))
def show_status(invocation: Invocation, /) -> None:
    """The content of a workspace: its log, its audit, its policy, its key, and who is away.

    Without --db, in a project in which a coding agent works: one line for a status bar, read from a file alone.
    """
    if _of_project(invocation):
        return
    with invocation.open() as workspace, progress("Reading the log", workspace.epoch) as watch:
        kinds: Counter[str] = Counter()
        departed: dict[str, Identity] = {}
        for event in desk_of(workspace).log.tail():
            kinds[str(event.kind)] += 1
            if isinstance(event.payload, Checkpoint):
                departed[event.payload.identity.agent] = event.payload.identity
            watch()
        away = sorted(
            agent_in_words(who)
            for who in departed.values()
            if (absence := last_absence(desk_of(workspace).log, who)) is not None and absence.end is None
        )
        said = {
            "db": invocation.store,
            "workspace": workspace.name,
            "epoch": workspace.epoch,
            "events": dict(kinds),
            "audit_rows": desk_of(workspace).log.audit.last,
            "away": away,
            "policy": plain(workspace.admin.policy),
        }
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    invocation.say(
        said,
        f"Workspace {one_line(workspace.name)} in {invocation.store}, epoch {said['epoch']}: {counts}",
        f"Audit: {counted(said['audit_rows'], 'row')}",
        f"Away: {one_line(', '.join(away)) or 'nobody'}",
        "Policy:",
        *(f"  {name} = {one_line(str(value))}" for name, value in said["policy"].items()),
    )

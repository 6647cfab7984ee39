"""Work that no client waits for: in a process of its own, which outlives the hook that begins it.

It imports what a start had no time for, takes in the spool, departs for sessions whose lease ran out, lets the user's
model read what is new in transcripts, erases what is over, and forgets what sessions held that ended without a word.
One process does so for a project at a time, with the rest of the processor's time, and for some minutes at most.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.clients.hook_command import ISOLATED
from readmit.clients.project import spool_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.clients.project import Project
    from readmit.workspace.workspace import Workspace

_SECONDS = 120.0
_MOST_SECONDS = 600
"""After so many seconds the process ends, whatever it is doing. The next one does the rest."""
_NICE = 15
_OLD = 14 * 24 * 3_600


def begin_late_work(client: str, project: Project, *, always: bool = False) -> None:
    """Begin the work if there is any. Whatever fails, the next one does it."""
    with suppress(OSError):
        if not always and not any(spool_folder().glob("*.jsonl")):
            return
    here = str(project.worktree / project.package)
    words = [sys.executable, *ISOLATED, "-m", "readmit.clients.moments.late_work", client, here]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    with suppress(OSError):
        try:
            os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)
        except NotImplementedError:  # of some systems; this takes longer
            from subprocess import DEVNULL, Popen

            Popen(words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)  # noqa: S603 - our own words


def work(client: str, here: Path) -> None:
    """Do the work about the project of a folder. A part that fails is a line of the faults, and keeps no other back."""
    from readmit.clients.moments.session_file import drop_old_sessions
    from readmit.clients.project import open_project, project_of
    from readmit.clients.take_in import alone

    project = project_of(here)
    if not project.store.exists():
        return
    with alone(project.folder / "late.lock") as only:
        if only:
            with open_project(project) as workspace:
                for part in (_import, _take_in, _sweep, _read_transcripts, _retain):
                    _attempt(part, workspace, project, client)
    drop_old_sessions(time.time() - _OLD)


def _attempt(
    part: Callable[[Workspace, Project, str], object], workspace: Workspace, project: Project, client: str
) -> None:
    from readmit.clients.moments.hook_status import keep_fault

    try:
        part(workspace, project, client)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other parts do not depend on it
        keep_fault(project, f"late{part.__name__}", client, f"{type(error).__name__}: {error}", silent=True)


def _import(workspace: Workspace, project: Project, client: str) -> None:
    from readmit.clients.known_clients import CLIENTS
    from readmit.clients.memory_import import import_memory

    if client in CLIENTS:
        files = CLIENTS[client].memory_files(project)
        import_memory(workspace, project, files, deadline=time.monotonic() + _SECONDS, whole=True)


def _take_in(workspace: Workspace, project: Project, _: str) -> None:
    from readmit.clients.take_in import take_in

    take_in(workspace, project, deadline=time.monotonic() + _SECONDS)


def _sweep(workspace: Workspace, _: Project, __: str) -> None:
    workspace.admin.sweep(trust_clock=True)


def _read_transcripts(workspace: Workspace, project: Project, _: str) -> None:
    from readmit.clients.intake.model_drafts import chosen_model, read_transcripts
    from readmit.records.error_types import ReadmitError

    if model := chosen_model():
        found = read_transcripts(workspace, project, model, deadline=time.monotonic() + _SECONDS)
        if found.failed:
            raise ReadmitError(found.failed)


def _retain(workspace: Workspace, project: Project, _: str) -> None:
    from readmit.clients.intake.retention import retain

    retain(workspace, project)


if __name__ == "__main__":
    # Nobody waits for it and nobody sees it, so it ends itself.
    signal.alarm(_MOST_SECONDS)
    os.nice(_NICE)
    work(sys.argv[1], Path(sys.argv[2]))

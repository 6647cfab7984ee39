"""Work that no client waits for: in a process of its own, which outlives the hook that begins it.

It imports what a start had no time for, takes in the spool, departs for sessions whose lease ran out, and forgets what
sessions held that ended without a word.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.clients.hook_command import ISOLATED
from readmit.clients.project import spool_folder

if TYPE_CHECKING:
    from readmit.clients.project import Project

_SECONDS = 120.0
_OLD = 14 * 24 * 3_600


def begin_late_work(client: str, project: Project, *, always: bool = False) -> None:
    """Begin the work if there is any. Whatever fails, the next one does it."""
    with suppress(OSError):
        if not always and not any(spool_folder().glob("*.jsonl")):
            return
    here = str(project.worktree / project.package)
    words = [sys.executable, *ISOLATED, "-m", "readmit.clients.moments.late_work", client, here]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    with suppress(OSError, NotImplementedError):
        os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)


def work(client: str, here: Path) -> None:
    """Do the work about the project of a folder."""
    from readmit.clients.known_clients import CLIENTS
    from readmit.clients.memory_import import import_memory
    from readmit.clients.moments.session_file import drop_old_sessions
    from readmit.clients.project import open_project, project_of
    from readmit.records.error_types import ReadmitError

    project, until = project_of(here), time.monotonic() + _SECONDS
    if not project.store.exists():
        return
    with open_project(project) as workspace:
        if client in CLIENTS:
            import_memory(workspace, project, CLIENTS[client].memory_files(project), deadline=until)
        with suppress(ModuleNotFoundError):
            import_module("readmit.clients.take_in").take_in(workspace, project, deadline=until)
        with suppress(ReadmitError):
            workspace.admin.sweep(trust_clock=True)
    drop_old_sessions(time.time() - _OLD)


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]))

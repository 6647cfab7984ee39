"""The start of a session: memory files are imported, the session returns, and reads first what no longer holds.

A resumed, compacted or forked session reads what fell of what it held. A new one reads which lines of the files
that its client loads now do not hold.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from readmit.clients.known_clients import CLIENTS
from readmit.clients.memory_import import BUSY, import_memory
from readmit.clients.moments.absence_of_session import begin_absence
from readmit.clients.moments.late_work import begin_late_work
from readmit.clients.moments.session_file import load_session
from readmit.clients.moments.session_handover import SessionHandover
from readmit.clients.project import open_project
from readmit.clients.session import session_agent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.clients.hook import Hook
    from readmit.clients.memory_import import Imported
    from readmit.clients.moments.hook_status import HookStatus
    from readmit.clients.project import Project
    from readmit.clients.session import Session
    from readmit.workspace.workspace import Workspace

_FOR_RETURN = 0.45
"""The share of a moment's time that is kept for the return."""
_CONTINUES = frozenset({"resume", "compact", "fork"})


def start(hook: Hook, project: Project, session: Session, source: str) -> HookStatus:
    """Return for a session and say what it may rely on."""
    before = load_session(session)
    withdrawn = before.withdrawn if before is not None else ()
    # What it read may have been lost with the conversation.
    lost = withdrawn if source == "compact" else ()
    with open_project(project) as workspace:
        files = loaded_files(project, session)
        imported = import_in_time(workspace, project, files, hook)
        agent = session_agent(workspace, project, session)
        is_known = begin_absence(workspace, project, session, agent)
        handover = SessionHandover(workspace, project, session, files, imported)
        handover.decide(agent, also=lost, everything=not is_known and source in _CONTINUES)
        hook.answer.give(handover.text(is_new=not is_known))
        handover.keep(agent, withdrawn)
    begin_late_work(hook.client, project, always=bool(imported.unread) or imported.is_behind)
    return handover.status()


def loaded_files(project: Project, session: Session) -> tuple[Path, ...]:
    """The memory files that the client of a session loads by itself."""
    return CLIENTS[session.client].memory_files(project) if session.client in CLIENTS else ()


def import_in_time(workspace: Workspace, project: Project, files: Sequence[Path], hook: Hook) -> Imported:
    """Import memory files. While another session imports the same ones, it is waited for."""
    until = hook.until - _FOR_RETURN * hook.seconds
    while True:
        imported = import_memory(workspace, project, files, deadline=until)
        if not any(one.why == BUSY for one in imported.unread) or time.monotonic() > until:
            return imported
        time.sleep(0.05)

"""The end of a session, and the moment before a compaction: the departure, and nothing that takes long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from readmit.clients.moments.absence_of_session import leave
from readmit.clients.moments.hook_status import HookStatus
from readmit.clients.moments.late_work import begin_late_work
from readmit.clients.moments.session_file import NEVER_RENEWED, SessionFile, load_session, save_session
from readmit.clients.project import open_project, project_of
from readmit.clients.session import session_agent

if TYPE_CHECKING:
    from readmit.clients.hook import Hook
    from readmit.clients.project import Project
    from readmit.clients.session import Session


def end(hook: Hook, project: Project, session: Session) -> HookStatus | None:
    """Write the departure of a session. What else is to be done goes on without its client."""
    held = load_session(session)
    if held is not None:
        project = project_of(Path(held.cwd))
    if not project.store.exists():
        return None
    with open_project(project) as workspace:
        leave(workspace, session_agent(workspace, project, session))
    if hook.moment == "end":
        if held is not None:
            # No prompt follows. A session that is resumed remembers what it has read.
            save_session(session, SessionFile(held.cwd, withdrawn=held.withdrawn, renew=NEVER_RENEWED))
        begin_late_work(hook.client, project, always=True)
    return HookStatus("departed")

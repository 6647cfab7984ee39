"""Before a prompt: what a file's change took away from what this session holds. That is said once.

Usually no file changed. Then this costs one look at the status of each, and the store stays closed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.clients.moments.session_file import file_versions, load_session, save_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.clients.hook import Hook
    from readmit.clients.moments.hook_status import HookStatus
    from readmit.clients.moments.session_file import SessionFile
    from readmit.clients.project import Project
    from readmit.clients.session import Session
    from readmit.workspace.workspace import Workspace


def check_prompt(hook: Hook, session: Session) -> HookStatus | None:
    """Say what fell since the session last read of it; nothing if nothing did."""
    held = load_session(session)
    if held is None or (not held.changed() and time.time() < held.renew):
        return None
    from readmit.clients.project import open_project, project_of

    project = project_of(Path(held.cwd))
    with open_project(project) as workspace:
        return _checked(hook, workspace, project, session, held)


def _checked(
    hook: Hook, workspace: Workspace, project: Project, session: Session, held: SessionFile
) -> HookStatus | None:
    from readmit.clients.memory_import import imported_files
    from readmit.clients.moments.absence_of_session import leave
    from readmit.clients.moments.session_handover import LEASE, RENEWED, SessionHandover
    from readmit.clients.moments.session_start import import_in_time, loaded_files
    from readmit.clients.session import session_agent
    from readmit.presence.lease import is_over
    from readmit.workspace.workspace import desk_of

    versions, files = file_versions(held.files), loaded_files(project, session)
    imported = import_in_time(workspace, project, files, hook)
    versions |= file_versions(map(str, imported_files(project)))
    agent = session_agent(workspace, project, session)
    if not _fell(workspace, project, files, held) and not is_over(desk_of(workspace).writer, agent.identity):
        if time.time() >= held.renew:
            agent.present(lease=LEASE)
            held = held._replace(renew=time.time() + RENEWED)
        save_session(session, held._replace(files=versions))
        return None
    leave(workspace, agent)
    handover = SessionHandover(workspace, project, session, files, imported)
    handover.decide(agent)
    hook.answer.give(handover.changes(held.withdrawn))
    handover.keep(agent, held.withdrawn)
    return handover.status()


def _fell(workspace: Workspace, project: Project, files: Sequence[Path], held: SessionFile) -> bool:
    """Whether something that the session holds, or a line of the ``files`` that it loads, no longer stands."""
    import os

    import msgspec

    from readmit.clients.memory_import import imported_lines
    from readmit.records.probes import FileProbe, Finding
    from readmit.sources import Looker

    now = imported_lines(project)
    if any(name not in now or now[name][1].finding for name in held.lines):
        return True
    # Found wrong by an import that the session's start did not wait for.
    loaded, known = {os.path.realpath(path) for path in files}, set(held.withdrawn)
    wrong = {name: path for name, (path, line) in now.items() if line.finding and name not in known}
    if any(os.path.realpath(path) in loaded for path in wrong.values()):
        return True
    probes = [msgspec.convert(one, FileProbe) for path in held.changed() for one in held.probes.get(path, ())]
    looks = Looker(workspace.admin.policy.looks).look(probes)
    return any(one.outcome in (Finding.CHANGED, Finding.GONE) for one in looks)

"""One moment of a session: its work, and its line in the project's status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.clients.moments.hook_status import HookStatus, keep_status
from readmit.clients.session import session_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.clients.hook import Hook
    from readmit.clients.project import Project


def at_moment(hook: Hook, project: Project, payload: Mapping[str, object]) -> None:
    """Do the work of a moment, and give its answer."""
    session = session_of(hook.client, payload)
    if hook.moment == "start":
        from readmit.clients.agent_tools.session_process import note_session
        from readmit.clients.moments.session_start import start

        status: HookStatus | None = start(hook, project, session, str(payload.get("source", "")))
        note_session(project, session)
    elif hook.moment == "prompt":
        from readmit.clients.moments.prompt_check import check_prompt

        status = check_prompt(hook, session)
    else:
        from readmit.clients.moments.session_end import end

        status = end(hook, project, session)
    hook.answer.give("")
    if status is not None:
        keep_status(project, hook.moment, session, status)

"""The tools of one session of a coding agent, which its hooks bring back and let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.clients.agent_tools.view_tools import ToolWords, ViewTools
from readmit.clients.moments.session_file import load_session
from readmit.clients.moments.session_return import MemoryLines, ReturnOfSession
from readmit.clients.session import session_agent
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.clients.project import Project
    from readmit.clients.session import Session
    from readmit.records.items import Item
    from readmit.workspace.workspace import Workspace

_MOST_FILES = 40


class SessionTools(ViewTools):
    """The tools of one session in an open workspace."""

    words = ToolWords(
        holder="session",
        confirmed="`readmit today`",
        too_many="a person confirms some with `readmit today --accept ID` first",
        back="its next start hands over what still holds",
        later="Your next start says what fell meanwhile.",
    )

    def __init__(self, workspace: Workspace, project: Project, session: Session) -> None:
        own = workspace.principal(session.name)
        super().__init__(own, session_agent(own, project, session), f"{session.client}, by its own tool")
        self._session = session
        self._project = project

    def what_changed(self) -> dict[str, Any]:
        """With the files that changed since the last look at them."""
        held = load_session(self._session)
        changed = [] if held is None else [self._below(path) for path in held.changed()[:_MOST_FILES]]
        return {**super().what_changed(), "changed_and_not_looked_at": changed}

    def vouching(self, return_id: str) -> Callable[[Item], bool]:
        """Whether a start hands an item over: what only a tool said is counted there, and nothing else is said here."""
        return ReturnOfSession(self._own, self._own.returned(return_id), None, MemoryLines({}, {})).is_vouched

    def _below(self, path: str) -> str:
        return one_line(path.removeprefix(f"{self._project.worktree}/"))

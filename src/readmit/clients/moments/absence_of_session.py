"""The absence from which a session returns: each start is a return, whatever ended the session before it.

A session has followed the log up to its last view, and no further: what others wrote since, it has not read. So it
departs from the moment when it was handed that. A session that is present and starts again was killed. A fork has read
what its parent had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.clients.session import session_agent
from readmit.presence.lease import is_over
from readmit.records.acts.event import Checkpoint
from readmit.state.absence import last_absence, received, tenure
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from readmit.clients.project import Project
    from readmit.clients.session import Session
    from readmit.log.log import Log
    from readmit.records.identity import Identity
    from readmit.workspace.agent import Agent
    from readmit.workspace.workspace import Workspace


def leave(workspace: Workspace, agent: Agent) -> bool:
    """Depart for a session that is present or holds a view; false if it never was here."""
    writer, who = desk_of(workspace).writer, agent.identity
    if tenure(writer.log, who.agent) is not None and is_over(writer, who):
        return True  # its return departs for it
    epoch, is_away = _followed(writer.log, who)
    if epoch is None:
        return False
    if not is_away:
        agent.depart(epoch=epoch)
    return True


def begin_absence(workspace: Workspace, project: Project, session: Session, agent: Agent) -> bool:
    """Let a session be away, so that it can return; false if what it held before is unknown."""
    if leave(workspace, agent):
        return True
    parent = session.forked_from
    log = desk_of(workspace).log
    epoch = _followed(log, session_agent(workspace, project, parent).identity)[0] if parent is not None else None
    agent.depart(epoch=epoch or 0)
    return epoch is not None


def be_present(workspace: Workspace, agent: Agent, lease: int) -> None:
    """Let a session be present with the view that it was handed just now."""
    epoch, is_away = _followed(desk_of(workspace).log, agent.identity)
    if not is_away:
        agent.present(lease=lease, epoch=epoch)


def _followed(log: Log, who: Identity) -> tuple[int | None, bool]:
    """How far a session has followed the log, and whether it is away; none if it never was here."""
    held, absence = tenure(log, who.agent), last_absence(log, who)
    if held is not None:
        return held.lease.epoch, False
    if absence is None:
        return None, False
    departed = absence.departure.payload
    if absence.end is None or not (absence.started_anew or received(log, absence.end)):
        return departed.epoch if isinstance(departed, Checkpoint) else 0, True
    return absence.end.epoch, False

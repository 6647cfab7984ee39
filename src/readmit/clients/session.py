"""The principal that a client's hook speaks for: a session or a sub-agent, and the session that it was forked from.

A payload is data of a stranger. Whatever it says, a name is plain text of bounded length, and names of different
sessions differ.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.project import ROLE
from readmit.clients.spool_line import file_name, plain_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.clients.project import Project
    from readmit.workspace.agent import Agent
    from readmit.workspace.workspace import Workspace

_MOST_READ = 2 << 20
"""Most bytes of a transcript in which a fork looks for its parent: where it was forked is at the beginning."""
_LONGEST_ID = 100


class Session(NamedTuple):
    """One conversation of a client, or a sub-agent within it. It acts on behalf of ``user``."""

    client: str
    session: str
    agent: str = ""
    """The sub-agent; empty for the session itself."""
    parent: str = ""
    """The session that this one was forked from, if its transcript names one."""

    @property
    def name(self) -> str:
        """The principal of the log."""
        own = f"{self.client}:{plain_id(self.session)}"
        return f"{own}/{plain_id(self.agent)}" if self.agent else own

    @property
    def file_name(self) -> str:
        """The name of files about the session, without a suffix. Sub-agents share it."""
        return file_name(self.client, self.session)

    @property
    def forked_from(self) -> Session | None:
        """The session that this one was forked from; none if that is unknown."""
        return Session(self.client, self.parent) if self.parent else None


def session_of(client: str, payload: Mapping[str, object]) -> Session:
    """The session that a payload is about. A field that is missing or of another type counts as empty."""
    session = _text(payload, "session_id")
    parent = _parent(_text(payload, "transcript_path"), session) if payload.get("source") == "fork" else ""
    return Session(client, session, _text(payload, "agent_id"), parent)


def session_agent(workspace: Workspace, project: Project, session: Session) -> Agent:
    """The agent of a session: in the role of every session, on the task of its checkout and package."""
    return workspace.agent(session.name, role=ROLE, task=project.task)


def _text(payload: Mapping[str, object], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _parent(transcript: str, session: str) -> str:
    """The session that a transcript was copied from: both clients write it into the copy."""
    for line in _lines(transcript):
        record: object = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
        if not isinstance(record, dict):
            continue
        copied, meta = record.get("forkedFrom"), record.get("payload")
        found = copied.get("sessionId") if isinstance(copied, dict) else None
        if record.get("type") == "session_meta" and isinstance(meta, dict):
            found = meta.get("forked_from_id")
        if isinstance(found, str) and 0 < len(found) <= _LONGEST_ID and found != session:
            return found
    return ""


def _lines(path: str) -> Iterator[bytes]:
    """The first lines of a regular file; none if it cannot be read."""
    with suppress(OSError, ValueError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                yield from file.read(_MOST_READ).split(b"\n")

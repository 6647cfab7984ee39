"""The team of a scene on a server: every principal that the scene names has a key of its own, and calls over HTTP."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from readmit import Workspace
from readmit.errors import RecordError
from readmit.remote import RemoteAgent, RemoteReturn, RemoteWorkspace, connect
from readmit.server import Caller, Credentials
from tests.server.hosting import RIGHTS, serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from datetime import datetime

    import pytest

    from tests.scene import Clock
    from tests.server.hosting import Hosted

ROLES = ("agent", "booker", "booking", "clerk", "guest", "keeper", "planner", "scout", "tester", "worker", "writer")
"""The roles that the stories have."""


class Anybody(Credentials):
    """Credentials of tests: the key is the caller's name."""

    def __init__(self, name: str) -> None:
        self._workspace = name

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        who = unquote(headers["authorization"].removeprefix("Bearer "))
        return Caller(principal=who, roles=ROLES, workspaces=(self._workspace,), rights=RIGHTS, credential=who)  # type: ignore[arg-type]  # words


class ServedTeam:
    """A workspace as a program holds it that calls for several principals, each with a key."""

    def __init__(self, local: Workspace, host: Hosted, name: str, calls: ExitStack) -> None:
        self._desk = local._desk
        """The store itself, for what a test looks up there."""
        self._host, self._name, self._calls = host, name, calls
        self._handles: dict[str, RemoteWorkspace] = {}

    def principal(self, name: str) -> RemoteWorkspace:
        if name not in self._handles:
            handle = connect(self._host.url, key=quote(name, safe=""), name=self._name)
            self._handles[name] = self._calls.enter_context(handle)
        return self._handles[name]

    def as_owner(self) -> RemoteWorkspace:
        return self.principal("operator")

    def agent(self, principal: str, *, role: str, task: str) -> ServedAgent:
        return ServedAgent(self, self.principal(principal).agent(principal, role=role, task=task))

    def __getattr__(self, name: str) -> Any:
        if not hasattr(RemoteWorkspace, name) or name in {"admin", "batch", "doctor", "epoch", "name", "returned"}:
            return getattr(self.as_owner(), name)

        def call(*given: Any, by: str | None = None, **fields: Any) -> Any:
            if by is None:
                raise RecordError("by: say who writes this; add by=…, or write through workspace.principal(name)")
            return getattr(self.principal(by), name)(*given, by=by, **fields)

        return call


class ServedAgent:
    """An agent whose outcomes can be looked into, as its operator does."""

    def __init__(self, team: ServedTeam, remote: RemoteAgent) -> None:
        self._team, self._remote = team, remote

    def come_back(self, **how: Any) -> ServedReturn:
        return ServedReturn(self._team, self._remote.come_back(**how))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._remote, name)


class ServedReturn:
    """What the agent of a return has, and what its operator reads of it."""

    def __init__(self, team: ServedTeam, remote: RemoteReturn) -> None:
        self._team, self._remote = team, remote

    def __getattr__(self, name: str) -> Any:
        if hasattr(RemoteReturn, name):
            return getattr(self._remote, name)
        return getattr(self._team.returned(self._remote.id), name)


class Clocked(Workspace):
    """Opens workspaces with the clock of the story."""

    clock: Clock

    @classmethod
    def open(cls, *given: Any, **how: Any) -> Any:
        return Workspace.open(*given, clock=lambda: _now(cls), **how)


def _now(kind: type[Clocked]) -> datetime:
    return kind.clock()


def opener(folder: Path, patch: pytest.MonkeyPatch, calls: ExitStack) -> Any:
    """Opens the team of a scene on a server that runs until ``calls`` ends."""
    numbers = count()

    def open_team(path: Path | str, *, name: str, clock: Clock, **how: Any) -> ServedTeam:
        place = folder / f"served{next(numbers)}.db" if path == ":memory:" else Path(path)
        local = calls.enter_context(Workspace.open(place, name=name, clock=clock, **how))
        patch.setattr("readmit.server.service.Workspace", type("Clocked", (Clocked,), {"clock": clock}))
        host = calls.enter_context(serving(place, Anybody(name)))
        return ServedTeam(local, host, name, calls)

    return open_team

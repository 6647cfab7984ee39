"""A project with a session that was started, and the official SDK's client of the tools."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from readmit.clients.hook import OTHER_SECONDS
from readmit.clients.hook_command import hook_command
from readmit.clients.project import open_project, project_of
from readmit.clients.session import Session
from tests.clients.home import repository
from tests.clients.payloads import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit import Workspace
    from readmit.clients.project import Project


@dataclass
class ToolDesk:
    """A checkout whose agents have sessions, and calls of their tools."""

    top: Path
    project: Project
    workspace: Workspace
    client: str = "claude-code"

    def start(self, session: str, client: str = "claude-code") -> str:
        """Start a session by the hook, as a client does. Gives its principal."""
        payload = {**PAYLOADS[client]["startup"], "session_id": session, "cwd": str(self.top)}
        # Through a shell, as a client runs it.
        command = ["/bin/sh", "-c", f"{shlex.join(hook_command('start', client))} || true"]
        subprocess.run(command, input=json.dumps(payload).encode(), cwd=self.top, check=True, capture_output=True)
        assert json.loads(self.project.status_file.read_text())["kind"] == "admitted", self.faults
        return Session(client, session).name

    @property
    def faults(self) -> str:
        """What failed in hooks."""
        return self.project.faults_file.read_text() if self.project.faults_file.exists() else ""

    def talk(self, *calls: tuple[str, dict[str, Any]], client: str = "") -> list[Any]:
        """Call tools of one server over stdio. An error is its text."""

        async def run(connected: Client) -> list[Any]:
            answers = []
            for name, given in calls:
                if name == "read":
                    content = (await connected.read_resource("readmit://view")).contents[0]
                    answers.append(json.loads(content.text))  # type: ignore[union-attr]  # of the view
                    continue
                done = await connected.call_tool(name, given)
                text = done.content[0].text  # type: ignore[union-attr]  # every answer is text
                answers.append(text if done.is_error else json.loads(text))
            return answers

        answers: list[Any] = self.connected(run, client=client)
        return answers

    def connected(self, what: Callable[[Client], Any], *, client: str = "") -> Any:
        """Run something with a client that the server was started for."""
        words = ["-E", "-P", "-m", "readmit", "mcp", "--client", client or self.client]

        async def run() -> Any:
            server = StdioServerParameters(command=sys.executable, args=words, cwd=str(self.top))
            async with Client(stdio_client(server), read_timeout_seconds=60, cache=None) as connected:
                return await what(connected)

        return anyio.run(run)


@pytest.fixture
def desk(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolDesk]:
    """A repository with a workspace in which the user said two things."""
    top = repository(tmp_path / "shop", CLAUDE__md="# Shop\n")
    # The server's environment is the test's: the SDK hands over only some variables.
    monkeypatch.setenv("READMIT_DATA", str(home / "data"))
    monkeypatch.setenv(OTHER_SECONDS, "30")
    monkeypatch.setattr("mcp.client.stdio.DEFAULT_INHERITED_ENV_VARS", ["HOME", "PATH", "READMIT_DATA", "READMIT_KEYS"])
    project = project_of(top)
    with open_project(project) as workspace:
        said = workspace.observe("The server listens on port 8080. Ship with make ship.", by="user", task=project.task)
        for name, text, slot in (
            ("port", "The server listens on port 8080.", "server.port"),
            ("ship", "Ship with make ship.", "release"),
        ):
            workspace.record(text, id=name, slot=slot, sources=[said], by="user", task=project.task)
        workspace.oblige("Write the notes", id="notes", required=["release"], by="user", task=project.task)
        yield ToolDesk(top, project, workspace)

"""A checkout of a home of its own, and the hooks of its sessions, each a process as a client starts it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from readmit.clients.hook import OTHER_SECONDS
from readmit.clients.hook_command import hook_command
from readmit.clients.project import Project, open_project, project_of
from tests.clients.home import empty_home, git
from tests.clients.payloads import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from readmit import Workspace
    from readmit.clients.known_clients import Moment

FILES = {
    "src/prices.py": "def price_of(item):\n    return 3\n",
    "Makefile": "test:\n\tpytest\n\nship: test\n\ttrue\n",
    "config.toml": "port = 8080\n",
    "CLAUDE.md": "# Shop\n\n- Prices are made in `src/prices.py`.\n- Release with `make ship`.\n- The server has "
    "`port = 8080`.\n- We ship on Monday.\n",
}


@dataclass(frozen=True)
class Said:
    """What one hook printed and how it ended."""

    status: int
    out: str
    errors: str
    seconds: float

    @property
    def text(self) -> str:
        """The context that a client gives to its model; empty if the hook printed nothing."""
        return str(json.loads(self.out)["hookSpecificOutput"]["additionalContext"]) if self.out else ""

    def section(self, title: str) -> list[str]:
        """The entries below a heading."""
        _, _, rest = self.text.partition(f"## {title}")
        return [line for line in rest.partition("\n\n")[0].splitlines()[1:] if line.startswith("- ")]

    @property
    def out_of_date(self) -> list[str]:
        return self.section("No longer holds")


class Shop:
    """A repository with memory files, and sessions that work in it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()
        git("init", "-q", "-b", "main", cwd=top)
        for name, text in FILES.items():
            self.write(name, text)
        self.commit()

    @property
    def project(self) -> Project:
        return project_of(self.top)

    def workspace(self) -> Workspace:
        return open_project(self.project)

    def write(self, name: str, text: str) -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        before = (self.top / name).read_text()
        assert old in before
        self.write(name, before.replace(old, new))

    def commit(self) -> None:
        git("add", "-A", cwd=self.top)
        git("commit", "-qm", "Change", cwd=self.top)

    def hook(
        self, moment: Moment, kind: str, session: str = "s1", client: str = "claude-code",
        environment: Mapping[str, str] = MappingProxyType({}), **more: Any,
    ) -> Said:  # fmt: skip
        """Feed a recorded payload to the hook of a moment."""
        payload = {**PAYLOADS[client][kind], "session_id": session, "cwd": str(self.top), **more}
        return self.raw(moment, json.dumps(payload).encode(), client, **environment)

    def raw(self, moment: Moment, data: bytes, client: str = "claude-code", **environment: str) -> Said:
        began = time.monotonic()
        done = subprocess.run(
            hook_command(moment, client), input=data, cwd=self.top, capture_output=True, check=False, timeout=60,
            env={**os.environ, **environment},
        )  # fmt: skip
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - began)

    def start(self, kind: str = "startup", session: str = "s1", **more: Any) -> Said:
        return self.hook("start", kind, session, **more)

    def prompt(self, session: str = "s1", **more: Any) -> Said:
        return self.hook("prompt", "prompt", session, **more)

    def end(self, session: str = "s1", **more: Any) -> Said:
        return self.hook("end", "end", session, **more)

    @property
    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.project.status_file.read_text()))

    @property
    def faults(self) -> str:
        return self.project.faults_file.read_text() if self.project.faults_file.exists() else ""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    empty_home(tmp_path / "home", monkeypatch)
    # The machine of the tests is busy with others.
    monkeypatch.setenv(OTHER_SECONDS, "30")
    return Shop(tmp_path / "shop")

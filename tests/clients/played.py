"""A client that is played: it runs the hooks as ``readmit install`` wrote them, with payloads in the recorded forms.

No client takes part. The hooks, their processes and the store are real.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.clients.hook_command import ISOLATED
from readmit.clients.known_clients import CLIENTS, claude_slug
from tests.clients.payloads import PAYLOADS

if TYPE_CHECKING:
    from readmit.clients.known_clients import Moment

NEVER = 150
"""Seconds after which a hook that should have ended counts as one that hangs."""


class Told(NamedTuple):
    """What a hook answered."""

    context: str
    out: str
    errors: str
    status: int
    seconds: float


class PlayedClient:
    """One client in a home of its own, at work in one repository."""

    def __init__(self, name: str, home: Path, repository: Path) -> None:
        self.client = CLIENTS[name]
        self.home, self.repository = home, repository
        home.mkdir(exist_ok=True)
        (home / self.client.folder).mkdir(parents=True, exist_ok=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(home)}

    def readmit(self, *words: str) -> str:
        """Run a command of readmit as the user of this home."""
        ran = subprocess.run(
            [sys.executable, *ISOLATED, "-m", "readmit", *words],
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NEVER,
            check=False,
        )
        assert ran.returncode == 0, f"readmit {' '.join(words)}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def install(self) -> str:
        return self.readmit("install", self.client.name)

    def commands(self, moment: Moment) -> list[str]:
        """The commands that the client's settings name for a moment."""
        settings = json.loads((self.home / self.client.folder / self.client.hooks_file).read_text(encoding="utf-8"))
        event = self.client.events[moment][0]
        return [hook["command"] for entry in settings["hooks"][event] for hook in entry["hooks"]]

    def transcript(self, session: str) -> Path:
        """The file of a conversation, where the client keeps it."""
        folder = self.home / self.client.folder
        if self.client.form == "claude":
            return folder / "projects" / claude_slug(self.repository) / f"{session}.jsonl"
        return folder / "sessions" / "2026" / "11" / "17" / f"rollout-2026-11-17T02-01-00-{session}.jsonl"

    def payload(self, kind: str, session: str, **fields: Any) -> dict[str, Any]:
        """A recorded payload, of this session in this repository."""
        where = {"session_id": session, "cwd": str(self.repository), "transcript_path": str(self.transcript(session))}
        return {**PAYLOADS[self.client.name][kind], **where, **fields}

    def send(self, moment: Moment, payload: dict[str, Any] | bytes) -> Told:
        """Run the hooks of a moment as a client does: by a shell, in the repository, with the payload as input."""
        given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        [command] = self.commands(moment)
        started = time.perf_counter()
        done = subprocess.run(  # noqa: S602 - as a client runs what its settings say
            command,
            shell=True,
            cwd=self.repository,
            env=self.environment,
            input=given,
            capture_output=True,
            timeout=NEVER,
            check=False,
        )
        seconds = time.perf_counter() - started
        out, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        return Told(_context(out), out, errors, done.returncode, seconds)

    def start(self, session: str, kind: str = "startup") -> Told:
        return self.send("start", self.payload(kind, session))

    def prompt(self, session: str, text: str) -> Told:
        self._note_user(session, text)
        return self.send("prompt", self.payload("prompt", session, prompt=text))

    def ran(self, session: str, command: str, output: str) -> Told:
        """After a command of the agent's."""
        made: dict[str, Any] = {"tool_input": {"command": command}, "tool_use_id": f"toolu_{uuid.uuid4().hex[:12]}"}
        made["tool_response"] = {"stdout": output, "stderr": ""} if self.client.form == "claude" else output
        return self.send("tool", self.payload("shell", session, **made))

    def read(self, session: str, path: str) -> Told:
        """After a file was read; Codex reads files with commands."""
        text = (self.repository / path).read_text(encoding="utf-8")
        if self.client.form != "claude":
            return self.ran(session, f"cat {path}", text)
        absolute = str(self.repository / path)
        answer = {"type": "text", "file": {"filePath": absolute, "content": text}}
        return self.send(
            "tool", self.payload("read", session, tool_input={"file_path": absolute}, tool_response=answer)
        )

    def compact(self, session: str) -> Told:
        return self.send("compact", self.payload("compact", session))

    def end(self, session: str) -> Told:
        return self.send("end", self.payload("end", session))

    def settle(self) -> None:
        """Wait for what hooks started and left behind."""
        end = time.monotonic() + NEVER
        while running := _processes_of(self.home):
            assert time.monotonic() < end, f"still running: {running}"
            time.sleep(0.05)

    def _note_user(self, session: str, text: str) -> None:
        """Write what the user says into the transcript, in the client's form."""
        path = self.transcript(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.client.form == "claude":
            message: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": text}}
            record = {**message, "sessionId": session, "uuid": str(uuid.uuid4()), "cwd": str(self.repository)}
        else:
            item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            record = {"timestamp": "2026-11-17T02:01:05.000Z", "type": "response_item", "payload": item}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _processes_of(home: Path) -> list[str]:
    """Processes that were started in this home, each with its command line."""
    mine = f"HOME={home}".encode()
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if mine in (one / "environ").read_bytes().split(b"\0"):
                found.append((one / "cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " "))
        except OSError:
            continue  # it ended, or is another user's
    return [command for command in found if command]


def _context(out: str) -> str:
    """The text that a client puts into the request."""
    try:
        answer = json.loads(out)
    except ValueError:
        return out  # a client takes plain text too
    return str(answer["hookSpecificOutput"]["additionalContext"])

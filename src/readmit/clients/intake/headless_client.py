"""A client's own headless mode as a model, for users who asked for it: ``readmit install --model client:claude-code``.

It runs without hooks, tools, MCP servers, settings and a transcript of its own, in an empty folder. So nothing that it
says is taken in.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.clients.known_clients import CLIENTS
from readmit.models import Failure, Fault, Reply, Usage
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Ask

LINE = "client:"
"""Prefix of a model's line that names a client."""
_SECONDS = 100
_MOST = 1 << 20
_WORDS = {
    "claude-code": (
        "--print", "--tools", "", "--strict-mcp-config", "--setting-sources", "", "--settings",
        '{"disableAllHooks":true}', "--no-session-persistence", "--disable-slash-commands",
    ),
    "codex": (
        "exec", "--disable", "hooks", "--disable", "memories", "--ephemeral", "--skip-git-repo-check", "--sandbox",
        "read-only", "-",
    ),
}  # fmt: skip


class HeadlessClient:
    """A coding agent's program as a model: one process for each request."""

    def __init__(self, client: str) -> None:
        if client not in _WORDS:
            raise ModelError(f"model {LINE}{client}: there are {', '.join(LINE + name for name in _WORDS)}")
        self.name = f"{LINE}{client}"
        self._client = client

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """One result per request, in order."""
        return [self._asked(ask) for ask in asks]

    def close(self) -> None:
        """Release nothing: every request was a process of its own."""

    def _asked(self, ask: Ask) -> Reply | Failure:
        usage = Usage(stage=ask.stage)
        program = CLIENTS[self._client].programs[0]
        with tempfile.TemporaryDirectory(prefix="readmit-ask-") as folder:
            answer = Path(folder) / "answer"
            asked: tuple[str, ...] = (program, *_WORDS[self._client])
            if self._client == "codex":
                asked = (*asked[:-1], "--output-last-message", str(answer), asked[-1])
            try:
                done = subprocess.run(  # noqa: S603 - the user chose the program; the text is on its standard input
                    asked, input=f"{ask.system}\n\n{ask.user}".encode("utf-8", "replace"), cwd=folder,
                    capture_output=True, timeout=_SECONDS, check=False,
                )  # fmt: skip
                said = answer.read_bytes() if answer.exists() else done.stdout
            except subprocess.TimeoutExpired:
                return Failure(fault=Fault.TIMEOUT, message=f"{program} took more than {_SECONDS} s", usage=usage)
            except OSError as error:
                why = f"{program} cannot be started: {error.strerror}"
                return Failure(fault=Fault.UNAVAILABLE, message=why, usage=usage)
        if done.returncode:
            why = f"{program} ended with status {done.returncode}"
            return Failure(fault=Fault.UNAVAILABLE, message=why, usage=usage)
        if len(said) > _MOST:
            return Failure(fault=Fault.TOO_LONG, message=f"{program} answered {len(said):,} bytes", usage=usage)
        return Reply(text=_unfenced(said.decode("utf-8", "replace")), usage=usage, model=self.name)


def _unfenced(text: str) -> str:
    """An answer without the fence that a chat puts around JSON."""
    lines = text.strip().split("\n")
    is_fenced = len(lines) > 1 and lines[0].startswith("```") and lines[-1] == "```"
    return "\n".join(lines[1:-1]) if is_fenced else text.strip()

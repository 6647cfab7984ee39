"""Real clients, driven without a terminal: each in an empty home folder of its own, against the stand-in for its model.

Nothing here may run outside of an empty network namespace: a client that found a network would use it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.real.model_api import ModelApi, Request

INSTALLED = ROOT / ".clients"
READMIT = ROOT / ".venv" / "bin" / "readmit"
SECONDS = 60
"""A client that takes longer hangs: a run takes one or two."""


def isolated() -> bool:
    """Whether this process can reach itself alone: loopback is its only network device."""
    devices = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]
    return {line.partition(":")[0].strip() for line in devices} == {"lo"}


class Driven:
    """One client in its home, at work in one repository."""

    name: ClassVar[str]
    program: ClassVar[str]
    memory_file: ClassVar[str]

    def __init__(self, home: Path, repository: Path, api: ModelApi) -> None:
        assert isolated(), "clients run only inside an empty network namespace: make test-clients"
        self.home, self.repository, self.api = home, repository, api
        for folder in (home, home / "tmp"):
            folder.mkdir(exist_ok=True)
        self.extra: dict[str, str] = {}
        self.errors = ""

    def new_session(self) -> str:
        """A name for a session, where the client lets its user choose one."""
        return ""

    @property
    def session(self) -> str:
        """The session of the last run, where the client names it itself."""
        raise NotImplementedError

    def start(self, prompt: str, session: str = "") -> tuple[str, ...]:
        """The words of its command line that start a session."""
        raise NotImplementedError

    def resume(self, prompt: str, session: str) -> tuple[str, ...]:
        """Those that go on with one."""
        raise NotImplementedError

    def fork(self, prompt: str, session: str) -> tuple[str, ...]:
        """Those that go on with a copy of one."""
        raise NotImplementedError

    def compact(self, session: str) -> tuple[str, ...]:
        """Those that shorten the conversation of one."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Nothing of this machine's settings, and no key but a made-up one."""
        return {
            "PATH": os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin")),
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **self.extra,
        }

    def readmit(self, *words: str) -> str:
        """Run a command of readmit as the user of this home."""
        ran = subprocess.run(
            [READMIT, *words],
            cwd=self.repository,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ran.returncode == 0, f"readmit {' '.join(words)}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def run(self, *words: str) -> list[Request]:
        """Run the client to its end; the requests of this run that offered tools: the turns, not the side business."""
        return self._turns(lambda: self._finish(self._begin(words)))

    def run_until(self, ready: Callable[[], bool], how: int, *words: str) -> list[Request]:
        """Run the client, and send it a signal when ``ready``."""

        def cut() -> None:
            process = self._begin(words)
            end = time.monotonic() + SECONDS
            while not ready() and process.poll() is None:
                assert time.monotonic() < end, "the client never came so far"
                time.sleep(0.05)
            assert process.poll() is None, f"the client ended before it was ended: {process.communicate()}"
            os.kill(self._native(process.pid), how)
            try:
                process.communicate(timeout=SECONDS)
            finally:
                _end(process)

        return self._turns(cut)

    def _native(self, pid: int) -> int:
        """The client's own process, where its program is a script that starts it."""
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return int(children[0]) if "node" in Path(f"/proc/{pid}/comm").read_text(encoding="ascii") and children else pid

    def _turns(self, run: Callable[[], None]) -> list[Request]:
        before = len(self.api.requests)
        run()
        return [request for request in self.api.requests[before:] if self.is_turn(request)]

    def is_turn(self, request: Request) -> bool:
        return request.offers_tools

    def command(self, *words: str) -> list[str]:
        return [str(INSTALLED / "node_modules" / ".bin" / self.program), *words]

    def _begin(self, words: tuple[str, ...], *, talk: bool = False) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words),
            cwd=self.repository,
            env=self.environment(),
            stdin=subprocess.PIPE if talk else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if talk else subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _finish(self, process: subprocess.Popen[str]) -> None:
        try:
            out, self.errors = process.communicate(timeout=SECONDS)
        finally:
            _end(process)
        assert process.returncode == 0, f"{self.program} ended with {process.returncode}: {out}{self.errors}"
        self.output = out


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


class ClaudeCode(Driven):
    name = "claude-code"
    program = "claude"
    memory_file = "CLAUDE.md"

    def environment(self) -> dict[str, str]:
        return super().environment() | {
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "sk-ant-made-up",
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            **dict.fromkeys(
                (
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                    "DISABLE_TELEMETRY",
                    "DISABLE_AUTOUPDATER",
                    "DISABLE_ERROR_REPORTING",
                    "DISABLE_BUG_COMMAND",
                ),
                "1",
            ),
        }

    def new_session(self) -> str:
        return str(uuid.uuid4())

    def memory_folder(self) -> Path:
        """The folder of the client's own notes about the repository."""
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.repository))
        return self.home / ".claude" / "projects" / slug / "memory"

    def start(self, prompt: str, session: str = "") -> tuple[str, ...]:
        return self._print(prompt, "--session-id", session)

    def resume(self, prompt: str, session: str) -> tuple[str, ...]:
        return self._print(prompt, "--resume", session)

    def fork(self, prompt: str, session: str) -> tuple[str, ...]:
        return self._print(prompt, "--resume", session, "--fork-session")

    def compact(self, session: str) -> tuple[str, ...]:
        return ("--print", "/compact", "--resume", session)

    def _print(self, prompt: str, *words: str) -> tuple[str, ...]:
        return ("--print", prompt, *words, "--allowedTools", "Bash", "Read", "Edit", "Write", "mcp__readmit")


class Codex(Driven):
    name = "codex"
    program = "codex"
    memory_file = "AGENTS.md"

    def __init__(self, home: Path, repository: Path, api: ModelApi) -> None:
        super().__init__(home, repository, api)
        self.settings = home / ".codex" / "config.toml"
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_text(CODEX_SETTINGS.format(url=api.url, repository=repository), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        return super().environment() | {"CODEX_HOME": str(self.home / ".codex"), "STAND_IN_KEY": "made-up"}

    @property
    def session(self) -> str:
        """The session of the last run."""
        events = map(json.loads, self.output.splitlines())
        return next(str(event["thread_id"]) for event in events if event.get("type") == "thread.started")

    def start(self, prompt: str, session: str = "") -> tuple[str, ...]:
        return ("exec", *EVERYTHING, prompt)

    def resume(self, prompt: str, session: str) -> tuple[str, ...]:
        return ("exec", *EVERYTHING, "resume", session, prompt)

    def fork(self, prompt: str, session: str) -> tuple[str, ...]:
        return ("exec", *EVERYTHING, "fork", session, prompt)

    def compact(self, session: str) -> tuple[str, ...]:
        """Codex compacts by itself when a conversation is long: here, longer than five tokens."""
        return ("exec", *EVERYTHING, "-c", "model_auto_compact_token_limit=5", "resume", session, "go on")

    def trust_hooks(self) -> list[str]:
        """Trust the hooks as their user does: Codex names each with its digest, and writes the trust itself."""
        server = self._begin(("app-server",), talk=True)
        try:
            _ask(server, 1, "initialize", {"clientInfo": {"name": "person", "version": "1"}})
            _tell(server, {"method": "initialized"})
            listed = _ask(server, 2, "hooks/list", {"cwds": [str(self.repository)]})
            hooks = [hook for entry in listed["data"] for hook in entry["hooks"]]
            state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks}
            edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
            _ask(server, 3, "config/batchWrite", {"edits": [edit]})
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate()
        return [hook["eventName"] for hook in hooks]


class Gemini(Driven):
    name = "gemini"
    program = "gemini"
    memory_file = "GEMINI.md"

    def __init__(self, home: Path, repository: Path, api: ModelApi) -> None:
        super().__init__(home, repository, api)
        settings = home / ".gemini" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        key = {"auth": {"selectedType": "gemini-api-key"}}
        settings.write_text(json.dumps({"security": key, "general": {"enableAutoUpdate": False}}), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        return super().environment() | {"GEMINI_API_KEY": "made-up", "GOOGLE_GEMINI_BASE_URL": self.api.url}

    def start(self, prompt: str, session: str = "") -> tuple[str, ...]:
        return ("--prompt", prompt, "--skip-trust", "--model", "gemini-2.5-pro")


class OpenCode(Driven):
    name = "opencode"
    program = "opencode"
    memory_file = "AGENTS.md"

    def __init__(self, home: Path, repository: Path, api: ModelApi) -> None:
        super().__init__(home, repository, api)
        settings = home / ".config" / "opencode" / "opencode.json"
        settings.parent.mkdir(parents=True)
        # As soon as there is a plugin, it fetches a package and waits for it: without a network, for ever.
        fetched = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
        (settings.parent / "package-lock.json").write_text(json.dumps(fetched), encoding="utf-8")
        (settings.parent / "node_modules").mkdir()
        provider = {"anthropic": {"options": {"baseURL": f"{api.url}/v1", "apiKey": "made-up"}}}
        settings.write_text(json.dumps({"provider": provider, "autoupdate": False}), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        return super().environment() | {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def start(self, prompt: str, session: str = "") -> tuple[str, ...]:
        return ("run", "--model", "anthropic/claude-sonnet-4-5", prompt)


EVERY: tuple[type[Driven], ...] = (ClaudeCode, Codex, Gemini, OpenCode)
EVERYTHING = ("--json", "--sandbox", "danger-full-access")
CODEX_SETTINGS = """
model = "gpt-5-codex"
model_provider = "stand-in"
check_for_update_on_startup = false

[features]
plugins = false

[analytics]
enabled = false

[model_providers.stand-in]
name = "stand-in"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 0
stream_max_retries = 0

[projects."{repository}"]
trust_level = "trusted"
"""


def _tell(server: subprocess.Popen[str], message: dict[str, object]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def _ask(server: subprocess.Popen[str], number: int, method: str, parameters: dict[str, object]) -> dict[str, Any]:
    _tell(server, {"id": number, "method": method, "params": parameters})
    assert server.stdout is not None
    for line in server.stdout:
        answer = json.loads(line)
        if answer.get("id") == number:
            assert "result" in answer, f"{method}: {line}"
            return cast("dict[str, Any]", answer["result"])
    raise AssertionError(f"no answer to {method}")

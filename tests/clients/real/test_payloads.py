"""The recorded payloads that ordinary tests feed to hooks have the fields that these versions of the clients send."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.payloads import PAYLOADS
from tests.clients.real.driven import ClaudeCode, Codex
from tests.clients.real.model_api import Call

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.real.model_api import ModelApi

EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SessionEnd")
RECORDED = ("startup", "resume", "fork", "compacted", "prompt", "shell", "compact", "end")
BY_VERSION = {"effort", "permission_mode", "estimated_cache_write_usd", "prompt_id", "turn_id"}
"""Fields that no hook reads."""


def hooks_that_keep(folder: Path) -> str:
    """Hooks that keep what they are sent, one file for each time."""
    folder.mkdir()
    command = f"cat > {folder}/$$-$(date +%s%N).json"
    return json.dumps({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}] for event in EVENTS}})


def kind_of(payload: dict[str, Any]) -> str:
    event = payload["hook_event_name"]
    if event == "SessionStart":
        return "compacted" if payload["source"] == "compact" else str(payload["source"])
    return {"UserPromptSubmit": "prompt", "PostToolUse": "shell", "PreCompact": "compact", "SessionEnd": "end"}[event]


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_client_sends_the_recorded_fields(client: str, tmp_path: Path, repository: Path, api: ModelApi) -> None:
    sent = tmp_path / "sent"
    hooks = hooks_that_keep(sent)
    driven: ClaudeCode | Codex
    if client == "claude-code":
        driven = ClaudeCode(tmp_path / "home", repository, api)
        (driven.home / ".claude").mkdir()
        (driven.home / ".claude" / "settings.json").write_text(hooks, encoding="utf-8")
        api.plan(Call("Bash", {"command": "echo 8080", "description": "print"}))
    else:
        driven = Codex(tmp_path / "home", repository, api)
        (driven.home / ".codex" / "hooks.json").write_text(hooks, encoding="utf-8")
        driven.trust_hooks()
        api.plan(Call("exec_command", {"cmd": "echo 8080"}))
    session = driven.new_session()
    driven.run(*driven.start("Begin.", session))
    session = session or driven.session
    for words in (driven.resume("Go on.", session), driven.compact(session), driven.fork("Try it.", session)):
        driven.run(*words)
    seen: dict[str, set[str]] = {}
    for file in sent.iterdir():
        payload = json.loads(file.read_text(encoding="utf-8"))
        seen[kind_of(payload)] = set(payload) - BY_VERSION
    assert set(seen) == set(RECORDED)
    recorded = {name: set(PAYLOADS[client][name]) - BY_VERSION for name in RECORDED}
    assert seen == recorded

"""Payloads in the forms in which clients send them to a hook: one of every kind, with made-up names."""

from __future__ import annotations

import json
from typing import Any

SESSION = "0d5c3a1e-7f40-4c92-9a55-6d1b2e8c4f70"
_CODEX = {"model": "gpt-5-codex", "permission_mode": "bypassPermissions"}
_TURN = "7b1f0a52-33c9-4d8e-b0c4-21f6e5d4c3b2"


def _claude(event: str, **fields: Any) -> dict[str, Any]:
    where = f"/h/u/.claude/projects/-repo/{SESSION}.jsonl"
    return {"session_id": SESSION, "transcript_path": where, "cwd": "/repo", "hook_event_name": event, **fields}


def _claude_tool(event: str, tool: str, given: dict[str, Any], **fields: Any) -> dict[str, Any]:
    shared = {"prompt_id": _TURN, "permission_mode": "default", "effort": {"level": "medium"}}
    return _claude(event, **shared, tool_name=tool, tool_input=given, **fields)


def _codex(event: str, **fields: Any) -> dict[str, Any]:
    where = f"/h/u/.codex/sessions/2026/11/17/rollout-2026-11-17T02-01-00-{SESSION}.jsonl"
    return {
        "session_id": SESSION, "transcript_path": where, "cwd": "/repo", "hook_event_name": event, **_CODEX, **fields
    }  # fmt: skip


def _gemini(event: str, **fields: Any) -> dict[str, Any]:
    where = "/h/u/.gemini/t/repo/chats/session-2026-11-17T02-09-0433.jsonl"
    shared = {"timestamp": "2026-11-17T02:09:37.663Z"}
    return {
        "session_id": SESSION, "transcript_path": where, "cwd": "/repo", "hook_event_name": event, **shared, **fields
    }  # fmt: skip


_LATER = {"seconds_since_last_response": 12, "context_tokens": 15, "prompt_cache_likely_expired": False}
_SHELL = {"command": "make ports; ls", "description": "list the ports"}

CLAUDE = {
    "startup": _claude("SessionStart", source="startup"),
    "resume": _claude("SessionStart", source="resume", **_LATER),
    "fork": _claude("SessionStart", source="fork", **_LATER),
    "clear": _claude("SessionStart", source="clear"),
    "compacted": _claude("SessionStart", prompt_id=_TURN, source="compact", model="claude-opus-5-5"),
    "prompt": _claude(
        "UserPromptSubmit", prompt_id=_TURN, permission_mode="default", prompt="We moved the server to port 9000."
    ),
    "shell": _claude_tool(
        "PostToolUse",
        "Bash",
        _SHELL,
        tool_response={"stdout": "8080\nREADME.md", "stderr": "", "interrupted": False, "isImage": False},
        tool_use_id="toolu_10",
        duration_ms=31,
    ),
    "failed shell": _claude_tool(
        "PostToolUseFailure",
        "Bash",
        {"command": "false", "description": "x"},
        tool_use_id="toolu_11",
        error="Exit code 1",
        is_interrupt=False,
        duration_ms=12,
    ),
    "read": _claude_tool(
        "PostToolUse",
        "Read",
        {"file_path": "/repo/app.py"},
        tool_response={"type": "text", "file": {"filePath": "/repo/app.py", "content": "PORT = 8080\n", "numLines": 1}},
        tool_use_id="toolu_13",
        duration_ms=3,
    ),
    "mcp": _claude_tool(
        "PostToolUse",
        "mcp__notes__find",
        {"query": "ports"},
        tool_response=[{"type": "text", "text": "The port is 8080"}],
        tool_use_id="toolu_12",
        mcp_server={"name": "notes", "source": "project"},
    ),
    "stop": _claude("Stop", prompt_id=_TURN, stop_hook_active=False, last_assistant_message="Done.", session_crons=[]),
    "sub-agent stop": _claude("SubagentStop", agent_id="a5017263071275856", agent_type="", stop_hook_active=False),
    "compact": _claude("PreCompact", prompt_id=_TURN, trigger="manual", custom_instructions="keep it short"),
    "end": _claude("SessionEnd", prompt_id=_TURN, reason="other"),
}
CODEX = {
    "startup": _codex("SessionStart", source="startup"),
    "resume": _codex("SessionStart", source="resume"),
    "fork": _codex("SessionStart", source="fork"),
    "compacted": _codex("SessionStart", source="compact"),
    "prompt": _codex("UserPromptSubmit", turn_id=_TURN, prompt="We moved the server to port 9000."),
    "shell": _codex(
        "PostToolUse",
        turn_id=_TURN,
        tool_name="Bash",
        tool_input={"command": "make ports; ls"},
        tool_response="8080\nREADME.md\n",
        tool_use_id="call_3",
    ),
    "mcp": _codex(
        "PostToolUse",
        turn_id=_TURN,
        tool_name="mcp__notes__find",
        tool_input={"query": "ports"},
        tool_response={"content": [{"type": "text", "text": "The port is 8080"}]},
        tool_use_id="call_5",
    ),
    "stop": _codex("Stop", turn_id=_TURN, stop_hook_active=False, last_assistant_message="Done."),
    "compact": _codex("PreCompact", turn_id=_TURN, trigger="auto"),
    # The one event that names neither the model nor the permission.
    "end": {name: value for name, value in _codex("SessionEnd", reason="other").items() if name not in _CODEX},
}
GEMINI = {
    "startup": _gemini("SessionStart", source="startup"),
    "prompt": _gemini("BeforeAgent", prompt="<hook_context>memory</hook_context>\n\nWe moved the server to port 9000."),
    "shell": _gemini(
        "AfterTool",
        tool_name="run_shell_command",
        tool_input={"command": "make ports; ls"},
        tool_response={
            "llmContent": "<untrusted_context>\nOutput: 8080\n</untrusted_context>",
            "returnDisplay": "8080",
        },
    ),
    "compact": _gemini("PreCompress", trigger="auto"),
    "end": _gemini("SessionEnd", reason="exit"),
}
PAYLOADS = {"claude-code": CLAUDE, "codex": CODEX, "gemini": GEMINI}
ALL = [(client, name) for client, kinds in PAYLOADS.items() for name in kinds]


def encoded(client: str, name: str, **changes: Any) -> bytes:
    """A payload as a client writes it to the standard input of a hook."""
    return json.dumps({**PAYLOADS[client][name], **changes}).encode()

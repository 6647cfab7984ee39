"""Lines of transcripts in the forms in which Claude Code 2.1 and Codex 0.166 write them, with made-up names."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tests.clients.payloads import SESSION

HOOK_TEXT = "HOOKTEXT: what no longer holds"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _claude(kind: str, **fields: Any) -> dict[str, Any]:
    shared = {"parentUuid": None, "isSidechain": False, "uuid": "u1", "timestamp": _now(), "userType": "external"}
    return {**shared, "type": kind, "cwd": "/repo", "sessionId": SESSION, "version": "2.1.325", **fields}


def claude_lines(said: str, answer: str = "I will use it.") -> list[dict[str, Any]]:
    """One exchange, with everything that Claude Code writes around it."""
    reminder = f"<system-reminder>{HOOK_TEXT}</system-reminder>"
    return [
        {"type": "queue-operation", "operation": "enqueue", "timestamp": _now(), "content": said},
        _claude("attachment", attachment={"type": "hook_additional_context", "content": [HOOK_TEXT]}),
        _claude("user", promptSource="sdk", message={"role": "user", "content": said}),
        _claude("user", isMeta=True, message={"role": "user", "content": HOOK_TEXT}),
        _claude("user", message={"role": "user", "content": [{"type": "text", "text": reminder}]}),
        {"type": "api-request-blob", "blob": json.dumps({"messages": [{"role": "user", "content": HOOK_TEXT}]})},
        {"type": "api-request", "timestamp": _now(), "request": {"system": HOOK_TEXT}},
        _claude("assistant", message={"role": "assistant", "content": [{"type": "thinking", "thinking": HOOK_TEXT}]}),
        _claude(
            "assistant",
            message={
                "role": "assistant",
                "content": [
                    {"type": "text", "text": answer},
                    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
                ],
            },
        ),
        _claude(
            "user",
            toolUseResult={"stdout": HOOK_TEXT},
            message={"role": "user", "content": [{"type": "tool_result", "content": HOOK_TEXT}]},
        ),
        _claude("user", isCompactSummary=True, message={"role": "user", "content": f"continued: {HOOK_TEXT}"}),
        _claude("user", message={"role": "user", "content": "<command-name>/compact</command-name>\n <command-args/>"}),
        _claude("user", isSidechain=True, message={"role": "user", "content": f"Sub-agent: {HOOK_TEXT}"}),
        {"type": "last-prompt", "prompt": said},
    ]  # fmt: skip


def _codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": _now(), "ordinal": 1, "type": kind, "payload": payload}


def codex_lines(said: str, answer: str = "I will use it.") -> list[dict[str, Any]]:
    """One exchange, with everything that Codex writes around it."""

    def message(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return _codex("response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    def completed(kind: str, text: str, block: str) -> dict[str, Any]:
        content = [{"type": block, "text": text}]
        return _codex("event_msg", type="item_completed", item={"type": kind, "id": "m1", "content": content})

    return [
        _codex("session_meta", id=SESSION, cwd="/repo", base_instructions={"text": HOOK_TEXT}),
        message("developer", HOOK_TEXT),
        message("user", f"# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\n{HOOK_TEXT}\n</INSTRUCTIONS>"),
        message("user", said),
        completed("UserMessage", said, "text"),
        _codex("response_item", type="function_call_output", call_id="c1", output=HOOK_TEXT),
        _codex("event_msg", type="item_completed", item={"type": "CommandExecution", "aggregated_output": HOOK_TEXT}),
        completed("AgentMessage", answer, "Text"),
        message("assistant", answer),
        _codex("compacted", message=HOOK_TEXT),
    ]


LINES = {"claude-code": claude_lines, "codex": codex_lines}

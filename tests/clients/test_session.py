"""The principal of a session: one for each session and sub-agent, whatever the payload holds."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.clients.project import project_of
from readmit.clients.session import Session, session_agent, session_of
from tests.clients.payloads import ALL, CLAUDE, CODEX, PAYLOADS, SESSION

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("client", "kind"), ALL)
def test_every_payload_of_a_session_gives_its_name(client: str, kind: str) -> None:
    session = session_of(client, PAYLOADS[client][kind])
    assert session.name.startswith(f"{client}:{SESSION}")
    assert session.file_name == f"{client}-{SESSION}"
    assert session.parent == ""


def test_a_sub_agent_has_a_name_of_its_own() -> None:
    assert session_of("claude-code", CLAUDE["sub-agent stop"]).name == f"claude-code:{SESSION}/a5017263071275856"


HOSTILE: dict[str, Any] = {
    "missing": None, "a number": 7, "a list": ["x"], "empty": "", "a path": "../../etc/passwd", "long": "x" * 5_000,
    "control": "a\x1b[2Jb\n", "half a character": "\ud800", "another's name": "owner", "a separator": "a/b",
}  # fmt: skip


@pytest.mark.parametrize("field", ["session_id", "agent_id", "transcript_path"])
@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_field_gives_a_plain_name_that_the_log_takes(home: Path, field: str, value: object) -> None:
    session = session_of("codex", {**CODEX["fork"], field: value})
    assert session.name.isascii()
    assert session.name.isprintable()
    assert len(session.name) < 256
    assert session.name.count("/") == int(bool(session.agent))
    with Workspace.open(":memory:") as workspace:
        assert session_agent(workspace, project_of(home), session).identity.principal == session.name


def test_different_sessions_have_different_names() -> None:
    ids = ("a", "b", "a/b", "../a", "x" * 101, "x" * 102, "")
    assert len({Session(client, one, agent).name for client in PAYLOADS for one in ids for agent in ids}) == 3 * 49


def test_a_fork_learns_its_parent_from_the_transcript(tmp_path: Path) -> None:
    where = tmp_path / "fork.jsonl"
    parent = {"type": "user", "forkedFrom": {"sessionId": "p1", "messageUuid": "m"}}
    where.write_text("not JSON\n[1]\n" + json.dumps(parent) + "\n")
    forked = session_of("claude-code", {**CLAUDE["fork"], "transcript_path": str(where)})
    assert forked.forked_from == Session("claude-code", "p1")
    where.write_text(json.dumps({"type": "session_meta", "payload": {"id": "f", "forked_from_id": "p2"}}))
    assert session_of("codex", {**CODEX["fork"], "transcript_path": str(where)}).parent == "p2"
    assert session_of("codex", {**CODEX["resume"], "transcript_path": str(where)}).parent == "", "no fork"


def test_a_transcript_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for where in (pipe, tmp_path, tmp_path / "none", "a\0b"):
        assert session_of("codex", {**CODEX["fork"], "transcript_path": str(where)}).parent == ""

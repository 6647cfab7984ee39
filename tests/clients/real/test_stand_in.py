"""The clients as they are, without readmit: what the other tests build on holds for these versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.clients.real.driven import EVERY, ClaudeCode, Codex, isolated
from tests.clients.real.model_api import Call

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.real.driven import Driven
    from tests.clients.real.model_api import ModelApi

LINE = "The server listens on port 8080."


def test_there_is_no_network() -> None:
    assert isolated()


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_a_client_reaches_the_stand_in_and_loads_its_memory_file(
    kind: type[Driven], tmp_path: Path, repository: Path, api: ModelApi
) -> None:
    (repository / kind.memory_file).write_text(LINE, encoding="utf-8")
    client = kind(tmp_path / "home", repository, api)
    (turn,) = client.run(*client.start("hello", client.new_session()))
    assert any(LINE in text for _, text in turn.texts())


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ClaudeCode, Call("Bash", {"command": "echo $((40 + 2)) > made.txt", "description": "count"})),
        (Codex, Call("exec_command", {"cmd": "echo $((40 + 2)) > made.txt"})),
    ],
)
def test_a_planned_call_runs_in_the_repository(
    kind: type[Driven], call: Call, tmp_path: Path, repository: Path, api: ModelApi
) -> None:
    client = kind(tmp_path / "home", repository, api)
    api.plan(call)
    assert len(client.run(*client.start("count", client.new_session()))) == 2
    assert (repository / "made.txt").read_text(encoding="utf-8") == "42\n"


def test_codex_runs_a_hook_once_its_user_trusted_it(tmp_path: Path, repository: Path, api: ModelApi) -> None:
    client = Codex(tmp_path / "home", repository, api)
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "from the hook"}}
    hook = {"type": "command", "command": f"echo '{json.dumps(answer)}'"}
    hooks = client.home / ".codex" / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}), encoding="utf-8")
    (untrusted,) = client.run(*client.start("hello"))
    assert client.trust_hooks() == ["sessionStart"]
    (trusted,) = client.run(*client.start("hello"))
    told = [any(text == "from the hook" for _, text in turn.texts()) for turn in (untrusted, trusted)]
    assert told == [False, True]

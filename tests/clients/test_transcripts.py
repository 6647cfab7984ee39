"""With a model, what the user says in a session becomes drafts: each turn once, and nothing that is not a turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from readmit.clients.intake import model_drafts
from readmit.clients.intake.model_drafts import TranscriptReading, choose_model, chosen_model, opened, read_transcripts
from readmit.clients.intake.transcripts import known_transcript, load_transcripts, new_turns
from readmit.clients.known_clients import claude_slug
from readmit.clients.project import data_folder
from readmit.errors import ModelError
from readmit.testing import ScriptedModel
from tests.clients.payloads import SESSION
from tests.clients.test_take_in import KEY, Desk
from tests.clients.transcript_samples import HOOK_TEXT, LINES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.models import Ask

SAID = "From now on the server listens on port 9000."


class Written(Desk):
    """A checkout whose sessions have transcripts."""

    def __init__(self, top: Path, home: Path) -> None:
        super().__init__(top)
        self.paths = {
            "claude-code": home / ".claude" / "projects" / claude_slug(self.top) / f"{SESSION}.jsonl",
            "codex": home / f".codex/sessions/2026/11/17/rollout-2026-11-17T02-01-00-{SESSION}.jsonl",
        }

    def says(self, client: str, said: str) -> None:
        """The user says something: it is in the spool and in the transcript."""
        path = self.paths[client]
        path.parent.mkdir(parents=True, exist_ok=True)
        self.hook("prompt", client, prompt=said, transcript_path=str(path))
        with path.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in LINES[client](said))

    def draft(self, model: ScriptedModel | str) -> TranscriptReading:
        self.take()
        return read_transcripts(self.workspace, self.project, model)

    def drafts(self) -> list[Any]:
        found = (event.payload for event in self.workspace.admin.log.tail())
        return [one for one in found if getattr(one, "drafted", None) is not None]


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path / "shop", home)
    yield made
    made.workspace.close()


def claims(text: str) -> dict[str, Any]:
    """What a model that takes the user's sentence about the port down would answer."""
    said = [SAID] if SAID in text else []
    return {
        "items": [
            {"observation": 1, "turn": 0, "slot": "server.port", "statement": one, "operation": "add", "quote": one,
             "confidence": 0.9, "premises": []}
            for one in said
        ]
    }  # fmt: skip


def model() -> ScriptedModel:
    return ScriptedModel(lambda ask: claims(ask.user))


def shown(ask: Ask) -> str:
    return f"{ask.system}\n{ask.user}"


@pytest.mark.parametrize("client", LINES)
def test_what_the_user_said_is_a_draft_that_waits_for_a_person(client: str, desk: Written) -> None:
    desk.says(client, SAID)
    reader = model()
    done = desk.draft(reader)
    assert (done.requests, done.items, done.failed) == (1, 1, "")
    [draft] = desk.drafts()
    assert (draft.text, draft.by, draft.drafted.quote) == (SAID, client, SAID)
    (turns,) = [one for one in desk.seen() if one.source == "tool_result"]
    assert turns.text == f"user:\n{SAID}\n\nassistant:\nI will use it."
    assert HOOK_TEXT not in "".join(map(shown, reader.asked)), "only turns are read"
    agent = desk.workspace.agent("codex:2", role="coding-agent", task=desk.project.task)
    agent.depart()
    back = agent.come_back()
    assert draft.id not in back.items
    assert back.explain(draft.id).disposition.reasons[0] == "draft_unconfirmed"
    desk.workspace.confirm(draft.id, by="user")
    agent.depart()
    assert draft.id in agent.come_back().items


@pytest.mark.parametrize("client", LINES)
def test_only_new_turns_are_read(client: str, desk: Written) -> None:
    reader = model()
    desk.says(client, SAID)
    desk.draft(reader)
    assert desk.draft(reader).requests == 0
    desk.says(client, "Use tabs in Makefiles, please.")
    assert desk.draft(reader).requests == 1
    assert SAID not in reader.asked[-1].user
    assert "tabs" in reader.asked[-1].user


def test_turns_of_before_the_first_hook_are_not_read(desk: Written) -> None:
    old = LINES["claude-code"](SAID)
    for line in old:
        line["timestamp"] = "2026-01-01T00:00:00.000Z"
    path = desk.paths["claude-code"]
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    desk.says("claude-code", "Use tabs in Makefiles, please.")
    reader = model()
    desk.draft(reader)
    assert SAID not in "".join(map(shown, reader.asked))


def test_without_a_model_nothing_is_asked(desk: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_model() == ""
    choose_model("recorded:answers.jsonl")
    assert chosen_model() == "recorded:answers.jsonl"
    monkeypatch.setenv("READMIT_MODEL", "openai:x")
    assert chosen_model() == "openai:x"
    monkeypatch.setenv("READMIT_MODEL", "")
    assert chosen_model() == ""


@pytest.mark.parametrize("kept", ["", "[]", "{", '{"model": 7}'])
def test_malformed_settings_name_no_model(kept: str, home: Path) -> None:
    data_folder().mkdir(parents=True)
    (data_folder() / "settings.json").write_text(kept)
    assert chosen_model() == ""


def test_secrets_are_neither_asked_about_nor_stored(desk: Written) -> None:
    desk.says("claude-code", f"{SAID}\nThe key is {KEY}\nThanks")
    reader = model()
    desk.draft(reader)
    assert KEY not in "".join(map(shown, reader.asked))
    assert KEY not in "".join(desk.texts())


def test_a_failure_is_said_and_the_next_one_reads_on(desk: Written) -> None:
    desk.says("claude-code", SAID)
    broken = ScriptedModel(lambda _: "no JSON")
    assert desk.draft(broken).failed
    assert desk.drafts() == []
    assert desk.draft(model()).items == 1


def test_a_day_has_a_cap(desk: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_drafts, "MOST_A_DAY", 1)
    desk.says("claude-code", SAID)
    desk.says("codex", SAID)
    reader = model()
    assert "today" in desk.draft(reader).failed
    assert "today" in desk.draft(reader).failed
    assert len(reader.asked) == 1


def test_long_conversations_are_several_requests(desk: Written) -> None:
    for number in range(8):
        desk.says("claude-code", f"Note {number}: " + "we keep the port. " * 200)
    reader = model()
    done = desk.draft(reader)
    assert done.requests > 1
    assert all(f"Note {number}:" in "".join(map(shown, reader.asked)) for number in range(8))


def test_a_transcript_is_only_read_where_its_client_keeps_them(desk: Written, home: Path, tmp_path: Path) -> None:
    desk.says("claude-code", SAID)
    own = desk.paths["claude-code"]
    assert known_transcript("claude-code", str(own)) == str(own)
    elsewhere = tmp_path / "other.jsonl"
    elsewhere.write_text(own.read_text())
    link = own.with_name("link.jsonl")
    link.symlink_to(elsewhere)
    for path in ("/etc/passwd", str(elsewhere), str(link), "x.jsonl", "", str(own.parent), f"{own}/../../../x.jsonl"):
        assert known_transcript("claude-code", path) == ""
    assert known_transcript("codex", str(own)) == ""
    assert known_transcript("gemini", str(own)) == ""


HOSTILE = {
    "no JSON": b"{{{\n",
    "deep": b"[" * 100_000 + b"\n",
    "other types": b'{"type":"user","timestamp":7,"message":[]}\n{"type":["user"],"message":{"role":"user"}}\n7\n',
    "contents of other types": json.dumps(
        {"type": "user", "timestamp": "2027-01-01T00:00:00Z", "message": {"role": "user", "content": [7, {"text": {}}]}}
    ).encode() + b"\n",
    "a surrogate": json.dumps(
        {"type": "user", "timestamp": "2030-01-01T00:00:00Z", "message": {"role": "user", "content": "\ud800"}}
    ).encode() + b"\n",
    "a long line": b'{"type":"user","x":"' + b"y" * (2 << 20) + b'"}\n',
    "invalid UTF-8": b"\xff\xfe\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_transcript_loses_no_other_line(name: str, desk: Written) -> None:
    desk.paths["claude-code"].parent.mkdir(parents=True)
    desk.paths["claude-code"].write_bytes(HOSTILE[name])
    desk.says("claude-code", SAID)
    assert desk.draft(model()).items == 1


def test_half_a_line_is_read_when_it_is_whole(desk: Written) -> None:
    desk.says("claude-code", SAID)
    path = desk.paths["claude-code"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    desk.take()
    (known,) = load_transcripts(desk.project).files.values()
    new, _ = new_turns(str(path), known)
    assert new.end < len(whole) - 30
    path.write_bytes(whole)
    assert desk.draft(model()).items == 1


def test_another_file_at_the_same_place_is_read_from_its_beginning(desk: Written) -> None:
    desk.says("claude-code", "Use tabs in Makefiles, please. " * 50)
    desk.draft(model())
    desk.paths["claude-code"].unlink()
    desk.says("claude-code", SAID)
    assert desk.draft(model()).items == 1


def test_a_fifo_in_place_of_a_transcript_does_not_hang(desk: Written) -> None:
    desk.says("claude-code", SAID)
    desk.take()
    path = desk.paths["claude-code"]
    path.unlink()
    os.mkfifo(path)
    assert desk.draft(model()) == TranscriptReading()


class Endpoint(BaseHTTPRequestHandler):
    """A stand-in for an endpoint that speaks OpenAI's chat completions."""

    asked: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(body)
        text = json.dumps(claims(json.loads(body)["messages"][-1]["content"]))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        said = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    Endpoint.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"openai:m?base_url=http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def test_the_late_work_of_a_session_asks_the_endpoint_that_the_user_chose(
    desk: Written, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_model(endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")
    desk.says("codex", SAID)
    desk.workspace.close()
    command = [sys.executable, "-m", "readmit.clients.moments.late_work", "codex", str(desk.top)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not desk.project.faults_file.exists(), desk.project.faults_file.read_text()
    assert len(Endpoint.asked) == 1
    desk.workspace = type(desk.workspace).open(desk.project.store)
    assert [one.text for one in desk.drafts()] == [SAID]


CLIENT = """#!/bin/sh
printf '%s\\n' "$@" > "{record}"
pwd >> "{record}"
cat > /dev/null
echo '```json'
cat <<'END'
{answer}
END
echo '```'
"""


def test_a_clients_headless_mode_is_asked_without_hooks_and_tools(
    desk: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, record = tmp_path / "bin", tmp_path / "record"
    programs.mkdir()
    (programs / "claude").write_text(CLIENT.format(record=record, answer=json.dumps(claims(SAID))))
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(model_drafts, "MOST_OF_CLIENT", 1)
    desk.says("codex", SAID)
    assert desk.draft("client:claude-code").items == 1
    words = record.read_text().splitlines()
    assert {"--print", "--strict-mcp-config", "--no-session-persistence", '{"disableAllHooks":true}'} <= set(words)
    assert words[words.index("--tools") + 1] == ""
    assert "readmit-ask-" in words[-1], "not in a folder of the user's"
    desk.says("codex", SAID)
    assert "today" in desk.draft("client:claude-code").failed


@pytest.mark.parametrize(("program", "why"), [("exit 3", "status 3"), ("", "no JSON")])
def test_a_client_that_fails_gives_no_draft(
    program: str, why: str, desk: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codex").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    desk.says("codex", SAID)
    failed = desk.draft("client:codex").failed
    assert failed
    assert why in failed or program == ""
    assert desk.drafts() == []


def test_a_client_that_cannot_be_asked_is_named() -> None:
    with pytest.raises(ModelError, match="client:codex"):
        opened("client:gemini")


KILLED = """
import os, sys
from pathlib import Path
from readmit.clients.intake import model_drafts
from readmit.clients.project import open_project, project_of
from readmit.testing import ScriptedModel
project = project_of(Path(sys.argv[1]))
def die(*_, **__): os.kill(os.getpid(), 9)
if sys.argv[2] == "saved": model_drafts.save_transcripts = die
if sys.argv[2] == "drafted":
    real, count = model_drafts.save_transcripts, []
    def second(*given):
        count.append(1)
        die() if len(count) > 1 else real(*given)
    model_drafts.save_transcripts = second
say = die if sys.argv[2] == "asked" else lambda ask: sys.argv[3]
model_drafts.read_transcripts(open_project(project), project, ScriptedModel(say))
"""


@pytest.mark.parametrize("point", ["saved", "asked", "drafted"])
def test_killed_while_it_reads_nothing_is_lost_and_nothing_is_there_twice(point: str, desk: Written) -> None:
    desk.says("claude-code", SAID)
    desk.take()
    command = [sys.executable, "-c", KILLED, str(desk.top), point, json.dumps(claims(SAID))]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert desk.draft(model()).requests == 1
    assert [one.text for one in desk.drafts()] == [SAID]
    assert len([one for one in desk.seen() if one.source == "tool_result"]) == 1

"""The spool writer: one bounded line for any payload, no output, status 0, and safe under parallel writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from readmit.clients import spool_line
from readmit.clients.spool_line import MOST_FILE, MOST_LINE, append, file_name, kept
from tests.clients.payloads import ALL, CLAUDE, PAYLOADS, SESSION, encoded

SCRIPT = Path(spool_line.__file__)


def run(folder: Path, payload: bytes, client: str = "claude-code") -> subprocess.CompletedProcess[bytes]:
    """Run the writer as a client does: by path, with an empty environment and no site packages."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), str(folder), client],
        input=payload, capture_output=True, env={}, timeout=30, check=False,
    )  # fmt: skip


def lines(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text().splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize(("client", "name"), ALL)
def test_every_payload_of_every_client_is_one_line(client: str, name: str, tmp_path: Path) -> None:
    assert append(str(tmp_path), client, encoded(client, name))
    [line] = lines(tmp_path)
    assert line["client"] == client
    assert line["payload"] == PAYLOADS[client][name]
    fields = kept(line["payload"])
    assert (fields["session_id"], fields["cwd"]) == (SESSION, "/repo")


@pytest.mark.parametrize("client", PAYLOADS)
def test_a_command_is_kept_with_its_result(client: str) -> None:
    fields = kept(PAYLOADS[client]["shell"])
    assert fields["input"]["command"] == "make ports; ls"
    assert "8080" in fields["result"]


def test_the_text_of_a_file_is_not_kept() -> None:
    fields = kept(CLAUDE["read"])
    assert fields["input"] == {"file_path": "/repo/app.py"}
    assert "result" not in fields


ODD = {
    "empty": b"",
    "no JSON": b"{" + encoded("claude-code", "shell"),
    "a list": b"[1, 2]",
    "no session": json.dumps({"hook_event_name": "PostToolUse", "cwd": "/repo"}).encode(),
    "a session that is a number": json.dumps({"session_id": 7, "tool_input": 3, "tool_response": None}).encode(),
    "invalid UTF-8": b'{"session_id":"\xff\xfe"}',
    "a session that leads elsewhere": json.dumps({"session_id": "../../../etc/passwd"}).encode(),
    "deep": b'{"tool_response":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "huge": encoded("claude-code", "shell", tool_response={"stdout": "x" * 9_000_000}),
    "a long command": encoded("claude-code", "shell", tool_input={"command": "y" * 3_000_000}),
    "many inputs": encoded("claude-code", "shell", tool_input={f"k{n}": "v" * 50 for n in range(20_000)}),
    "surrogates": b'{"session_id":"a","prompt":"\\ud800"}',
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_arrives_the_session_goes_on(name: str, tmp_path: Path) -> None:
    done = run(tmp_path / "spool", ODD[name])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [file] = (tmp_path / "spool").iterdir()
    assert file.stat().st_size <= MOST_LINE
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_bytes().strip().split(b"\n")) == 1
    assert not list(tmp_path.glob("*.jsonl"))


LONG = {
    "its texts are shortened": (200_000, "kept"),
    "nothing of it is kept": (9_000_000, "broken"),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_payload(name: str, tmp_path: Path) -> None:
    size, field = LONG[name]
    append(str(tmp_path), "claude-code", encoded("claude-code", "shell", tool_response={"stdout": "x" * size}))
    [line] = lines(tmp_path)
    assert field in line
    assert [file.name for file in tmp_path.iterdir()] == [f"claude-code-{SESSION}.jsonl"]


def test_a_payload_on_several_lines_is_one_line(tmp_path: Path) -> None:
    append(str(tmp_path), "claude-code", json.dumps(CLAUDE["shell"], indent=2).encode())
    [line] = lines(tmp_path)
    assert line["payload"] == CLAUDE["shell"]


def test_a_folder_that_cannot_be_written_is_silent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "spool", encoded("claude-code", "shell"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert run(tmp_path, b"", client="").returncode == 0
    bare = subprocess.run([sys.executable, "-I", "-S", str(SCRIPT)], capture_output=True, check=False)
    assert (bare.returncode, bare.stdout, bare.stderr) == (0, b"", b"")


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    (tmp_path / f"{file_name('claude-code', SESSION)}.jsonl").symlink_to(target)
    done = run(tmp_path, encoded("claude-code", "shell"))
    assert done.returncode == 0
    assert not target.exists()


def test_a_full_file_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / f"{file_name('claude-code', SESSION)}.jsonl"
    path.touch()
    os.truncate(path, MOST_FILE)
    assert not append(str(tmp_path), "claude-code", encoded("claude-code", "shell"))
    assert path.stat().st_size == MOST_FILE


def test_parallel_writers_lose_and_tear_no_line(tmp_path: Path) -> None:
    count, text = 24, "z" * 5_000
    started = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT), str(tmp_path), "codex"], stdin=subprocess.PIPE, env={}
        )
        for _ in range(count)
    ]
    for number, one in enumerate(started):
        assert one.stdin is not None
        one.stdin.write(encoded("codex", "shell", tool_use_id=f"call_{number}", tool_response=text))
        one.stdin.close()
    assert [one.wait(30) for one in started] == [0] * count
    assert {line["payload"]["tool_use_id"] for line in lines(tmp_path)} == {f"call_{number}" for number in range(count)}


def test_it_imports_nothing_of_readmit() -> None:
    loaded = "import sys, runpy; runpy.run_path(sys.argv[1]); print([one for one in sys.modules if 'readmit' in one])"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", loaded, str(SCRIPT)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

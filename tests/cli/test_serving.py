"""``readmit serve`` and ``readmit credentials`` as a person who knows nothing tries them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.cli.run import run, said

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.monkeypatch import MonkeyPatch


class Started:
    """A server in a process of its own."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-m", "readmit", "serve", "--listen", "127.0.0.1:0", *map(str, words)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""
        self._log: list[str] = []
        assert self.process.stderr is not None
        self._reader = threading.Thread(target=lambda: self._log.extend(self.process.stderr or ()))
        self._reader.start()
        for line in self.process.stdout or ():
            self.said += line
            if "Ctrl-C" in line or line == "}\n":
                break
        self.url = "".join(re.findall(r"http://127\.0\.0\.1:\d+", self.said)[:1])

    def stop(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str, list[str]]:
        """Its status, the rest of what it said, and its log."""
        for _ in range(300):  # the socket listens before the application answers
            try:
                httpx.get(f"{self.url}/health")
                break
            except httpx.HTTPError:
                time.sleep(0.02)
        self.process.send_signal(how)
        rest = self.process.stdout.read() if self.process.stdout else ""
        status = self.process.wait(20)
        self._reader.join()
        return status, rest, self._log

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_command_starts_a_store_and_prints_a_key_that_opens_it(folder: Path) -> None:
    server = Started("--first-key")
    try:
        (command,) = re.findall(r"curl -H 'Authorization: (Bearer rk_\w+)' (\S+)", server.said)
        answer = httpx.get(command[1], headers={"Authorization": command[0]})
        assert answer.json() == {"entries": [{"name": "default", "epoch": 1, "principal": "me"}], "next": None}
        (key,) = said("credentials", "list")["credentials"]
        said("credentials", "revoke", key["id"])
        assert httpx.get(command[1], headers={"Authorization": command[0]}).status_code == 401, "at once"
        status, rest, log = server.stop()
    finally:
        server.kill()
    assert (status, rest) == (0, "Stopped.\n")
    assert [json.loads(line)["status"] for line in log][:2] == [200, 401]
    assert command[0].rpartition("_")[2] not in "".join(log)


def test_a_stream_that_is_open_does_not_hold_up_the_end(folder: Path) -> None:
    run("init")
    words = ("credentials", "add", "A1", "--role", "planner", "--right", "agent", "--right", "write")
    (key,) = re.findall(r"rk_\w+", run(*words).output)
    server, who = Started(), {"role": "planner", "task": "trip"}
    try:
        with httpx.Client(
            base_url=f"{server.url}/v1/workspaces/default", headers={"Authorization": f"Bearer {key}"}
        ) as it:
            seen = it.post("/observe", json={"text": "Sunrise confirms."}).json()
            it.post("/record", json={"text": "Sunrise is booked", "sources": [seen], "slot": "hotel"})
            it.post("/oblige", json={"text": "Book", "required": ["hotel"], "roles": ["planner"], "task": "trip"})
            it.post("/depart", json=who)
            came = it.post("/come_back", json=who).json()
            it.post(f"/returns/{came['id']}/expose", json={**who, "secret": came["secret"]}).raise_for_status()
            with it.stream("GET", "/subscribe", params=who) as stream:
                assert stream.status_code == 200
                began = time.monotonic()
                status, _, log = server.stop(signal.SIGTERM)
    finally:
        server.kill()
    assert status in (0, -signal.SIGTERM)
    assert time.monotonic() - began < 10
    assert "Traceback" not in "".join(log), log


def test_without_a_key_it_says_how_to_make_one(folder: Path) -> None:
    run("init", "--db", "team.db")
    server = Started("--db", "team.db")
    try:
        assert "No API key counts yet" in server.said
        (printed,) = re.findall(r"`readmit (credentials add [^`]*)`", server.said)
        words = printed.replace("NAME", "A1").replace("ROLE", "planner").split()
        (key,) = re.findall(r"rk_\w+", run(*words).output)
        answer = httpx.get(f"{server.url}/v1/workspaces", headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 200, "a running server knows it"
    finally:
        server.kill()
    again = Started("--db", "team.db", "--first-key", "--json")
    again.kill()
    started = json.loads(again.said)
    assert (started["keys"], started["first_key"]) == (1, None), "a key counts already"


@pytest.mark.parametrize(("proxy", "said"), [((), "127.0.0.1"), (("--proxy", "127.0.0.1"), "192.0.2.7")])
def test_what_is_said_of_an_address_counts_from_the_proxy_alone(
    folder: Path, proxy: tuple[str, ...], said: str
) -> None:
    run("init")
    server = Started(*proxy)
    try:
        httpx.get(f"{server.url}/health", headers={"X-Forwarded-For": "10.0.0.1, 192.0.2.7"})
        _, _, log = server.stop()
    finally:
        server.kill()
    assert json.loads(log[0])["from"] == said


MISTAKES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no store": ((), 1, "readmit.db does not exist; run `readmit serve --first-key` to start it and get a key"),
    "another store": (("--db", "gone/x.db"), 1, "run `readmit serve --first-key --db gone/x.db`"),
    "no database": (("--db", "text.txt"), 1, "text.txt"),
    "a password": (("--db", "postgresql://u:secret@127.0.0.1:1/x"), 1, "u:***@127.0.0.1"),
    "in memory": (("--db", ":memory:", "--first-key"), 1, "a store in memory has no keys"),
    "no port": (("--listen", "127.0.0.1"), 2, "is not HOST:PORT"),
    "everybody": (("--listen", "0.0.0.0:0"), 2, "keys would be sent in the clear; give --certificate"),
    "everybody, of the newer kind": (("--listen", "[::]:0"), 2, "keys would be sent in the clear"),
    "half of TLS": (("--certificate", "text.txt"), 2, "give both --certificate and --certificate-key"),
    "no proxy": (("--proxy", "front"), 2, "'front' is no address and no network"),
    "no URL": (("--url", "readmit.example.org"), 2, "is no address, as https://readmit.example.org is one"),
    "no settings": (("--issuers", "gone.toml"), 1, "gone.toml: there is no such file"),
    "wrong settings": (("--issuers", "text.txt"), 1, "issuers: this is not TOML"),
    "no name": (("--listen", "0.0.0.0:0", "--proxy", "10.0.0.0/8"), 2, "--url: say at which address"),
    "a host that is not here": (
        ("--listen", "192.0.2.1:0", "--proxy", "10.0.0.0/8", "--url", "https://x"), 1, "cannot listen on 192.0.2.1",
    ),
    "a certificate that is none": (
        ("--db", "team.db", "--certificate", "text.txt", "--certificate-key", "text.txt"), 1, "--certificate",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence_with_the_fix(folder: Path, case: str) -> None:
    words, status, expected = MISTAKES[case]
    (folder / "text.txt").write_text("[[nothing")
    (folder / "text.txt").chmod(0o600)
    if case.endswith("settings") or case.startswith("a "):
        run("init", "--db", "team.db")
        words = words if "--db" in words else ("--db", "team.db", *words)
    if case == "a password":
        words = ("--db", "postgresql://u:secret@127.0.0.1:1/x")
    if case == "no database":
        (folder / "text.txt").write_bytes(b"x" * 5_000)
    output = run("serve", "--listen", "127.0.0.1:0", *words, status=status).output
    assert expected in output, output
    assert "secret" not in output
    assert "Traceback" not in output


def test_a_port_that_is_taken_is_named(folder: Path) -> None:
    run("init")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        output = run("serve", "--listen", listen, status=1).output
    assert output == f"error: --listen: cannot listen on {listen}: Address already in use; choose another address\n"


def test_without_the_extra_it_names_the_extra(folder: Path, monkeypatch: MonkeyPatch) -> None:
    run("init")
    for name in [name for name in sys.modules if name.startswith(("uvicorn", "readmit.server.http_server"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    output = run("serve", status=1).output
    assert "run `pip install 'readmit[server]'`" in output, output


def test_credentials_are_made_listed_and_revoked(folder: Path) -> None:
    run("init")
    assert "No key was made yet" in run("credentials", "list").output
    made = said("credentials", "add", "A1", "--role", "planner", "--also", "sales", "--note", "for tests")
    assert made["key"].startswith(f"rk_{made['id']}_")
    run("credentials", "add", "ops", "--right", "inspect", "--right", "admin", "--expires", "1d")
    listed = run("credentials", "list").output
    assert made["key"] not in listed
    assert all(one in listed for one in (made["id"], "default, sales", "inspect, admin", "for tests"))
    assert "sha256" not in json.dumps(said("credentials", "list"))
    assert made["id"] in run("credentials", "revoke", made["id"][:6]).output
    assert "revoked" in run("credentials", "list").output
    keys = os.environ["XDG_CONFIG_HOME"]
    stored = subprocess.run(["grep", "-r", made["key"][16:], keys], capture_output=True, text=True, check=False).stdout
    assert stored == "", "no secret is stored"


REFUSED: dict[str, tuple[tuple[Any, ...], int, str]] = {
    "an agent without a role": (("A1",), 1, "--role: the right `agent` is for acting in a role"),
    "the owner": (("owner", "--role", "x"), 1, "PRINCIPAL: the name 'owner' is reserved"),
    "an unknown right": (("A1", "--right", "root"), 2, "'root' is not one of"),
    "no time": (("A1", "--role", "x", "--expires", "0s"), 1, "--expires"),
    "for ever": (("A1", "--role", "x", "--expires", "99999999w"), 1, "--expires"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_credential_that_means_nothing_is_not_made(folder: Path, case: str) -> None:
    run("init")
    words, status, expected = REFUSED[case]
    assert expected in run("credentials", "add", *words, status=status).output
    assert said("credentials", "list") == {"credentials": []}


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({}, None),
        ({"OTEL_TRACES_EXPORTER": "none"}, None),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"}, None),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}, "traces and metrics"),
    ],
)
def test_it_exports_to_opentelemetry_what_the_environment_asks_for(
    folder: Path, monkeypatch: MonkeyPatch, asked: dict[str, str], line: str | None
) -> None:
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    server = Started("--first-key")
    try:
        httpx.get(f"{server.url}/v1/workspaces", headers={"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"})
        (key,) = re.findall(r"Bearer (rk_\w+)", server.said)[:1]
        httpx.get(f"{server.url}/v1/workspaces", headers={"Authorization": f"Bearer {key}"}).raise_for_status()
        status, rest, _ = server.stop()
    finally:
        server.kill()
    assert (status, f"OpenTelemetry gets {line}." in server.said) == (0, line is not None)
    assert ('"trace_id": "0x' + "ab" * 16 in rest, '"service.name": "readmit"' in rest) == (bool(line), bool(line))
    assert ('"name": "readmit.request.duration"' in rest) == bool(line)
    assert key not in rest
    if line is None:
        assert rest == "Stopped.\n"


def test_an_exporter_that_is_not_installed_is_named_with_the_fix(folder: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    command = [sys.executable, "-m", "readmit", "serve", "--first-key", "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "OTEL_TRACES_EXPORTER: no exporter 'otlp' is installed; run `pip install" in done.stderr
    assert list(folder.iterdir()) == [], "no store, and no key that was never shown"

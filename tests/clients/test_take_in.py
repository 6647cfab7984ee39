"""What sessions left in the spool is taken in: once, without secrets, and whatever happens in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from readmit.clients.intake.spool_files import read_claimed
from readmit.clients.project import open_project, project_of, spool_folder
from readmit.clients.session import session_agent, session_of
from readmit.clients.spool_line import MOST_RAW, append
from readmit.clients.take_in import TakenIn, alone, take_in
from tests.clients.home import git, repository
from tests.clients.payloads import PAYLOADS, SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit import Workspace

NAME = f"claude-code:{SESSION}"
KEY = "sk-ant-api03-Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0"


def observations(workspace: Workspace) -> list[Any]:
    return [event.payload for event in workspace.admin.log.tail() if str(event.kind) == "observe"]


class Desk:
    """A checkout with a workspace, and a session in it whose hooks write into the spool."""

    def __init__(self, top: Path) -> None:
        self.top = repository(top, app__py="PORT = 8080\n", __gitignore="local.toml\nbuild/\n", README__md="# Shop\n")
        self.project = project_of(self.top)
        self.workspace: Workspace = open_project(self.project)

    def hook(self, kind: str, client: str = "claude-code", **changes: Any) -> None:
        payload = {**PAYLOADS[client][kind], "cwd": str(self.top), **changes}
        assert append(str(spool_folder()), client, json.dumps(payload).encode())

    def shell(self, command: str, result: str = "", **changes: Any) -> None:
        self.hook("shell", tool_input={"command": command}, tool_response={"stdout": result}, **changes)

    def read(self, name: str, **given: Any) -> None:
        self.hook("read", tool_input={"file_path": str(self.top / name), **given})

    def take(self, **given: Any) -> TakenIn:
        return take_in(self.workspace, self.project, **given)

    def seen(self) -> list[Any]:
        return observations(self.workspace)

    def rest_on_the_file(self) -> None:
        """Record a statement whose source is the first observation with a probe."""
        [seen, *_] = [event for event in self.workspace.admin.log.tail() if getattr(event.payload, "probe", None)]
        self.workspace.record("The port is 8080", id="port", sources=[seen.digest], by=NAME, task=self.project.task)

    def texts(self, source: str = "") -> list[str]:
        return [one.text for one in self.seen() if source in ("", one.source)]

    def verify(self) -> None:
        command = [sys.executable, "-m", "readmit", "audit", "verify", "--full"]
        place = {**os.environ, "READMIT_DB": str(self.project.store)}
        done = subprocess.run(command, env=place, capture_output=True, check=False, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def spooled(self) -> list[Path]:
        return [*spool_folder().glob("*"), *(self.project.folder / "spool").glob("*")]


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "shop")
    yield made
    made.workspace.close()


def test_words_of_the_user_are_the_users_and_commands_are_the_sessions(desk: Desk) -> None:
    desk.hook("prompt")
    desk.shell("make ports", "8080")
    desk.hook("failed shell")
    done = desk.take()
    assert (done.lines, done.said, done.done, done.observations) == (3, 1, 2, 1)
    said, did = desk.seen()
    assert (said.by, said.source, said.text) == ("user", "message", "We moved the server to port 9000.")
    assert (did.by, did.source) == (NAME, "tool_result")
    assert did.text == "$ make ports\n8080\n\n$ false (failed)\nExit code 1"
    assert {one.scope.task for one in (said, did)} == {desk.project.task}
    assert desk.spooled() == []


@pytest.mark.parametrize("client", PAYLOADS)
def test_every_kind_of_payload_of_every_client_is_taken_in(client: str, desk: Desk) -> None:
    for kind in PAYLOADS[client]:
        desk.hook(kind, client)
    done = desk.take()
    assert (done.lines, done.malformed) == (len(PAYLOADS[client]), 0)
    assert desk.texts("message") == ["We moved the server to port 9000."], "what a hook put before a prompt is not"
    assert all("8080" in text for text in desk.texts("tool_result"))


def test_a_file_that_was_read_is_a_source_that_can_be_looked_at_again(desk: Desk) -> None:
    desk.read("app.py")
    assert desk.take().files == 1
    (seen,) = desk.seen()
    assert (seen.by, seen.source, seen.text) == (NAME, "document", "PORT = 8080\n")
    assert seen.probe.path == "app.py"
    # A statement that rests on it falls with it.
    desk.rest_on_the_file()
    agent = desk.workspace.agent("codex:2", role="coding-agent", task=desk.project.task)
    agent.depart()
    (desk.top / "app.py").write_text("PORT = 9000\n")
    back = agent.come_back()
    assert "port" not in back.items
    assert back.explain("port").disposition.reasons[0] == "source_changed"


def test_what_is_read_again_unchanged_adds_nothing(desk: Desk) -> None:
    desk.read("app.py")
    desk.take()
    before = desk.workspace.epoch
    desk.read("app.py")
    desk.read("app.py", session_id="another")
    assert desk.take().files == 0
    assert desk.workspace.epoch == before
    (desk.top / "app.py").write_text("PORT = 9000\n")
    desk.read("app.py")
    assert desk.take().files == 1


def test_a_patch_of_codex_names_files_and_keeps_none_of_its_text(desk: Desk) -> None:
    patch = "*** Begin Patch\n*** Update File: app.py\n-PORT = 8080\n+PORT = 9000\n*** Delete File: x.py\n*** End Patch"
    desk.hook("shell", "codex", tool_name="apply_patch", tool_input={"command": patch})
    assert desk.take().files == 1
    assert desk.texts() == ["PORT = 8080\n"]


def test_of_a_large_file_the_lines_that_were_read_are_the_source_or_else_its_place(desk: Desk) -> None:
    (desk.top / "large.py").write_text("".join(f"LINE_{number} = {number}\n" for number in range(5_000)))
    desk.read("large.py", offset=10, limit=2)
    assert desk.take().files == 1
    assert desk.texts() == ["LINE_9 = 9\nLINE_10 = 10"]
    desk.read("large.py")
    assert desk.take().files == 1
    assert "is there" in desk.texts()[1]


LEFT_ALONE = {
    "ignored by git": "local.toml",
    "within an ignored folder": "build/out.py",
    "named like a secret": ".env",
    "with a secret in it": "settings.py",
    "outside of the checkout": "../other.py",
    "the repository's own": ".git/config",
    "a link that leads out": "link.py",
}


@pytest.mark.parametrize("why", LEFT_ALONE)
def test_files_that_are_left_alone(why: str, desk: Desk) -> None:
    (desk.top / "build").mkdir()
    path = desk.top / LEFT_ALONE[why]
    outside = desk.top.parent / "elsewhere.py"
    outside.write_text("SAFE = 1\n")
    if why == "a link that leads out":
        path.symlink_to(outside)
    elif not path.exists():
        path.write_text(f'KEY = "{KEY}"\n' if why == "with a secret in it" else "SAFE = 1\n")
    desk.read(LEFT_ALONE[why])
    done = desk.take()
    assert (done.files, done.ignored) == (0, 1)
    assert desk.seen() == []


def test_a_file_that_changed_after_the_session_read_it_is_no_source(desk: Desk) -> None:
    desk.read("app.py")
    late = time.time() + 60
    os.utime(desk.top / "app.py", (late, late))
    assert desk.take()[3:8] == (0, 0, 0, 0, 1)
    desk.read("gone.py")
    assert desk.take().changed == 1


def test_nothing_on_which_a_secret_is_found_is_stored(desk: Desk) -> None:
    desk.hook("prompt", prompt=f"Use this:\nAPI_KEY={KEY}\nand be quick")
    desk.shell(f"curl -H 'Authorization: Bearer {KEY}' x.example", f"ok\ntoken: {KEY}\ndone")
    desk.shell("cat .env", "harmless=looking")
    (desk.top / "local.toml").write_text("a = 1\n")
    desk.shell("cat local.toml", "a = 1")
    long = "x\n" * 2_900 + f"note: {KEY} {'y' * 4_000}\n" + "z\n" * 2_000
    desk.shell("make log", long)
    done = desk.take()
    assert done.left_out >= 5
    stored = "\n".join(desk.texts())
    assert "be quick" in stored
    assert "done" in stored
    for secret in (KEY, KEY[:20], "harmless", "a = 1"):
        assert secret not in stored
    desk.workspace.close()
    assert KEY.encode() not in desk.project.store.read_bytes()


def test_what_readmit_itself_said_and_sub_agents_were_told_is_nobodys_word(desk: Desk) -> None:
    desk.hook("mcp", tool_name="mcp__readmit__recall")
    desk.hook("prompt", agent_id="a1", prompt="Look into the ports")
    desk.hook("prompt", prompt="/compact")
    desk.hook("prompt", prompt="<system-reminder>Ports moved</system-reminder>")
    assert desk.take().lines == 4
    assert desk.seen() == []


def test_a_sub_agent_and_a_session_whose_lease_ran_out(desk: Desk) -> None:
    for name, seconds in ((SESSION, 600), ("crashed", 1)):
        session = session_of("claude-code", {"session_id": name})
        session_agent(desk.workspace, desk.project, session).present(lease=seconds)
    desk.shell("make a")
    desk.shell("make b", agent_id="a1")
    desk.shell("make c", session_id="crashed")
    time.sleep(1.2)
    assert desk.workspace.admin.sweep(trust_clock=True).departed
    desk.take()
    assert {one.by for one in desk.seen()} == {NAME, f"{NAME}/a1", "claude-code"}


def test_long_work_is_several_observations_of_bounded_size(desk: Desk) -> None:
    for number in range(50):
        desk.shell(f"make step-{number}", f"line of {number}\n" * 300)
    done = desk.take()
    assert (done.lines, done.done) == (50, 50)
    assert 5 < done.observations < 20
    assert max(map(len, desk.texts())) < 9_000


BROKEN = {
    "no JSON": b"{{{",
    "a number": b"7",
    "a list": b"[1]",
    "deep": b'{"at":1,"payload":' + b"[" * 20_000,
    "no moment": b'{"pid":1,"client":"codex","payload":{"cwd":"/"}}',
    "a moment to come": b'{"at":99999999999999999999,"pid":1,"client":"codex","payload":{"cwd":"/"}}',
    "a relative folder": b'{"at":1794880000000000000,"pid":1,"client":"codex","payload":{"cwd":"../.."}}',
    "a folder with a zero byte": b'{"at":1794880000000000000,"pid":1,"client":"codex","payload":{"cwd":"/a\\u0000"}}',
    "invalid UTF-8": b'{"at":1794880000000000000,"pid":1,"client":"\xff","payload":{}}',
    "too long": b"x" * (MOST_RAW * 10),
    "fields of other types": b'{"at":1794880000000000000,"pid":1,"client":"codex","kept":[]}',
}


def test_malformed_lines_are_counted_and_spoil_no_other(desk: Desk) -> None:
    desk.shell("make ports", "8080")
    (file,) = spool_folder().glob("*.jsonl")
    file.write_bytes(b"\n".join(BROKEN.values()) + b"\n" + file.read_bytes())
    done = desk.take()
    assert (done.malformed, done.done) == (len(BROKEN), 1)


HOSTILE: dict[str, dict[str, Any]] = {
    "inputs of other types": {"tool_input": {"command": ["rm", "-rf"]}, "tool_response": 7},
    "a name that leads elsewhere": {"session_id": "../../x", "tool_name": "../..", "tool_input": {"command": "a"}},
    "a path of a device": {"tool_name": "Read", "tool_input": {"file_path": "/dev/zero"}},
    "a fifo": {"tool_name": "Read", "tool_input": {"file_path": "fifo"}},
    "a path with a line break": {"tool_name": "Read", "tool_input": {"file_path": "a\nb"}},
    "surrogates": {"tool_input": {"command": "\ud800"}, "tool_response": {"stdout": "\udfff\0x"}},
    "an option for git": {"tool_name": "Read", "tool_input": {"file_path": "--help"}},
    "words that a shell would run": {"tool_input": {"command": "$(touch ran) `touch ran`; touch ran"}},
    "the owner's name": {"session_id": "owner", "agent_id": "readmit", "tool_input": {"command": "a"}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_line_holds_nothing_runs_leaks_or_hangs(name: str, desk: Desk) -> None:
    os.mkfifo(desk.top / "fifo")
    desk.hook("shell", **HOSTILE[name])
    desk.shell("make ports", "8080")
    started = time.monotonic()
    assert desk.take().lines == 2
    assert time.monotonic() - started < 10
    assert not (desk.top / "ran").exists()
    assert any("8080" in text for text in desk.texts())


def test_a_hostile_repository_does_not_run_its_settings(desk: Desk) -> None:
    git("config", "core.fsmonitor", "touch ran", cwd=desk.top)
    git("config", "alias.check-ignore", "!touch ran", cwd=desk.top)
    git("config", "core.excludesFile", "/dev/zero", cwd=desk.top)
    desk.read("app.py")
    desk.take()
    assert not (desk.top / "ran").exists()


def test_lines_of_another_project_are_its_own(desk: Desk, tmp_path: Path) -> None:
    other, stranger = repository(tmp_path / "other"), repository(tmp_path / "stranger")
    with open_project(project_of(other)) as theirs:
        desk.shell("make a")
        desk.shell("make b", cwd=str(other))
        desk.shell("make c", cwd=str(stranger))
        assert desk.take()[:4] == (1, 0, 1, 1)
        assert take_in(theirs, project_of(other)).done == 1
        assert [one.text for one in observations(theirs)] == ["$ make b"]
    assert not project_of(stranger).folder.exists()


def test_a_line_is_taken_in_once_even_if_its_file_comes_back(desk: Desk) -> None:
    desk.hook("prompt")
    desk.shell("make ports", "8080")
    (file,) = spool_folder().glob("*.jsonl")
    before = file.read_bytes()
    desk.take()
    epoch = desk.workspace.epoch
    file.write_bytes(before)
    done = desk.take()
    assert (done.lines, done.said, done.done) == (2, 0, 0)
    assert desk.workspace.epoch == epoch


def test_what_a_deadline_cuts_off_is_the_next_ones_with_the_same_observations(desk: Desk, tmp_path: Path) -> None:
    for number in range(40):
        desk.shell(f"make step-{number}", f"line of {number}\n" * 80)
    (file,) = spool_folder().glob("*.jsonl")
    kept = file.read_bytes()
    first = desk.take(deadline=time.monotonic())
    assert first.waiting > 0
    assert 0 < first.lines < 40
    # Killed before its rest was written: the file is as it was.
    for path in (desk.project.folder / "spool").glob("*.jsonl"):
        path.write_bytes(kept)
    desk.take()
    texts = desk.texts()
    assert len(set(texts)) == len(texts)
    assert [sum(f"make step-{number}\n" in text for text in texts) for number in range(40)] == [1] * 40


def test_two_take_ins_at_once_do_the_work_of_one(desk: Desk) -> None:
    desk.shell("make ports")
    with alone(desk.project.folder / "spool.lock") as only:
        assert only
        assert desk.take() == TakenIn()
    assert desk.take().done == 1


def test_a_writer_that_is_within_a_file_is_waited_for(desk: Desk) -> None:
    import fcntl

    desk.shell("make ports")
    (file,) = spool_folder().glob("*.jsonl")
    with file.open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH)
        assert read_claimed(file) is None
    assert read_claimed(file) is not None


KILLED = """
import os, sys, threading
from pathlib import Path
from readmit.clients import take_in as module
from readmit.clients.project import open_project, project_of
point, cwd = sys.argv[1], Path(sys.argv[2])
project = project_of(cwd)
workspace = open_project(project)

def die(*_, **__):
    os.kill(os.getpid(), 9)

if point == "claimed":
    module.read_claimed = die
elif point == "read":
    module._Batch.write = die
elif point == "within the commit":
    module._Batch._write_group = die
elif point == "committed":
    module.replace_rest = die
module.take_in(workspace, project)
print("done")
"""


@pytest.mark.parametrize("point", ["claimed", "read", "within the commit", "committed", "never"])
def test_killed_at_any_point_nothing_is_lost_and_nothing_is_there_twice(point: str, desk: Desk) -> None:
    desk.hook("prompt")
    desk.shell("make ports", "8080")
    desk.read("app.py")
    command = [sys.executable, "-c", KILLED, point, str(desk.top)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode == -signal.SIGKILL) == (point != "never"), done.stderr
    desk.shell("make more", "9000")
    desk.take()
    assert sorted(desk.texts()) == sorted(
        ["We moved the server to port 9000.", "$ make ports\n8080", "PORT = 8080\n", "$ make more\n9000"]
    )
    desk.verify()
    assert desk.spooled() == []


def test_processes_that_take_in_together_with_writers_lose_nothing(desk: Desk) -> None:
    taker = (
        "import sys\nfrom pathlib import Path\nfrom readmit.clients.take_in import take_in\n"
        "from readmit.clients.project import open_project, project_of\n"
        "project = project_of(Path(sys.argv[1]))\n"
        "with open_project(project) as workspace:\n    for _ in range(8): take_in(workspace, project)\n"
    )
    takers = [subprocess.Popen([sys.executable, "-c", taker, str(desk.top)]) for _ in range(2)]
    for number in range(60):
        desk.shell(f"make step-{number}", prompt_id=f"p{number}")
        time.sleep(0.01)
    assert [one.wait(60) for one in takers] == [0, 0]
    desk.take()
    uses = [use for text in desk.texts() for use in text.split("\n\n")]
    assert sorted(uses) == sorted(f"$ make step-{number}" for number in range(60))


def test_a_look_keeps_no_secret_that_a_source_holds_now(desk: Desk) -> None:
    desk.read("app.py")
    desk.take()
    desk.rest_on_the_file()
    agent = desk.workspace.agent("codex:2", role="coding-agent", task=desk.project.task)
    agent.depart()
    (desk.top / "app.py").write_text(f'KEY = "{KEY}"\n')
    back = agent.come_back()
    assert "port" not in back.items
    assert not any(KEY in text for text in desk.texts())

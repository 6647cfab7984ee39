"""``readmit today``, ``status`` and ``page --project``: what a person reads about a project, from its real store."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from readmit.clients.known_clients import CLIENTS
from readmit.clients.memory_import import import_memory
from readmit.clients.project import open_project, project_of
from readmit.clients.session import Session, session_agent
from tests.cli.run import run, said
from tests.clients.home import repository

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.clients.project import Project

MEMORY = "# Shop\n\n- The server has `port = 8080`.\n- Be kind.\n- Ship on Fridays.\n"


@pytest.fixture
def project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout whose memory was read, and then edited: one line changed, one is gone."""
    top = repository(tmp_path / "shop", CLAUDE__md=MEMORY, config__toml="port = 8080\n", readme__md="Fee\n")
    monkeypatch.chdir(top)
    found = project_of(top)
    files = CLIENTS["claude-code"].memory_files(found)
    with open_project(found) as workspace:
        import_memory(workspace, found, files)
        agent = session_agent(workspace, found, Session("claude-code", "one"))
        agent.depart()
        agent.come_back().expose()
        (top / "config.toml").write_text("port = 9000\n")
        (top / "CLAUDE.md").write_text(MEMORY.replace("port = 8080", "port = 9000").replace("- Ship on Fridays.\n", ""))
        import_memory(workspace, found, files)
    return found


def test_today_says_what_stands_what_fell_and_what_it_says_now(project: Project) -> None:
    report = said("today")
    assert [(one["text"], one["where"]) for one in report["remembered"]] == [
        ("Be kind.", "CLAUDE.md:4"),
        ("The server has `port = 9000`.", "CLAUDE.md:3"),
    ]
    fell = {one["text"]: one for one in report["fell"]}
    edited, deleted = fell["The server has `port = 8080`."], fell["Ship on Fridays."]
    assert (edited["state"], edited["instead"]) == ("superseded", "The server has `port = 9000`.")
    assert (deleted["state"], deleted["instead"], "was deleted" in deleted["why"]) == ("revoked", "", True)
    assert [(one["name"], one["left"], one["handed"]) for one in report["sessions"]] == [("claude-code:one", False, 3)]
    shown = run("today").output
    assert "was  The server has `port = 8080`.\n    now  The server has `port = 9000`.\n" in shown
    assert "2 statements stand, 2 fell, 0 wait for you" in shown


def test_a_draft_and_a_settlement_wait_and_are_decided_in_one_word(project: Project) -> None:
    from readmit.clients.agent_tools.session_tools import SessionTools
    from readmit.clients.agent_tools.tool_inputs import tool_input

    with open_project(project) as workspace:
        workspace.oblige("Write the notes", id="notes", required=[], by="user", task=project.task)
        session = Session("claude-code", "two")
        agent = session_agent(workspace, project, session)
        agent.depart()
        agent.come_back().expose()
        tools = SessionTools(workspace, project, session)
        kept = tools.call(tool_input("remember", {"text": "The tests need Redis."}))["remembered"]
        wrong = tools.call(tool_input("remember", {"text": "The moon is a cheese."}))["remembered"]
        done = tools.call(tool_input("settle", {"duty": "notes", "reason": "The notes are in NOTES.md."}))["proposed"]
    waits = {one["id"]: one for one in said("today")["waits"]}
    assert {name: one["kind"] for name, one in waits.items()} == {kept: "draft", wrong: "draft", done: "settlement"}
    assert waits[done]["texts"] == ["The notes are in NOTES.md.", "Write the notes"]
    assert "an agent says that a duty is done" in run("today").output
    assert "no draft waits under it" in run("today", "--accept", "nothing", status=1).output
    assert "the beginning of 2 ids" in run("today", "--accept", "agent-", status=1).output
    after = said("today", "--accept", kept[:12], "--accept", done, "--refuse", wrong)
    assert after["waits"] == []
    assert "The tests need Redis." in [one["text"] for one in after["remembered"]]
    assert "The moon is a cheese." in [one["text"] for one in after["fell"]]
    with open_project(project) as workspace:
        assert "notes" not in [one["id"] for one in said("today")["remembered"]], "the duty is settled"


def test_disputes_wait_and_are_not_among_what_fell(project: Project) -> None:
    (port, *_) = [one for one in said("today")["remembered"] if "port" in one["text"]]
    with open_project(project) as workspace:
        dispute = workspace.dispute([port["id"]], by="user", reason="the server says 80")
    report = said("today")
    assert [(one["id"], one["kind"], one["texts"]) for one in report["waits"]] == [(dispute, "dispute", [port["text"]])]
    assert port["text"] not in [one["text"] for one in report["fell"]]
    assert "readmit resolve ID" in run("today").output


def test_where_no_agent_works_today_says_what_to_do(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository(tmp_path / "empty")
    monkeypatch.chdir(top)
    assert "run `readmit install`" in run("today", status=1).output
    assert "run `readmit install`" in run("page", "--project", "--to", "p.html", status=1).output
    assert "readmit.db does not exist" in run("status", status=1).output
    with open_project(project_of(top)):
        pass
    assert said("today")["remembered"] == []
    assert "0 statements stand, 0 fell" in run("today").output
    assert run("status").output == "readmit: no session has started here yet\n"


STATUSES = {
    "a start": (
        {"kind": "admitted", "moment": "start", "items": 12, "withdrawn": 3, "in_doubt": 1, "unseen": 2},
        "readmit: 3 no longer hold, 1 in doubt, 2 not looked at, 12 handed over",
    ),
    "nothing fell": ({"kind": "admitted", "moment": "start", "items": 1}, "readmit: nothing fell, 1 handed over"),
    "blocked": ({"kind": "blocked", "moment": "start", "withdrawn": 2}, "readmit: blocked, 2 no longer hold"),
    "an end": ({"kind": "departed", "moment": "end"}, "readmit: departed"),
    "a failure": ({"kind": "failed", "fault": "disk\n\x1b[31mfull"}, "readmit: memory was not checked: disk  [31mfull"),
    "hostile": ({"kind": "x\n", "items": "9" * 99, "withdrawn": True, "at": 3, "moment": []}, "readmit: nothing fell"),
}


@pytest.mark.parametrize("name", STATUSES)
def test_the_status_is_one_line_from_a_file_alone(project: Project, name: str) -> None:
    given, line = STATUSES[name]
    project.status_file.write_text(json.dumps(given))
    project.store.rename(project.folder / "elsewhere.db")
    assert run("status").output == f"{line}\n"
    command = [sys.executable, "-m", "readmit", "status"]
    done = subprocess.run(command, cwd=project.worktree, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{line}\n", "")


def test_the_line_says_how_long_ago(project: Project) -> None:
    project.status_file.write_text(json.dumps({"kind": "admitted", "items": 1, "at": "2020-01-01T00:00:00Z"}))
    assert run("status").output.startswith("readmit: nothing fell, 1 handed over · ")
    assert run("status").output.endswith(" d ago\n")


def test_a_status_bar_loads_no_store_and_no_command(project: Project) -> None:
    project.status_file.write_text("{}")
    start = "import sys; sys.argv = ['readmit', 'status']; import readmit.__main__ as program; program.command_line()"
    command = [sys.executable, "-c", f"{start}; print(*sys.modules)"]
    done = subprocess.run(command, cwd=project.worktree, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert not [one for one in loaded if one in {"click", "sqlite3", "readmit.cli", "cryptography", "readmit.log"}]


def test_a_named_store_is_shown_as_before(project: Project) -> None:
    project.status_file.write_text("{}")
    assert "Workspace default in" in run("status", "--db", project.store).output


def test_the_page_of_a_project_shows_both_sides_and_no_markup_of_strangers(project: Project, tmp_path: Path) -> None:
    with open_project(project) as workspace:
        seen = workspace.observe("<script>alert(1)</script>", by="user", task=project.task)
        workspace.record("<script>alert(1)</script>", by="user", sources=[seen], task=project.task)
    page = tmp_path / "project.html"
    run("page", "--project", "--to", page)
    html = page.read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    for text in ("It said", "It says now", "port = 8080", "port = 9000", "claude-code:one", "Be kind."):
        assert text in html, text
    assert (
        "give one of RETURN, --item, --slot and --project"
        in run("page", "--project", "--slot", "a", "--to", page, status=2).output
    )

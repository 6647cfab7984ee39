"""A text that is forgotten in a coding agent's project is in none of the files that readmit keeps beside the store."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from readmit.clients.intake import forget_beside
from readmit.clients.intake.model_drafts import choose_model, read_transcripts
from readmit.clients.memory_import import import_memory, imported_lines
from readmit.clients.moments.session_file import SessionFile, load_session, save_session
from readmit.clients.project import data_folder, spool_folder
from readmit.clients.session import Session
from readmit.clients.take_in import alone
from tests.cli.run import run, said
from tests.clients.test_transcripts import Written, claims, model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAID = "From now on the server listens on port 9000."
LINE = "Ms. Ito lives at 3 Hill Road."


def load(desk: Written) -> None:
    import_memory(desk.workspace, desk.project, [desk.top / "CLAUDE.md"])


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path / "shop", home)
    (made.top / "CLAUDE.md").write_text(f"# Notes\n\n- {LINE}\n- Be kind to all of them.\n")
    load(made)
    yield made
    made.workspace.close()


def forgotten(desk: Written, *targets: str) -> Any:
    return said("forget", *targets, "--reason", "asked for", "--yes", "--db", desk.project.store)


def still(text: str) -> list[str]:
    """The files in readmit's data folder that hold a text."""
    return [
        str(path.relative_to(data_folder()))
        for path in data_folder().rglob("*")
        if path.is_file() and (text.encode() in path.read_bytes() or text[:20].encode() in path.read_bytes())
    ]


def observed(desk: Written, text: str) -> list[str]:
    """The ids of observations that hold a text."""
    found = [event for event in desk.workspace.admin.log.tail() if str(event.kind) == "observe"]
    return [event.id for event in found if text in getattr(event.payload, "text", "")]


def test_a_line_of_a_memory_file(desk: Written) -> None:
    name = next(one for one, (_, line) in imported_lines(desk.project).items() if line.text == LINE)
    assert any("memory/" in path for path in still(LINE))
    gone = forgotten(desk, name, *observed(desk, LINE))
    assert still(LINE) == []
    assert "CLAUDE.md:3" in gone["left"], "the file itself still says it"
    load(desk)
    assert still(LINE) == [], "an import of the unchanged file does not bring it back"
    assert [line.text for _, line in imported_lines(desk.project).values()] == ["Be kind to all of them."]


def test_words_of_the_user_that_wait_in_the_spool_and_what_a_model_drafted(desk: Written) -> None:
    desk.says("claude-code", SAID)
    desk.take()
    choose_model("recorded:/answers.jsonl?model=m")
    read_transcripts(desk.workspace, desk.project, model())
    assert desk.drafts()
    assert claims(SAID)["items"]
    desk.says("claude-code", SAID)
    desk.shell("make ports", f"{SAID}\nand more")
    desk.shell("make kept", "another thing")
    gone = forgotten(desk, *observed(desk, SAID))
    assert still(SAID) == []
    assert "/answers.jsonl" in gone["left"]
    assert str(desk.paths["claude-code"]) in gone["left"]
    desk.take()
    assert desk.texts("tool_result")[-1] == "$ make kept\nanother thing"
    assert still(SAID) == []


def test_a_file_tools_payload_in_the_spool_that_holds_the_text_of_a_file(desk: Written) -> None:
    (desk.top / "hill.txt").write_text(f"{LINE}\n")
    desk.read("hill.txt")
    desk.take()
    desk.hook("read", tool_response={"file": {"content": f"1\t{LINE}\n"}})
    assert any(path.startswith("spool/") for path in still(LINE))
    forgotten(desk, *observed(desk, LINE), *(one for one in imported_lines(desk.project)))
    assert still(LINE) == []


def test_what_sessions_hold_and_a_fault_that_repeats_it(desk: Written) -> None:
    held, other = Session("codex", "one"), Session("codex", "two")
    probes: dict[str, list[dict[str, Any]]] = {"CLAUDE.md": [{"of": "file", "path": "CLAUDE.md", "quote": LINE}]}
    save_session(held, SessionFile(str(desk.top), probes=probes))
    save_session(other, SessionFile(str(desk.top.parent)))
    desk.project.faults_file.write_text(f"start codex: RecordError: {LINE}\n")
    name = next(one for one, (_, line) in imported_lines(desk.project).items() if line.text == LINE)
    forgotten(desk, name, *observed(desk, LINE))
    assert still(LINE) == []
    assert load_session(held) is None
    assert load_session(other) is not None, "a session of another project keeps what it holds"


def test_a_command_that_finds_no_store_names_the_one_of_the_checkout(
    desk: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.top)
    said = run("forget", "mail-17", "--reason", "asked for", "--yes", status=1).output
    assert f"what coding agents remember about this checkout is in `--db {desk.project.store}`" in said
    monkeypatch.chdir(desk.top.parent)
    assert "run `readmit init --db readmit.db`" in run("forget", "x", "--reason", "asked", "--yes", status=1).output


def test_it_waits_for_what_is_being_taken_in(desk: Written) -> None:
    desk.says("codex", SAID)
    desk.take()
    with alone(desk.project.folder / "spool.lock") as only:
        assert only
        done: list[Any] = []
        worker = threading.Thread(target=lambda: done.append(forgotten(desk, *observed(desk, SAID))))
        worker.start()
        time.sleep(0.5)
        assert not done
    worker.join(30)
    assert done


def test_it_refuses_if_that_does_not_end(desk: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forget_beside, "_PATIENCE", 0.2)
    desk.says("codex", SAID)
    desk.take()
    with alone(desk.project.folder / "spool.lock"):
        words = ("forget", *observed(desk, SAID), "--reason", "asked for", "--yes", "--db", desk.project.store)
        assert "repeat it" in run(*words, status=1).output
    assert still(SAID)


def test_spooled_lines_of_others_stay(desk: Written) -> None:
    desk.says("codex", SAID)
    desk.take()
    desk.shell("make ports", "8080")
    before = [path.read_bytes() for path in spool_folder().glob("*.jsonl")]
    forgotten(desk, *observed(desk, SAID))
    assert [path.read_bytes() for path in spool_folder().glob("*.jsonl")] == before

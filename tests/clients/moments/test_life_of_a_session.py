"""Sessions from their start to their end, each moment a process of its own, with a real store."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.payloads import PAYLOADS

if TYPE_CHECKING:
    from tests.clients.moments.conftest import Shop


def test_the_first_session_is_a_start_and_no_error(shop: Shop) -> None:
    said = shop.start()
    assert (said.status, said.errors) == (0, "")
    assert said.out_of_date == []
    assert "4 statements are known here and not repeated" in said.text
    assert "Prices are made" not in said.text, "the client loads it itself"
    assert (shop.status["kind"], shop.status["items"], shop.status["withdrawn"]) == ("admitted", 4, 0)
    assert shop.faults == ""


def test_a_new_session_is_told_which_lines_of_its_memory_do_not_hold(shop: Shop) -> None:
    rename_prices(shop)
    [line] = shop.start().out_of_date
    assert "Prices are made in `src/prices.py`." in line
    assert "CLAUDE.md:3" in line
    assert "renamed to src/costs.py" in line
    assert shop.status["withdrawn"] == 1


def test_a_line_that_fell_is_not_counted_among_those_that_nobody_could_look_at(shop: Shop) -> None:
    rename_prices(shop)
    shop.start()
    with shop.workspace() as workspace:
        admin = workspace.as_owner().admin
        admin.govern(admin.policy.changed(looks={"lifetime": 0}))
    time.sleep(1.1)  # nobody looks again at what a line rested on that fell, so its last look grows old
    again = shop.start(session="s2")
    assert len(again.out_of_date) == 1
    assert "could not be looked at" not in again.text
    assert shop.status["unseen"] == 0


def test_a_resumed_session_is_told_what_fell_and_a_new_one_only_of_its_files(shop: Shop) -> None:
    first = shop.start()
    shop.end()
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    shop.edit("CLAUDE.md", "- Release with `make ship`.\n", "")
    again = shop.start("resume")
    assert len(again.out_of_date) == 2
    assert any("`We ship on Monday.`" in one and "instead: `We ship on Tuesday.`" in one for one in again.out_of_date)
    assert any("make ship" in one and "the line was deleted" in one for one in again.out_of_date)
    assert return_id(again.text) != return_id(first.text)
    assert shop.start(session="s2").out_of_date == [], "it never read the lines that were there before"
    assert shop.start("clear", session="s3").out_of_date == []
    shop.end()
    assert shop.start("resume").out_of_date == [], "it was told"


def test_a_prompt_is_told_once_when_a_file_changed_on_which_something_rests(shop: Shop) -> None:
    shop.start()
    assert shop.prompt().out == ""
    shop.edit("config.toml", "8080", "9090")
    [line] = shop.prompt().out_of_date
    assert "The server has `port = 8080`." in line
    assert "config.toml says 9090" in line
    assert shop.prompt().out == "", "it was told"
    shop.edit("src/prices.py", "3", "4")
    assert shop.prompt().out == "", "the file changed, and what it vouches for stands"
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    [line] = shop.prompt().out_of_date
    assert "We ship on Monday." in line
    shop.end()
    assert shop.prompt().out == "", "it ended"


def test_every_session_is_told_by_its_own_prompt(shop: Shop) -> None:
    shop.start(session="s1")
    shop.start(session="s2")
    shop.edit("config.toml", "8080", "9090")
    assert len(shop.prompt(session="s1").out_of_date) == 1
    assert len(shop.prompt(session="s2").out_of_date) == 1, "although the other one's prompt found it first"
    shop.end(session="s1")
    assert shop.prompt(session="s2").out == ""
    shop.edit("Makefile", "ship: test", "release: test")
    assert len(shop.prompt(session="s2").out_of_date) == 1, "the other one's end did not send it away"


def test_a_session_that_was_killed_returns_from_its_last_view(shop: Shop) -> None:
    shop.start()
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    [line] = shop.start("resume").out_of_date
    assert "We ship on Monday." in line


def test_a_compaction_forgets_what_was_told_so_it_is_told_again(shop: Shop) -> None:
    shop.start()
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    assert len(shop.prompt().out_of_date) == 1
    assert shop.hook("compact", "compact").out == ""
    assert len(shop.start("compacted").out_of_date) == 1
    shop.end()
    assert shop.start("resume").out_of_date == []
    assert shop.hook("compact", "compact").out == ""
    assert len(shop.start("compacted").out_of_date) == 1


def test_a_fork_inherits_what_its_parent_held(shop: Shop) -> None:
    shop.start(session="p1", client="codex")
    shop.write("AGENTS.md", "- We pack on Monday.\n")
    shop.end(session="p1", client="codex")
    shop.start("resume", session="p1", client="codex")
    shop.write("AGENTS.md", "- We pack on Tuesday.\n")
    transcript = shop.top.parent / "rollout.jsonl"
    transcript.write_text(json.dumps({"type": "session_meta", "payload": {"forked_from_id": "p1"}}))
    fork = shop.start("fork", session="f1", client="codex", transcript_path=str(transcript))
    assert any("We pack on Monday." in one for one in fork.out_of_date)
    [line] = shop.start("fork", session="f2").out_of_date
    assert "We pack on Monday." in line, "its parent is unknown, so it may hold anything that fell"
    assert shop.start(session="s2").out_of_date == []


def test_files_that_the_client_does_not_load_are_handed_over_with_their_place(shop: Shop) -> None:
    shop.start()
    said = shop.start(session="c1", client="codex")
    assert said.section("Holds")[-1] == "- `We ship on Monday.` (`CLAUDE.md:6`)"
    shop.end(session="c1", client="codex")
    shop.edit("CLAUDE.md", "ship on Monday", "ship on Friday")
    shop.start(session="s2")
    again = shop.start("resume", session="c1", client="codex")
    assert again.section("New since you left") == ["- `We ship on Friday.` (`CLAUDE.md:6`)"]
    assert ["We ship on Monday." in one for one in again.out_of_date] == [True]


@pytest.mark.parametrize("client", PAYLOADS)
def test_every_client_reads_the_same_form_and_ends_and_compactions_say_nothing(shop: Shop, client: str) -> None:
    said = shop.start(client=client)
    given = json.loads(said.out)["hookSpecificOutput"]
    assert given["hookEventName"] == "SessionStart"
    assert "return `" in given["additionalContext"]
    assert shop.hook("compact", "compact", client=client).out == ""
    assert shop.end(client=client).out == ""
    assert shop.status["kind"] == "departed"
    assert shop.faults == ""


def test_a_session_that_goes_into_a_package_keeps_its_task(shop: Shop) -> None:
    shop.write("web/package.json", "{}")
    shop.commit()
    shop.start()
    shop.edit("config.toml", "8080", "9090")
    assert len(shop.prompt(cwd=str(shop.top / "web")).out_of_date) == 1
    assert shop.end(cwd=str(shop.top / "web")).out == ""
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    assert len(shop.start("resume").out_of_date) == 2, "the setting still stands in the file, and is wrong"


UNVOUCHED: dict[str, dict[str, Any]] = {
    "a tool": {"by": "claude-code:s9", "source": "tool_result"},
    "a tool, in the user's name": {"by": "user", "source": "tool_result"},
    "another session": {"by": "claude-code:s9", "source": "message"},
}


@pytest.mark.parametrize("evidence", UNVOUCHED.values(), ids=UNVOUCHED)
def test_what_nobody_vouches_for_is_counted_until_a_person_confirms_it(shop: Shop, evidence: dict[str, Any]) -> None:
    shop.start()
    shop.end()
    task, by = shop.project.task, evidence["by"]
    with shop.workspace() as workspace:
        seen = workspace.observe("deploy: host h9", task=task, **evidence)
        workspace.record("The deploy host is h9.", id="host", sources=[seen], task=task, by=by)
        said = workspace.observe("We moved to port 9000.", task=task, by="user")
        workspace.record("The port is 9000 now.", id="port", sources=[said], task=task, by="user")
    again = shop.start("resume")
    assert ["The port is 9000 now." in one for one in again.section("New since you left")] == [True]
    assert "h9" not in again.text
    assert "1 statement from tools or transcripts, which nobody has confirmed" in again.text
    with shop.workspace() as workspace:
        workspace.revoke("host", by=by, reason="it was h8")
    shop.end()
    assert "h9" not in shop.start("resume").text, "nor as withdrawn"


def test_a_blocked_return_says_what_is_missing_and_what_fell(shop: Shop) -> None:
    shop.start()
    shop.end()
    with shop.workspace() as workspace:
        workspace.oblige("Write the notes", id="o1", required=["notes"], by="user", task=shop.project.task)
    shop.edit("CLAUDE.md", "on Monday", "on Tuesday")
    said = shop.start("resume")
    assert "The return was blocked: nothing is handed over to act on. Missing: notes." in said.text
    assert ["We ship on Monday." in one for one in said.out_of_date] == [True]
    assert said.section("Holds") == said.section("New since you left") == []
    assert shop.status["kind"] == "blocked"


def rename_prices(shop: Shop) -> None:
    shop.write("src/costs.py", (shop.top / "src/prices.py").read_text())
    (shop.top / "src/prices.py").unlink()
    shop.commit()


def return_id(text: str) -> str:
    return text.partition("(return `")[2].partition("`")[0]

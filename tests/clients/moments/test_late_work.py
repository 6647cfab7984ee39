"""What no client waits for: the spool is taken in, late imports are made, and sessions without a word depart."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from readmit.clients.hook import OTHER_SECONDS
from readmit.clients.memory_import import imported_lines
from readmit.clients.project import data_folder, spool_folder
from readmit.clients.session import Session, session_agent

if TYPE_CHECKING:
    from tests.clients.moments.conftest import Shop

PATIENCE = 60
GONE = Session("codex", "gone")


def work(shop: Shop) -> None:
    command = [sys.executable, "-m", "readmit.clients.moments.late_work", "claude-code", str(shop.top)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_prompt_goes_into_the_spool_and_is_taken_in_after_the_end(shop: Shop) -> None:
    shop.start()
    shop.prompt(prompt="We moved the server to port 9000.")
    assert b"port 9000" in b"".join(path.read_bytes() for path in spool_folder().glob("*.jsonl"))
    shop.end()
    end = time.monotonic() + PATIENCE
    while any(spool_folder().glob("*.jsonl")):
        assert time.monotonic() < end, "nobody took the spool in"
        time.sleep(0.2)
    work(shop)
    again = shop.start("resume")
    assert "1 observation on which nothing rests" in again.text
    assert "9000" not in again.text


def test_memory_files_that_no_start_had_time_for_are_imported(shop: Shop) -> None:
    shop.workspace().close()
    work(shop)
    assert len(imported_lines(shop.project)) == 4


def test_what_an_import_finds_that_a_start_had_no_time_for_is_said_at_a_prompt(shop: Shop) -> None:
    shop.start(session="other")
    shop.edit("CLAUDE.md", "- We ship on Monday.\n", "- We ship on Monday.\n- Pack with `make pack`.\n")
    with (shop.project.folder / "memory.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # it imports for longer than a start can wait
        late = shop.hook("start", "startup", environment={OTHER_SECONDS: "6"})
    assert "another import is under way; that goes on, and a prompt will say what fell" in late.text
    assert late.out_of_date == []
    end = time.monotonic() + PATIENCE
    while not any(line.finding for _, line in imported_lines(shop.project).values()):
        assert time.monotonic() < end, "nobody went on"
        time.sleep(0.1)
    [line] = shop.prompt().out_of_date
    assert "Pack with `make pack`." in line
    assert shop.prompt().out == "", "it was told"


def test_a_line_for_which_nothing_vouches_is_checked_again_after_a_commit(shop: Shop) -> None:
    """Two files declare the function: neither vouches for it, and no probe falls when both lose it."""
    for name in ("src/prices.py", "src/offers.py"):
        shop.write(name, "def round_up(item):\n    return 3\n")
    shop.edit("CLAUDE.md", "- We ship on Monday.\n", "- We ship on Monday.\n- Prices go through `round_up()`.\n")
    shop.commit()
    assert shop.start().out_of_date == []
    for name in ("src/prices.py", "src/offers.py"):
        shop.edit(name, "round_up", "rounded")
    shop.commit()
    assert shop.start("resume").out_of_date == []
    end = time.monotonic() + PATIENCE
    while not any(line.finding for _, line in imported_lines(shop.project).values()):
        assert time.monotonic() < end, "nobody checked it again"
        time.sleep(0.1)
    [line] = shop.prompt().out_of_date
    assert "round_up" in line


def test_a_session_whose_lease_ran_out_departs(shop: Shop) -> None:
    shop.start()
    with shop.workspace() as workspace:
        session_agent(workspace, shop.project, GONE).present(lease=1)
    time.sleep(1.1)
    work(shop)
    with shop.workspace() as workspace:
        assert session_agent(workspace, shop.project, GONE).departed().reason == "lease_expired"
    assert shop.start("resume").out_of_date == [], "the other session is not sent away"


def test_sessions_that_were_not_heard_of_for_weeks_are_forgotten(shop: Shop) -> None:
    shop.start(session="old")
    shop.start(session="new")
    old = next((data_folder() / "sessions").glob("*old.json"))
    month = time.time() - 30 * 24 * 3_600
    os.utime(old, (month, month))
    work(shop)
    assert [path.name for path in (data_folder() / "sessions").glob("*.json")] == ["claude-code-new.json"]


def test_without_a_store_nothing_is_begun(shop: Shop) -> None:
    work(shop)
    assert not shop.project.store.exists()

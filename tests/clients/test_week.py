"""The script of the week is what it says: forty commits, and labels of lines that somebody remembers."""

from __future__ import annotations

import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from benchmarks.week.commits import COMMITS, start_repository
from benchmarks.week.sessions import BECOME_FALSE, SESSIONS

if TYPE_CHECKING:
    from pathlib import Path

MEMORY_FILES = ("CLAUDE.md", "AGENTS.md", ".claude/rules/tests.md")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[set[str]]]:
    """The repository after the week, and the remembered lines at each commit."""
    top = tmp_path_factory.mktemp("week") / "ferry"
    start_repository(top)
    held = []
    for commit in COMMITS:
        commit.apply(top)
        texts = [(top / name).read_text(encoding="utf-8").splitlines() for name in MEMORY_FILES]
        held.append({line.removeprefix("- ") for lines in texts for line in lines if line.startswith("- ")})
    return top, held


def test_forty_commits_five_sessions_two_agents(played: tuple[Path, list[set[str]]]) -> None:
    log = subprocess.run(["git", "log", "--oneline"], cwd=played[0], capture_output=True, text=True, check=True)
    assert len(log.stdout.splitlines()) == len(COMMITS) == 40
    assert Counter(one.client for one in SESSIONS) == {"claude-code": 3, "codex": 2}
    assert [one.commits for one in SESSIONS] == sorted(one.commits for one in SESSIONS)


def test_each_line_that_becomes_false_is_remembered_before(played: tuple[Path, list[set[str]]]) -> None:
    assert len({one.text for one in BECOME_FALSE}) == len(BECOME_FALSE)
    for line in BECOME_FALSE:
        assert bool(line.commit) != bool(line.said), line.text
        before = line.commit - 2 if line.commit else SESSIONS[line.said - 1].commits - 1
        noted = {note for one in SESSIONS if one.commits <= before + 1 for note in one.notes}
        assert line.text in played[1][before] | noted, line.text


def test_about_half_of_it_stays_true(played: tuple[Path, list[set[str]]]) -> None:
    everything = {line for held in played[1] for line in held} | {note for one in SESSIONS for note in one.notes}
    assert (len(everything), len(BECOME_FALSE)) == (56, 30)

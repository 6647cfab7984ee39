"""A returned agent's thread and store in processes that start later, or work beside each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite")
pytest.importorskip("langgraph.checkpoint.postgres", reason="needs langgraph-checkpoint-postgres")

from tests.backends.langgraph.children import STORE, leave_in_the_middle, worker

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.backends


@pytest.fixture(params=["sqlite", "postgres"])
def threads(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the threads are; the workspace's store is of the same kind."""
    if request.param == "sqlite":
        return str(tmp_path / "threads.db")
    monkeypatch.setenv(STORE, request.getfixturevalue("fresh_url")())
    url: str = request.getfixturevalue("postgres")
    return url


def test_after_a_restart_the_agent_is_still_back(tmp_path: Path, threads: str) -> None:
    leave_in_the_middle(tmp_path, threads, "planner")
    asked = worker("resume", tmp_path, threads, seed=1)
    assert "__interrupt__" in asked
    assert "Lowland" in asked["view"]
    before = worker("look", tmp_path, threads, seed=2)
    assert (before["held"], before["next"]) == (None, ["both"]), "sets and joins read as they were written"
    assert worker("search", tmp_path, threads, seed=3) == ["Lowland"]
    done = worker("answer", tmp_path, threads, seed=4)
    assert done["known"] == "['Lowland']"
    assert done["step"] == "1", "nothing ran a second time"
    assert done["words"] == sorted(f"word {n}" for n in range(30))
    assert worker("look", tmp_path, threads, seed=5)["head"] == before["head"], "one return serves every process"


def test_two_workers_serve_the_threads_of_one_agent(tmp_path: Path, threads: str) -> None:
    leave_in_the_middle(tmp_path, threads, "a", "b")
    with ThreadPoolExecutor(2) as both:
        asked = list(both.map(lambda one: worker("resume", tmp_path, threads, one, seed=ord(one)), "ab"))
        assert all("Lowland" in one["view"] for one in asked)
        done = list(both.map(lambda one: worker("answer", tmp_path, threads, one, seed=3), "ba"))
    assert [one["known"] for one in done] == ["['Lowland']"] * 2


def test_after_a_restart_an_agent_that_is_away_is_still_away(tmp_path: Path, threads: str) -> None:
    leave_in_the_middle(tmp_path, threads, "planner")
    assert worker("look", tmp_path, threads)["held"] == "held"
    with pytest.raises(AssertionError, match="has departed: let it come back"):
        worker("search", tmp_path, threads)

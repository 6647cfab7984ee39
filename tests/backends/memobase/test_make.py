"""``make test-memobase`` against a server: here the stand-in, as one that the tests know nothing about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("memobase", reason="needs memobase: pip install 'readmit[memobase]'")

from tests.backends.memobase.stand_in import KEY, StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.backends, pytest.mark.usefixtures("stand_in")]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def another() -> Iterator[StandIn]:
    running = StandIn()
    yield running
    running.stop()


def make(*given: str) -> subprocess.CompletedProcess[str]:
    environment = sys.prefix
    command = ["make", "test-memobase", "-o", f"{environment}/.ready", f"BACKENDS={environment}", *given]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)


def test_it_selects_the_whole_folder() -> None:
    done = make("URL=http://127.0.0.1:9", "KEY=k", "PYTEST_ARGS=--collect-only -q")
    assert done.returncode == 0, done.stdout + done.stderr
    for part in (
        "test_conformance.py::TestMemobase",
        "test_memobase.py::TestFlush",
        "test_rewriting.py",
        "test_lists.py",
    ):
        assert part in done.stdout
    assert "deselected" not in done.stdout


def test_it_runs_against_the_server_that_is_named(another: StandIn) -> None:
    chosen = "PYTEST_ARGS=-q -p no:cacheprovider -k 'test_server or TestReorganizing or TestFlush or TestMissing'"
    done = make(f"URL={another.url}", f"KEY={KEY}", chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
    assert another.project.users, "the tests wrote to it"
    assert KEY not in done.stdout, "the key is not printed"


@pytest.mark.parametrize("given", [[], ["URL=http://127.0.0.1:9"], ["KEY=k"]])
def test_it_does_not_fall_back_to_the_stand_in(given: list[str]) -> None:
    done = make(*given)
    assert done.returncode == 2
    assert "URL=" in done.stderr
    assert "passed" not in done.stdout

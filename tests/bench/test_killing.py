"""Killed and interrupted runs with models, as real processes against a real endpoint: nothing is lost or paid twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.bench.answers_by_file import answer_all
from tests.bench.data import SMOKE
from tests.bench.endpoint import AnsweringEndpoint

from readmit.lab import Status
from readmit.models import check_batch
from readmit_bench.results import ANSWERS, RESULTS, read_results

pytestmark = pytest.mark.slow
pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("filelock", reason="batch files need readmit[models]")

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# For what comes within seconds, unless the machine is busy.
WAIT = 240
AT_ONCE = 4


def command(out: Path, *options: str) -> list[str]:
    line = ["bench", "run", "stale", "--data", str(SMOKE / "stale"), "--out", str(out), "--embedder", "lexical"]
    return [sys.executable, "-m", "readmit", *line, "--methods", "Static,readmit", "--limit", "1", *options]


def started(line: list[str], home: Path) -> subprocess.Popen[str]:
    # inspect keeps its own files under the home directory.
    env = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CACHE_HOME": str(home / "cache")}
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=WAIT)
    return process.returncode, said


def until(seen: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + WAIT
    while not seen():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "what should be seen did not come"
        time.sleep(0.002)


def models(server: AnsweringEndpoint, connections: int = AT_ONCE) -> tuple[str, ...]:
    model = f"openai:m?base_url={server.url}"
    return "--actor", model, "--judge", model, "--max-connections", str(connections)


def kept(out: Path) -> int:
    with closing(sqlite3.connect(out / ANSWERS)) as database:
        return int(database.execute("SELECT count(*) FROM answer").fetchone()[0])


def measured(out: Path) -> dict[Any, Any]:
    """Everything of a run that does not depend on when and in how many goes it was made."""
    return {
        result.key: (
            result.view, result.answers, result.stale, result.seen, result.judgment, result.tokens,
            result.judge_tokens, result.peak_context, result.repairs,
            tuple((stage.stage, stage.calls, stage.input, stage.output, stage.failed) for stage in result.usage),
        )
        for result in read_results(out)
    }  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[Any, Any], int]:
    """The run that nobody disturbs: what it measures, and how many requests it takes."""
    folder = tmp_path_factory.mktemp("whole")
    with AnsweringEndpoint() as server:
        status, said = ended(started(command(folder / "out", *models(server, 16)), folder))
        assert status == Status.OK, said
        assert set(server.asked.values()) == {1}, "an undisturbed run asks nothing twice"
        return measured(folder / "out"), len(server.asked)


@dataclass
class Moment:
    """When to kill: as soon as so many requests of a stage have come in since the process began."""

    stage: str
    requests: int


MOMENTS = {
    "twice": (Moment("judge", 1), Moment("method", 2)),
    "five times": (
        Moment("answer", 2),
        Moment("judge", 1),
        Moment("method", 1),
        Moment("method", 2),
        Moment("answer", 1),
    ),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_killed_again_and_again_it_ends_the_same_and_asks_nothing_twice(
    name: str, whole: tuple[dict[Any, Any], int], tmp_path: Path
) -> None:
    moments = MOMENTS[name]
    out = tmp_path / "out"
    with AnsweringEndpoint() as server:
        line = command(out, *models(server))
        for moment in moments:
            process = started(line, tmp_path)
            with server.held(moment.requests, moment.stage) as reached:
                until(reached.is_set, process)
                process.kill()
                process.communicate()
        status, said = ended(started(line, tmp_path))
        assert status == Status.OK, said
        # At a kill some requests are on their way, and as many answers may not be on disk yet.
        assert sum(server.asked.values()) - len(server.asked) <= len(moments) * 2 * AT_ONCE
        assert max(server.asked.values()) <= 1 + len(moments)
        assert len(server.asked) == whole[1]
    assert kept(out) == whole[1]
    assert measured(out) == whole[0]
    assert len((out / RESULTS).read_bytes().splitlines()) == len(whole[0])


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(whole: tuple[dict[Any, Any], int], tmp_path: Path) -> None:
    """Also while nothing answers. What was on its way is asked for again, and no answer that arrived."""
    out = tmp_path / "out"
    with AnsweringEndpoint() as server:
        line = command(out, *models(server))
        process = started(line, tmp_path)
        with server.held(13) as reached:
            until(lambda: reached.is_set() and kept(out) == 12, process)
            process.send_signal(signal.SIGINT)
            status, said = ended(process)
        assert status == Status.INTERRUPTED, said
        assert "Stopped. Every answer that arrived is kept; run the same command to resume." in said
        assert "Traceback" not in said
        status, said = ended(started(line, tmp_path))
        assert status == Status.OK, said
        # Of the requests that were on their way, a busy server reads some only after the process has ended.
        assert 0 < sum(server.asked.values()) - len(server.asked) <= AT_ONCE
    assert measured(out) == whole[0]
    assert len((out / RESULTS).read_bytes().splitlines()) == len(whole[0])


def test_two_processes_do_not_run_in_one_directory(tmp_path: Path) -> None:
    with AnsweringEndpoint() as server, server.held(1) as asked:
        line = command(tmp_path / "out", *models(server))
        first = started(line, tmp_path)
        until(asked.is_set, first)
        status, said = ended(started(line, tmp_path))
        first.kill()
        first.communicate()
    assert status == Status.ERROR
    assert "another process is running there" in said


def _grown(file: Path, size: int) -> bool:
    return file.exists() and file.stat().st_size > size


def test_killed_while_requests_are_written_to_a_file(tmp_path: Path) -> None:
    def round_of(out: Path, batch: Path) -> list[str]:
        model = f"batch:{batch}?model=by-file"
        # One session a request, so that the first round writes many.
        return command(out, "--actor", model, "--judge", model, "--set", "stale.extraction_sessions=1")

    calm, killed = tmp_path / "calm", tmp_path / "killed"
    for number in (1, 2):
        status, said = ended(started(round_of(calm / "out", calm / "batch"), tmp_path))
        assert status == Status.WAITING, said
        requests = killed / "batch" / "requests.jsonl"
        for part in (0, 20_000) if number == 1 else (0,):
            size = part + (requests.stat().st_size if requests.exists() else 0)
            process = started(round_of(killed / "out", killed / "batch"), tmp_path)
            until(partial(_grown, requests, size), process)
            process.kill()
            process.communicate()
        status, said = ended(started(round_of(killed / "out", killed / "batch"), tmp_path))
        assert status == Status.WAITING, said
        found = check_batch(killed / "batch")
        assert found.ok, found.problems
        assert found.status.waiting == check_batch(calm / "batch").status.waiting > 0
        lines = [(folder / "batch" / "requests.jsonl").read_bytes().splitlines() for folder in (calm, killed)]
        assert sorted(lines[0]) == sorted(lines[1])
        for folder in (calm, killed):
            answer_all(folder / "batch", number)

"""A strong model's answers to two development runs are met again by the runs that they were given to.

Answers are found by the digest of the request, so that a changed prompt, haystack or retrieval would meet none of them.
The settings name the haystack and the retrieval of that time. Only what all methods share is asked for here: reading,
answering and judging; the requests of ``readmit`` itself are those of its pipeline as it is now.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("inspect_ai", reason="runs with models need readmit[bench]")

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


RUNS = {
    "stale": ("--set", "stale.stated=opening", "--limit", "2", "--stratified", "--seed", "7"),
    "memora": ("--set", "memora.retrieval=lexical", "--limit", "3", "--seed", "5"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_answered_to_the_end(name: str, shared_data: Path, tmp_path: Path) -> None:
    one = RUNS[name]
    kept = shared_data / "answers" / name
    if not kept.is_dir():
        pytest.skip(f"no recorded answers at {kept}")
    answers = tmp_path / "answers"
    shutil.copytree(kept, answers)
    model = f"batch:{answers}?model=strong"
    command = [
        *(sys.executable, "-m", "readmit", "bench", "run", name, "--data", str(shared_data / name), "--json"),
        *("--out", str(tmp_path / "run"), "--methods", "Static", "--actor", model, "--judge", model),
        *one,
        *(("--fillers", str(shared_data / "memora")) if name == "stale" else ()),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["complete"]
    assert told["failed"] == 0
    assert not (answers / "requests.jsonl").exists(), "nothing is left to ask"

"""A benchmark and a method from outside the package: the worked example of CONTRIBUTING.md, installed and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.plugins.packages import install, install_worked_example

from readmit.errors import RecordError
from readmit_bench.entry_points import METHODS, with_installed
from readmit_bench.methods.registry import OWN, MethodEntry

if TYPE_CHECKING:
    from pathlib import Path

ERRANDS = [
    {
        "id": "parcel",
        "said": ["My parcel waits at the station.", "I like tea.", "The parcel moved to the town hall."],
        "departure": 1,
        "question": "Where is my parcel?",
        "holds": "The parcel moved to the town hall.",
        "ended": "My parcel waits at the station.",
    }
]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    install_worked_example(folder)
    return folder


def readmit(site: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as after pip: this one knows nothing of the package."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), *filter(None, sys.path)))}
    line = [sys.executable, "-m", "readmit", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, env=env, check=False)


def lines(out: Path) -> dict[str, dict[str, Any]]:
    found = map(json.loads, (out / "results.jsonl").read_text(encoding="utf-8").splitlines())
    return {line["method"]: line for line in found}


def test_both_are_listed(site: Path) -> None:
    shown = readmit(site, "bench", "list").stdout
    assert "errands: Errands that changed in the absence." in shown
    assert "newest-only: The last thing that was said, alone." in shown


def test_the_benchmark_is_run_scored_and_reported(site: Path, tmp_path: Path) -> None:
    (tmp_path / "errands.json").write_text(json.dumps(ERRANDS), encoding="utf-8")
    out = tmp_path / "out"
    ran = readmit(site, "bench", "run", "errands", "--data", tmp_path, "--methods", "Static,newest-only", "--out", out)
    assert ran.returncode == 0, ran.stderr
    seen = {name: (line["seen"]["presence"], line["seen"]["forgetting"]) for name, line in lines(out).items()}
    assert seen == {"Static": ([True], [False]), "newest-only": ([True], [True])}
    written = readmit(site, "bench", "report", out, "--to", tmp_path / "report")
    assert written.returncode == 0, written.stderr
    assert "newest-only" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")


def test_the_method_runs_on_the_smoke_data(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = readmit(site, "bench", "run", "smoke", "--methods", "newest-only", "--out", out)
    assert ran.returncode == 0, ran.stderr
    assert "18 of 18 lines, 0 failed" in ran.stdout
    assert all(len(line["view"]["rows"]) == 1 for line in lines(out).values())


def test_without_its_package_a_run_says_what_is_missing(site: Path, tmp_path: Path) -> None:
    (tmp_path / "errands.json").write_text(json.dumps(ERRANDS), encoding="utf-8")
    out = tmp_path / "out"
    readmit(site, "bench", "run", "errands", "--data", tmp_path, "--methods", "Static", "--out", out)
    gone = readmit(tmp_path, "bench", "report", out, "--to", tmp_path / "report")
    assert gone.returncode == 1
    assert "errands" in gone.stderr


BROKEN = {
    "a name that is taken": ("from readmit_bench.methods.registry import OWN\nTHING = OWN[0]\n", "its name is taken"),
    "something else": ("THING = 'Static'\n", "it is no MethodEntry"),
    "a module that fails": ("raise OSError('no disk')\n", "does not load: OSError: no disk"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_package_that_cannot_be_used_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, message = BROKEN[case]
    install(tmp_path, "broken", {"broken_method": source}, {METHODS: {"thing": "broken_method:THING"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RecordError, match=message):
        with_installed(METHODS, OWN, MethodEntry)
    sys.modules.pop("broken_method", None)

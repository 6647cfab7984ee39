"""Every row of ``make bench`` runs: each suite at a small part of its size, without keeping what it measures."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from benchmarks.__main__ import PAGE, RESULTS, SUITES

from tests.conftest import ROOT

_ROW = re.compile(r"(?:ok  |MISS) (?P<name>.+): (?P<value>-?[\d.e+-]+) \S.*")


@pytest.mark.slow
@pytest.mark.parametrize("suite", [name for name, suite in SUITES.items() if suite.core])
def test_every_row_of_a_suite_runs(suite: str) -> None:
    before = RESULTS.read_bytes(), PAGE.read_bytes()
    command = [sys.executable, "-m", "benchmarks", suite]
    small = os.environ | {"READMIT_BENCH_PART": "200"}
    done = subprocess.run(command, cwd=ROOT, env=small, capture_output=True, text=True, check=False, timeout=600)
    rows = [_ROW.fullmatch(line) for line in done.stdout.splitlines()]
    assert rows, done.stderr
    assert all(rows), done.stdout
    assert done.returncode == any(line.startswith("MISS") for line in done.stdout.splitlines()), done.stderr
    assert (RESULTS.read_bytes(), PAGE.read_bytes()) == before

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "implicit"

EXPECTED = {
    "bookstore": (
        "premise_changed The user is consistently asleep by 10:30",
        "the return is admitted",
        "answer: No. On work nights",
    ),
    "missed": ("admitted        The user prefers familiar", "admitted        Lately the user", "answer: It may suit"),
    "abstained": (
        "premise_changed The user's whole workflow",
        "admitted        The user uses whichever",
        "answer: none",
    ),
}


def run(*names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), *names]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")


def test_the_cases_run_offline_and_end_as_in_the_paper() -> None:
    done = run()
    assert done.stderr == "", "the requests changed: run examples/implicit/record.py"
    parts = done.stdout.split("== ")[1:]
    for part, lines in zip(parts, EXPECTED.values(), strict=True):
        for line in lines:
            assert line in part


def test_one_case_by_name_and_no_other() -> None:
    assert run("missed").stdout.count("==") == 1
    refused = run("nonesuch")
    assert (refused.returncode, refused.stdout) == (2, "")

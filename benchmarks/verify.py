"""How long does it take to verify a store, the first time and once more after it has grown?"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import team
from benchmarks.result import Result, at_most, scratch
from readmit import Workspace
from readmit.diagnosis.verification.log_verifier import LogVerifier

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = 1_000_000
MORE = 1_000
NAME = "default"
_MEMORY = """
import resource, sys
from readmit.diagnosis.verification.log_verifier import LogVerifier
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert LogVerifier(sys.argv[1], sys.argv[2]).verify().intact
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as directory:
        path = Path(directory, "team.db")
        team.build(path, step)
        # Each item of the first task has an observation of its own.
        team.fill(path, team.VISIBLE, EVENTS - team.VISIBLE, step)
        memory = subprocess.run(
            [sys.executable, "-c", _MEMORY, str(path), NAME], capture_output=True, check=True, text=True
        )
        for kept in directory.rglob("*.verified"):
            kept.unlink()
        first = verified(path)
        with Workspace.open(path) as workspace:
            for number in range(MORE):
                workspace.observe(f"Something new, number {number}.", by="A1", task=team.TASK)
                step(1)
        later = verified(path)
    return [
        at_most(f"verifying {EVENTS:,} events, the first time", first, 15, "s"),
        at_most(f"verifying {MORE:,} more, each a commit of its own", later, 1, "s"),
        at_most("memory that the first check takes", int(memory.stdout) / 1024, None, "MB"),
    ]


def verified(path: Path) -> float:
    start = time.perf_counter()
    with closing(LogVerifier(path, NAME)) as verifier:
        report = verifier.verify()
    took = time.perf_counter() - start
    if not report.intact:
        raise AssertionError(report.problems)
    return took


if __name__ == "__main__":
    for result in run():
        print(result)

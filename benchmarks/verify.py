"""How long does it take to verify a store, the first time and once more after it has grown?

The first check runs in a process of its own, which imports its modules meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import team
from benchmarks.result import Result, at_most, peak_memory, scratch, sized
from readmit import Workspace
from readmit.diagnosis.verification.log_verifier import LogVerifier

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = sized(1_000_000, 6_000)
MORE = sized(1_000)
NAME = "default"


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as directory:
        path = Path(directory, "team.db")
        team.build(path, step)
        # Each item of the first task has an observation of its own.
        team.fill(path, team.VISIBLE, EVENTS - team.VISIBLE, step)
        command = [sys.executable, "-m", "benchmarks.verify", str(path)]
        first, memory = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        with Workspace.open(path) as workspace:
            for number in range(MORE):
                workspace.observe(f"Something new, number {number}.", by="A1", task=team.TASK)
                step(1)
        later = verified(path)
    return [
        at_most(f"verifying {EVENTS:,} events, the first time, once, CPU", first, 15, "s"),
        at_most(f"verifying {MORE:,} more, each a commit of its own, once, CPU", later, 1, "s"),
        at_most("memory that the first check takes", memory, None, "MB"),
    ]


def verified(path: Path) -> float:
    """Processor time of a check, which runs on one core."""
    start = time.process_time()
    with closing(LogVerifier(path, NAME)) as verifier:
        report = verifier.verify()
    took = time.process_time() - start
    if not report.intact:
        raise AssertionError(report.problems)
    return took


if __name__ == "__main__":
    before = peak_memory()
    print(json.dumps([verified(Path(sys.argv[1])), peak_memory() - before]))

"""What does importing the handle cost? Processor time of a fresh interpreter, its own start taken off.

``import readmit`` alone loads no room, so the handle is what is imported.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_most

if TYPE_CHECKING:
    from collections.abc import Callable


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    bare = min(_cpu("pass") for _ in range(7))
    ours = min(_cpu("from readmit import Workspace") for _ in range(7))
    step(1)
    return [at_most("from readmit import Workspace, CPU", (ours - bare) * 1000, 150, "ms")]


def _cpu(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    for result in run():
        print(result)

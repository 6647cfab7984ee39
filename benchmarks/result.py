"""What a benchmark reports."""

from __future__ import annotations

import os
import re
import resource
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Result(TypedDict):
    """One figure beside its bar. ``holds`` is true where there is no bar to miss."""

    name: str
    value: float
    bar: float | None
    unit: str
    holds: bool


def shared_folder() -> Path:
    """What ``READMIT_SHARED`` names, or the folder beside the project."""
    return Path(os.environ.get("READMIT_SHARED") or Path(__file__).resolve().parents[2] / "shared")


PART = int(os.environ.get("READMIT_BENCH_PART", "1"))
"""Each size is divided by it, to see that every row runs; what is measured then is not kept."""


def sized(whole: int, least: int = 1) -> int:
    """A size of a benchmark, or the part of it that is asked for."""
    return max(least, whole // PART)


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder for stores and for their keys, also those of processes that are started meanwhile."""
    with tempfile.TemporaryDirectory(prefix="readmit-bench-") as name:
        folder = Path(name)
        with mock.patch.dict(os.environ, {"READMIT_KEYS": str(folder / "keys")}):
            yield folder


def at_most(name: str, value: float, bar: float | None, unit: str) -> Result:
    return Result(name=name, value=round(value, 4), bar=bar, unit=unit, holds=bar is None or value <= bar)


def at_least(name: str, value: float, bar: float | None, unit: str) -> Result:
    return Result(name=name, value=round(value, 4), bar=bar, unit=unit, holds=bar is None or value >= bar)


def best(work: Callable[[], object], rounds: int = 5, *, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of several times: what is left is the work, not the machine's other business."""
    times = []
    for _ in range(rounds):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def peak_memory() -> float:
    """The most memory that this process used, in MB.

    Linux counts what the parent used before it started this program in ``ru_maxrss``, but not in ``VmHWM``.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if found is None else int(found[1])) / 1024

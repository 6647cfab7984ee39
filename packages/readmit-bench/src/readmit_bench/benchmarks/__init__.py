"""The benchmarks: one class each, of one protocol."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from readmit.errors import RecordError
from readmit_bench.benchmarks.benchmark import Benchmark, Constructed, Study
from readmit_bench.benchmarks.conversations import Conversations
from readmit_bench.benchmarks.manbench import ManBench
from readmit_bench.benchmarks.memora import Memora
from readmit_bench.benchmarks.stale import Stale
from readmit_bench.entry_points import BENCHMARKS, with_installed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Benchmark", "Constructed", "Conversations", "Study", "benchmark_named", "benchmarks"]

OWN: tuple[Benchmark, ...] = (Memora(), Stale(), ManBench())


@cache
def benchmarks() -> Mapping[str, Benchmark]:
    """Every benchmark that can be run here, by name."""
    return with_installed(BENCHMARKS, OWN, Benchmark)


def benchmark_named(name: str) -> Benchmark:
    """A benchmark, or an error that lists them."""
    if name not in benchmarks():
        raise RecordError(f"benchmark: {name!r} is none of {', '.join(benchmarks())}; install the package that has it")
    return benchmarks()[name]

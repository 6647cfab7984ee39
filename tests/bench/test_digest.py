"""What says that a run and its report speak of the same data."""

from __future__ import annotations

import tracemalloc

from tests.bench.data import SMOKE, shared

from readmit.lab import canonical
from readmit.records.canonical import digest_of
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.episodes import digest_of_cases


def test_the_digest_is_that_of_all_episodes_together() -> None:
    cases = read_memora(SMOKE / "memora").cases
    assert digest_of_cases(cases) == digest_of(b"\n".join(canonical(case.episode) for case in cases))
    assert digest_of_cases(cases[1:]) != digest_of_cases(cases)


def test_one_episode_is_held_at_a_time() -> None:
    """Episodes over one history each carry the whole of it: together they are many times the data."""
    cases = read_memora(shared("memora")).cases
    largest = max(len(canonical(case.episode)) for case in cases)
    tracemalloc.start()
    try:
        digest_of_cases(cases)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * largest

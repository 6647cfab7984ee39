"""One episode of each benchmark per method with a real model on this machine: plumbing, not quality.

The model is far too small to judge anything. What is checked is that every stage really asks it, that its answers,
good or malformed, end in a line per episode, and that a second run asks nothing again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.bench.data import SMOKE

from readmit.bench.results import read_results
from readmit.bench.running import Order, run
from readmit.bench.studies import STUDIES

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("inspect_ai", reason="runs with models need readmit[bench]")
pytest.importorskip("xllamacpp", reason="a local model file needs readmit[gguf]")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7_200), pytest.mark.filterwarnings("ignore")]

COMPARED = ("Static", "Restore", "Reset", "MemStrata", "MemTX", "readmit-lexical", "trace-paper", "readmit")


@pytest.fixture(scope="module")
def local(local_model: Path) -> str:
    return f"gguf:{local_model}?context=4096"


def test_one_episode_of_each_benchmark_per_method(local: str, tmp_path: Path) -> None:
    order = Order(
        study="smoke", methods=COMPARED, models={"actor": local, "judge": local}, embedder="lexical", limit=1,
        max_tokens=32,
    )  # fmt: skip
    told = run(order, tmp_path)
    assert told.complete
    results = read_results(tmp_path)
    assert {(result.benchmark, result.method) for result in results} == {
        (benchmark, method) for benchmark in ("memora", "stale", "manbench") for method in COMPARED
    }
    asked = {stage.stage for result in results for stage in result.usage if stage.input > 0}
    assert {"baseline", "plan", "extract", "implied", "premises", "scan", "answer", "judge"} <= asked
    again = run(order, tmp_path)
    assert (again.answers, again.done) == (told.answers, told.done)


def test_one_stale_episode_per_ablation_and_cupmem(local: str, tmp_path: Path) -> None:
    methods = ("CUPMem", *STUDIES["ablations"].methods(models=True))
    order = Order(
        study="stale", data=SMOKE / "stale", methods=methods, models={"actor": local, "judge": local},
        embedder="lexical", limit=1, max_tokens=32,
    )  # fmt: skip
    assert run(order, tmp_path).complete
    assert {result.method for result in read_results(tmp_path)} == set(methods)

"""One episode of each benchmark per method with a real model on this machine: plumbing, not quality.

The model is far too small to judge anything. What is checked is that every stage really asks it, that its answers,
good or malformed, end in a line per episode, and that a second run asks nothing again. So that this takes minutes, its
answers are kept short by grammar, some of the paper's settings are lowered, and all but two of the 50 sessions that a
STALE record must have are silent: every pair of turns is a request of its own, and takes half a minute.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.bench.data import SMOKE

from readmit_bench.results import read_results
from readmit_bench.studies import study_named
from readmit_bench.study_runs import ProviderCalls, RunOrder, run

if TYPE_CHECKING:
    from pathlib import Path

    from readmit_bench.results import Result

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("xllamacpp", reason="a local model file needs readmit[gguf]", exc_type=ImportError)
# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
pytestmark = [
    pytest.mark.usefixtures("swept"),
    pytest.mark.slow,
    pytest.mark.timeout(5_400),
    pytest.mark.filterwarnings("ignore"),
]

COMPARED = ("Static", "Restore", "Reset", "MemStrata", "MemTX", "readmit-lexical", "trace-paper", "readmit")
LOWERED = (
    "memora.departures=0.5",
    "memora.batch_sessions=3",
    "memora.facts_initial=2",
    "memora.facts_at_most=2",
    "memora.answer_tokens=32",
    "stale.retrieved_per_query=1",
    "stale.retrieved_union=1",
    "stale.answer_tokens=32",
    "manbench.active_tokens=48",
)
SLOTS = 2
SPOKEN = 4
# Seconds for one answer. On a busy machine that is long, and an answer that is given up leaves its episode open.
PATIENCE = 1_800


@dataclass(frozen=True)
class Case:
    """A benchmark, the methods it compares, and what they must have asked, whatever was answered."""

    benchmark: str
    methods: tuple[str, ...]
    stages: frozenset[str]
    seed: int = 0


CASES = (
    Case(
        "stale",
        (*COMPARED, *study_named("ablations").methods(models=True)[1:], "CUPMem"),
        # It takes nothing down that its quotes bear out, so that no statement has premises.
        frozenset({"plan", "extract", "scan", "verify", "answer", "judge"})
        | {"cup-chunks", "cup-parse", "cup-premise", "cup-ground"},
        seed=1,
    ),
    Case(
        "memora",
        (*COMPARED, "ScopedMem/Static", "ScopedMem/readmit"),
        # It takes nothing down that its quotes bear out, so there is nothing to scan or verify.
        frozenset({"plan", "extract", "answer", "judge"}),
    ),
    # The seed takes a question that this model answers right before it departs: only then is there an episode.
    Case("manbench", COMPARED, frozenset({"baseline", "active"}), seed=5),
)


@pytest.fixture(scope="module")
def local(local_model: Path) -> str:
    # Threads that wait by spinning need a core of their own.
    threads = f"&threads={os.cpu_count()}" if os.environ.get("OMP_WAIT_POLICY") == "passive" else ""
    small = "text_chars=16&list_items=1&compact=true"
    return f"gguf:{local_model}?context=2048&concurrency={SLOTS}{threads}&deadline={PATIENCE}&{small}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke set; of its STALE records the sessions of the two statements alone, and their first turns."""
    folder = tmp_path_factory.mktemp("data")
    for benchmark in ("memora", "manbench"):
        (folder / benchmark).symlink_to(SMOKE / benchmark, target_is_directory=True)
    records = json.loads((SMOKE / "stale" / "smoke.json").read_text())
    for record in records:
        record["haystack_session"] = [
            session[:SPOKEN] if place in record["relevant_session_index"] else []
            for place, session in enumerate(record["haystack_session"])
        ]
    (folder / "stale").mkdir()
    (folder / "stale" / "records.json").write_text(json.dumps(records))
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.benchmark)
def test_one_episode_per_method(case: Case, local: str, data: Path, tmp_path: Path) -> None:
    order = RunOrder(
        study=case.benchmark, data=data / case.benchmark, methods=case.methods,
        models={"actor": local, "judge": local}, embedder="lexical", limit=1, seed=case.seed, settings=LOWERED,
        max_tokens=192, calls=ProviderCalls(max_connections=SLOTS, timeout=PATIENCE),
    )  # fmt: skip
    told = run(order, tmp_path)
    assert told.complete
    assert told.asked == told.answers > 0
    results = read_results(tmp_path)
    assert sorted(result.method for result in results) == sorted(case.methods)
    used = [stage for result in results for stage in result.usage]
    print(f"{told.asked} answers;", {result.method: result.failure for result in results if result.failure})
    assert case.stages <= {stage.stage for stage in used}
    assert [stage for stage in used if not (stage.input and stage.output)] == []
    failed = [result for result in results if result.failure]
    assert told.failed == len(failed)
    assert [result.method for result in failed if any(passes(result)) or not passes(result)] == []
    if case.benchmark == "memora":
        assert len(failed) == len(results), "one list entry is no answer to four questions"
    again = run(order, tmp_path)
    assert (again.asked, again.answers, again.done) == (0, told.answers, told.done)


def passes(result: Result) -> tuple[bool | None, ...]:
    """Every judgment of a line."""
    if result.stale is not None:
        return (result.stale.sr, result.stale.pr, result.stale.ipa)
    if result.memora is not None:
        return (*result.memora.presence, *result.memora.forgetting)
    return () if result.manbench is None else (result.manbench.correct,)

"""The ceiling before and after: by words, and with facts fused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.bench.data import SMOKE

from readmit.cli.app import main
from readmit_bench.benchmarks.memora import Memora
from readmit_bench.results import read_plan
from readmit_bench.retrieval_measures import ALL, CHECKPOINT, HANDED, Measured, measure, notes, table
from readmit_bench.run_embedder import embedder_named
from readmit_bench.settings import Settings, overridden
from readmit_bench.studies import planned_cases, study_named
from readmit_bench.study_runs import RunOrder, run

if TYPE_CHECKING:
    from pathlib import Path


def measured(data: Path, *, limit: int | None = None, embedder: str = "lexical", settings: Settings) -> Measured:
    found = planned_cases(study_named("memora"), data, limit=limit, stratified=False, seed=0, settings=settings)
    return measure(found.cases, settings, embedder_named(embedder))


def test_both_ways_have_the_same_room() -> None:
    tight = overridden(Settings(), ["memora.retrieved_before=1", "memora.retrieved_after=2"])
    found = measured(SMOKE / "memora", settings=tight)
    assert found.sessions["fused"] <= 1 + 2 + 2 + 4
    assert found.sessions["lexical"] <= 1 + 2 + 2 + 4
    lines = {(one.part, one.what): one for one in found.lines}
    for way in ("lexical", "fused"):
        held = getattr(lines[ALL, CHECKPOINT], way)
        assert 0 <= getattr(lines[ALL, HANDED], way) <= held <= 1, "no view holds more than its checkpoint"
    assert "chosen on" in table(found)
    assert any("turns" in said for said in notes(found))


def test_the_command_says_it() -> None:
    command = ["bench", "retrieval", "--data", str(SMOKE / "memora"), "--embedder", "lexical"]
    ran = CliRunner().invoke(main, command)
    assert ran.exit_code == 0, ran.output
    assert "95 % bootstrap interval" in ran.stdout
    told = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert {line["what"] for line in told["lines"]} == {CHECKPOINT, HANDED}


def test_a_run_says_how_its_checkpoint_was_retrieved(tmp_path: Path) -> None:
    def plan(name: str, *settings: str) -> tuple[str, bool]:
        order = RunOrder(
            "memora", SMOKE / "memora", methods=("Static",), embedder="lexical", limit=1, settings=tuple(settings)
        )
        run(order, tmp_path / name)
        made = read_plan(tmp_path / name)
        return made.embedder, Memora.retrieval_note in made.notes

    assert plan("fused") == ("lexical", True)
    assert plan("words", "memora.retrieval=lexical") == ("", False)


def test_smoke_needs_no_embedder(tmp_path: Path) -> None:
    run(RunOrder("smoke", methods=("Static",), embedder="no such embedder"), tmp_path)
    assert read_plan(tmp_path).embedder == ""


@pytest.mark.slow
def test_on_the_shared_part_facts_raise_the_ceiling(shared_data: Path) -> None:
    pytest.importorskip("onnxruntime")
    found = measured(shared_data / "memora", limit=6, embedder="minilm", settings=Settings())
    (ceiling,) = (one for one in found.lines if (one.part, one.what) == (ALL, CHECKPOINT))
    (handed,) = (one for one in found.lines if (one.part, one.what) == (ALL, HANDED))
    assert ceiling.fused > ceiling.lexical
    assert handed.fused > handed.lexical

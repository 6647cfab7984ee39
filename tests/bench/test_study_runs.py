"""Runs: planned, resumed, refused, and never short of a case."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.bench.data import SMOKE, shared

from readmit.errors import ModelError, RecordError
from readmit.models import Lexical
from readmit_bench import study_runs
from readmit_bench.episodes import Case
from readmit_bench.reports.pages import write_report
from readmit_bench.results import RESULTS, read_plan, read_results
from readmit_bench.run_embedder import KeptVectors
from readmit_bench.studies import Cases, planned_cases, study_named
from readmit_bench.study_runs import RunOrder, failure_manifest, run, status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit_bench.run_status import RunStatus


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunStatus]:
    """A finished run of the smoke study, which is only read, and what was told of it."""
    folder = tmp_path_factory.mktemp("made") / "smoke"
    return folder, run(RunOrder(study="smoke"), folder)


@pytest.fixture
def smoke(made: tuple[Path, RunStatus], tmp_path: Path) -> Path:
    """A copy of that run, to go on with."""
    return shutil.copytree(made[0], tmp_path / "smoke")


def test_smoke_needs_neither_download_nor_model(made: tuple[Path, RunStatus]) -> None:
    folder, told = made
    assert told.complete
    assert (told.planned, told.failed) == (18 * 6, 0)
    assert told.episodes == 18
    assert told.seconds > 0
    assert [note for note in read_plan(folder).notes if "would score VIA 100.00 and IIR 0.00 on stale" in note]
    counts = Counter((result.benchmark, result.method) for result in read_results(folder))
    assert set(counts.values()) == {6, 3, 9}


def test_a_period_is_chosen_for_the_run_and_in_its_report(tmp_path: Path) -> None:
    data, out = tmp_path / "memora", tmp_path / "run"
    shutil.copytree(SMOKE / "memora" / "weekly", data / "weekly")
    shutil.copytree(SMOKE / "memora" / "weekly", data / "monthly")
    words = ["readmit", "bench", "run", "memora", "--data", str(data), "--out", str(out), "--methods", "Static"]
    words += ["--period", "monthly", "--set", "memora.retrieval=lexical"]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    plan = read_plan(out)
    assert plan.planned == 6
    assert plan.settings == ("memora.retrieval=lexical", "memora.periods=monthly")
    assert "Memora: 2 questions in 1 of 1 clusters (monthly)." in plan.notes
    report = write_report([out], tmp_path / "report", episodes=0).with_suffix(".md").read_text(encoding="utf-8")
    assert "2 questions in 1 of 1 clusters (monthly)" in report
    assert "memora.periods=monthly" in report


def test_a_period_of_another_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="period: stale has no periods"):
        run(RunOrder(study="stale", data=SMOKE / "stale", periods=("weekly",)), tmp_path)


def test_a_resumed_run_embeds_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    embed = Lexical.embed

    def counted(self: Lexical, texts: Sequence[str]) -> Any:
        embedded.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(Lexical, "embed", counted)
    order = RunOrder(
        study="memora", data=SMOKE / "memora", methods=("Static",), embedder="lexical", answers=tmp_path / "shared"
    )
    run(order, tmp_path / "one")
    first = {result.key: result.view for result in read_results(tmp_path / "one")}
    assert len(embedded) == len(set(embedded)) > 0
    embedded.clear()
    (tmp_path / "one" / RESULTS).unlink()
    run(order, tmp_path / "one")
    run(order, tmp_path / "two")
    assert embedded == []
    for out in ("one", "two"):
        assert {result.key: result.view for result in read_results(tmp_path / out)} == first


def test_vectors_are_kept_by_embedder_and_a_run_without_any_keeps_none(tmp_path: Path) -> None:
    kept = KeptVectors(tmp_path / "deep" / "vectors.db")
    assert kept.read_vectors("one", ["a"]) == {}
    assert not (tmp_path / "deep").exists()
    many = {f"digest {number}": bytes([number % 256]) for number in range(1_200)}
    kept.write_vectors("one", many)
    kept.write_vectors("one", {"digest 7": b"later"})
    kept.write_vectors("two", {"digest 7": b"other"})
    again = KeptVectors(tmp_path / "deep" / "vectors.db")
    assert again.read_vectors("one", [*many, "absent"]) == many
    assert again.read_vectors("two", list(many)) == {"digest 7": b"other"}


def test_a_second_run_adds_nothing(smoke: Path) -> None:
    before = (smoke / RESULTS).read_bytes()
    run(RunOrder(study="smoke"), smoke)
    assert (smoke / RESULTS).read_bytes() == before


@pytest.mark.parametrize("cut", [2, 700, 20_000])
def test_a_torn_line_is_written_again_and_nothing_else(smoke: Path, cut: int) -> None:
    whole = {result.key: (result.view, result.seen, result.manbench) for result in read_results(smoke)}
    data = (smoke / RESULTS).read_bytes()
    (smoke / RESULTS).write_bytes(data[:-cut])
    assert not status(smoke).complete
    run(RunOrder(study="smoke"), smoke)
    assert {result.key: (result.view, result.seen, result.manbench) for result in read_results(smoke)} == whole
    assert len((smoke / RESULTS).read_bytes().splitlines()) == len(whole)


def test_killed_and_resumed_it_ends_the_same(made: tuple[Path, RunStatus], tmp_path: Path) -> None:
    one, two = made[0], tmp_path / "two"
    command = [sys.executable, "-m", "readmit", "bench", "run", "smoke", "--out", str(two)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not ((two / RESULTS).exists() and (two / RESULTS).stat().st_size > 2000):
        time.sleep(0.005)
    process.kill()
    process.wait()
    run(RunOrder(study="smoke"), two)
    assert {r.key: r.view for r in read_results(two)} == {r.key: r.view for r in read_results(one)}
    assert len((two / RESULTS).read_bytes().splitlines()) == len((one / RESULTS).read_bytes().splitlines())


def test_a_directory_holds_one_run(tmp_path: Path) -> None:
    run(RunOrder(study="smoke", methods=("Reset",)), tmp_path)
    with pytest.raises(RecordError, match=r"holds another run \(methods differ\)"):
        run(RunOrder(study="smoke", methods=("Static",)), tmp_path)


def test_shuffled_labels_give_the_same_views_byte_for_byte(
    made: tuple[Path, RunStatus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole run, with every episode scored against another episode's labels of the same benchmark."""

    def shuffled(*args: Any, **kwargs: Any) -> Cases:
        found = planned_cases(*args, **kwargs)
        mixed: list[Case[Any]] = []
        for name in ("memora", "stale", "manbench"):
            own = [case for case in found.cases if case.episode.benchmark == name]
            mixed += [Case(case.episode, own[number - 1].labels) for number, case in enumerate(own)]
        return Cases(tuple(mixed), found.notes)

    monkeypatch.setattr(study_runs, "planned_cases", shuffled)
    run(RunOrder(study="smoke"), tmp_path / "shuffled")
    runs = [read_results(folder) for folder in (made[0], tmp_path / "shuffled")]
    views = [{result.key: msgspec.json.encode(result.view) for result in results} for results in runs]
    assert views[0] == views[1]
    scores = [[result.seen or result.manbench for result in results] for results in runs]
    assert scores[0] != scores[1]


def test_a_limit_takes_whole_questions(tmp_path: Path) -> None:
    run(RunOrder(study="smoke", methods=("Static",), limit=1), tmp_path)
    memora = [result for result in read_results(tmp_path) if result.benchmark == "memora"]
    assert len(memora) == 3
    assert len({result.unit for result in memora}) == 1


def test_the_seed_decides_which(tmp_path: Path) -> None:
    def taken(seed: int) -> set[str]:
        found = planned_cases(
            study_named("manbench"), SMOKE / "manbench", limit=3, stratified=False, seed=seed, fillers=None
        )
        return {case.episode.id for case in found.cases}

    assert taken(1) == taken(1)
    assert any(taken(1) != taken(seed) for seed in range(2, 6))


REFUSED = {
    "unknown study": (RunOrder(study="nonsense"), "is none of smoke"),
    "no data": (RunOrder(study="memora"), "needs --data"),
    "unknown method": (RunOrder(study="smoke", methods=("Magic",)), "Magic unknown"),
    "a method without its models": (RunOrder(study="smoke", methods=("readmit",)), "ask models"),
    "CUPMem elsewhere": (RunOrder(study="smoke", methods=("CUPMem",), models={"actor": "x"}), "STALE only"),
    "a judge without answers": (RunOrder(study="smoke", models={"judge": "x"}), "nothing to judge"),
    "answers without a judge": (RunOrder(study="smoke", models={"actor": "x"}), "name a --judge"),
    "a verifier alone": (RunOrder(study="smoke", methods=("readmit",), models={"verifier": "x"}), "name --extractor"),
    "an empty stratum": (
        RunOrder(study="stale", data=SMOKE / "stale", limit=2, stratified=True),
        "only early 1, late 1",
    ),
    "the cost subset of too few": (
        RunOrder(study="stale-cost", data=SMOKE / "stale", methods=("Static",)),
        "lower --limit",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_runs(name: str, tmp_path: Path) -> None:
    order, message = REFUSED[name]
    with pytest.raises((RecordError, ModelError), match=message):
        run(order, tmp_path / "out")
    assert not (tmp_path / "out" / RESULTS).exists()


def test_a_missing_task_and_malformed_data_are_reported(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match="holds no data/bbh_all_small"):
        run(RunOrder(study="manbench", data=tmp_path / "empty"), tmp_path / "out")
    shutil.copytree(SMOKE / "stale", tmp_path / "stale")
    records = json.loads((tmp_path / "stale" / "smoke.json").read_text())
    del records[1]["probing_queries"]["dim2_query"]
    (tmp_path / "stale" / "smoke.json").write_text(json.dumps(records))
    with pytest.raises(RecordError, match="dim2_query"):
        run(RunOrder(study="stale", data=tmp_path / "stale"), tmp_path / "out")


def test_pairs_without_session_text_need_fillers(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="give --fillers"):
        run(RunOrder(study="stale", data=shared("stale")), tmp_path)


def test_type_one_is_a_study_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(SMOKE / "stale", tmp_path / "stale")
    file = tmp_path / "stale" / "smoke.json"
    records = json.loads(file.read_text())
    records[0]["type"] = "T1"
    file.write_text(json.dumps(records))
    for study, count in (("stale-type1", 1), ("stale", len(records) - 1)):
        assert (
            run(RunOrder(study=study, data=tmp_path / "stale", methods=("Reset",)), tmp_path / study).planned == count
        )


def test_a_substitute_haystack_is_reported(tmp_path: Path) -> None:
    order = RunOrder(study="stale", data=shared("stale"), fillers=shared("memora"), methods=("Reset",), limit=2)
    run(order, tmp_path)
    assert any("substitute haystack, not the official one" in note for note in read_plan(tmp_path).notes)


@pytest.mark.slow
def test_a_store_hands_over_less_of_what_ended_when_its_records_are_admitted(tmp_path: Path) -> None:
    methods = ("ScopedMem/Static", "ScopedMem/readmit")
    told = run(
        RunOrder(study="backends", data=shared("memora"), methods=methods, embedder="lexical", limit=6), tmp_path
    )
    assert (told.planned, told.failed) == (12, 0)
    results = read_results(tmp_path)
    assert {result.block for result in results} == {"50%"}

    def handed(method: str) -> list[bool]:
        return [kept for r in results if r.method == method and r.seen is not None for kept in r.seen.forgetting]

    assert sum(handed("ScopedMem/readmit")) >= sum(handed("ScopedMem/Static"))
    left_out = {reason for r in results if r.view is not None for why in r.view.left_out.values() for reason in why}
    assert {"revoked", "superseded"} & left_out


def test_failures_are_listed_and_counted(tmp_path: Path) -> None:
    run(RunOrder(study="smoke", methods=("Reset",)), tmp_path)
    (first, *rest) = read_results(tmp_path)
    lines = [msgspec.structs.replace(first, failure="lost"), *rest]
    (tmp_path / RESULTS).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    assert status(tmp_path).failed == 1
    assert [one["failure"] for one in failure_manifest(tmp_path)] == ["lost"]

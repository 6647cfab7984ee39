"""The pairs of the backend study: formed once, read by both halves, failing together. ScopedMem stands for a store."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.bench.answers_by_file import answer_all
from tests.bench.data import SMOKE

from readmit.backends import ScopedMem
from readmit.errors import BackendError, ModelError, PendingAnswers
from readmit.memory import Hit
from readmit.models import Lexical
from readmit_bench import studies
from readmit_bench.checkpoints import checkpoint as checkpoint_of
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.methods import admitted
from readmit_bench.methods.memory_stores import MemoryStoreMethod, union
from readmit_bench.methods.store_histories import Stores, turns_of
from readmit_bench.methods.stores import KEY, STORES, URL, check_stores, lacking, opened
from readmit_bench.outages import Outage
from readmit_bench.results import read_plan, read_results
from readmit_bench.study_runs import RunOrder, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.memory import Change, Material, Stored
    from readmit.models import Ask, Failure, Reply
    from readmit_bench.episodes import Checkpoint

PAIR = ("ScopedMem/Static", "ScopedMem/readmit")
ENDED = "I also like to bake seed crackers for the crossing."
QUESTION = "How tall can waves get?"


class Silent:
    """A model that a verbatim store never asks."""

    name = "silent"

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        raise AssertionError(f"asked: {asks[0].stage}")


@pytest.fixture(scope="module")
def checkpoints() -> dict[str, Checkpoint]:
    return {case.labels.case: checkpoint_of(case.episode) for case in read_memora(SMOKE / "memora").cases}


@pytest.fixture
def half_way(checkpoints: dict[str, Checkpoint]) -> list[Checkpoint]:
    return [made for name, made in checkpoints.items() if name.endswith("@0.5")]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each text was written into a store, formed or loaded."""
    counts: Counter[str] = Counter()
    form, load = ScopedMem.form, ScopedMem.load

    def formed(self: ScopedMem, material: Material) -> list[Change]:
        counts[f"formed: {material.text}"] += 1
        return form(self, material)

    def loaded(self: ScopedMem, records: Sequence[Stored]) -> list[str]:
        counts.update(f"loaded: {record.text}" for record in records)
        return load(self, records)

    monkeypatch.setattr(ScopedMem, "form", formed)
    monkeypatch.setattr(ScopedMem, "load", loaded)
    return counts


def pair(stores: Stores, model: Any = None) -> tuple[MemoryStoreMethod, MemoryStoreMethod]:
    return MemoryStoreMethod("ScopedMem", stores, admits=False, model=model), MemoryStoreMethod(
        "ScopedMem", stores, admits=True, model=model
    )


def test_every_question_and_both_halves_read_what_was_formed_once(
    half_way: list[Checkpoint], written: Counter[str]
) -> None:
    with Stores() as stores:
        for checkpoint in half_way:
            for method in pair(stores):
                admitted(method, checkpoint)
    assert len(half_way) == 2
    assert written == Counter(f"loaded: {row.text}" for row in turns_of(half_way[0]))


def test_another_departure_imports_what_was_formed(checkpoints: dict[str, Checkpoint], written: Counter[str]) -> None:
    """With a model, forming is the store's own; it happens at the first departure and at no other."""
    views = {}
    with Stores() as stores:
        for name, checkpoint in checkpoints.items():
            views[name] = [admitted(method, checkpoint).memories for method in pair(stores, Silent())]
    turns = [row.text for row in turns_of(next(iter(checkpoints.values())))]
    expected = Counter(f"formed: {text}" for text in turns)
    expected.update({f"loaded: {text}": 2 * turns.count(text) for text in set(turns)})
    assert written == expected
    assert views["weekly/lighthouse_keeper/keeper_baking@0.25"] == views["weekly/lighthouse_keeper/keeper_baking@0.75"]


def test_the_store_ranks_the_whole_history_and_not_what_was_retrieved_before(half_way: list[Checkpoint]) -> None:
    narrow = msgspec.structs.replace(half_way[1], rows=(), relevance=((),))
    with Stores() as stores:
        static, readmit = (admitted(method, narrow) for method in pair(stores))
    assert ENDED in static.memories
    assert readmit.memories


def test_both_halves_search_the_same_records(half_way: list[Checkpoint]) -> None:
    checkpoint = half_way[1]
    with Stores() as stores:
        for method in pair(stores):
            admitted(method, checkpoint)
        with stores.absence(checkpoint) as absence:
            kept, handle = absence.opened("ScopedMem", None)
            native = {record.id for record in kept.memory.backend.records()}
            admitted_ids = {hit.id for hit in handle.records()}
    assert len(native) == len(turns_of(checkpoint))
    assert admitted_ids | set(kept.reasons) == native
    assert not admitted_ids & set(kept.reasons)


def test_what_ended_or_states_nothing_does_not_come_through_and_the_reason_is_reported(
    half_way: list[Checkpoint],
) -> None:
    with Stores() as stores:
        static, readmit = (admitted(method, half_way[1]) for method in pair(stores))
        with stores.absence(half_way[1]) as absence:
            opened = {hit.text for hit in absence.opened("ScopedMem", None)[1].records()}
    assert ENDED in static.memories
    assert not {ENDED, QUESTION} & opened
    assert readmit.left_out["s5.t4"] == ("source_not_in_view", "superseded")
    assert any("rye bread" in text for text in readmit.memories)


def test_a_history_that_cannot_be_formed_is_a_failure_of_both_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def load(self: ScopedMem, records: Sequence[Stored]) -> list[str]:
        tried.append(self.name)
        raise BackendError("the disk is full")

    monkeypatch.setattr(ScopedMem, "load", load)
    told = run(RunOrder(study="backends", data=SMOKE / "memora", methods=PAIR, embedder="lexical"), tmp_path / "out")
    results = read_results(tmp_path / "out")
    assert (told.planned, told.done, told.failed) == (4, 4, 4)
    assert {(r.method, r.failure) for r in results} == {
        (name, "BackendError: ScopedMem: the history could not be formed: the disk is full") for name in PAIR
    }
    assert all(r.seen is not None and not any((*r.seen.presence, *r.seen.forgetting)) for r in results)
    assert len(tried) == 1, "what failed is not tried again for every question"


@pytest.mark.parametrize("stop", [PendingAnswers(1, "batch"), Outage("the line is dead")], ids=["pending", "outage"])
@pytest.mark.parametrize("swallows", [True, False], ids=["swallowed", "as a failure"])
def test_an_answer_that_may_still_come_is_no_failure_whatever_the_store_makes_of_it(
    stop: Exception, swallows: bool, half_way: list[Checkpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Silent):
        waits = True

        def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
            if self.waits:
                raise stop
            return []

    class Asking(ScopedMem):
        model: Any = None

        def form(self, material: Material) -> list[Change]:
            try:
                self.model.ask([])
            except Exception as error:
                if not swallows:
                    raise BackendError("no memory was formed") from error
            return super().form(material)

    def open_asking(*args: Any, **options: Any) -> Any:
        Asking.model = options["model"]
        return opened(*args, **options)

    monkeypatch.setattr("readmit.backends.ScopedMem", Asking)
    monkeypatch.setattr("readmit_bench.methods.store_histories.opened", open_asking)
    model = Late()
    with Stores() as stores:
        for method in pair(stores, model):
            with pytest.raises(type(stop)):
                admitted(method, half_way[0])
        model.waits = False
        assert all(admitted(method, half_way[0]).memories for method in pair(stores, model))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where stores put their folders, to see what is left there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_nothing_is_left_open_after_an_error(scratch: Path, half_way: list[Checkpoint]) -> None:
    def stopped() -> None:
        with Stores() as stores:
            admitted(pair(stores)[0], half_way[0])
            assert list(scratch.iterdir())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stopped()
    assert not list(scratch.iterdir())


def test_where_histories_follow_one_another_only_the_last_is_kept(scratch: Path, half_way: list[Checkpoint]) -> None:
    checkpoint = half_way[0]
    others = [msgspec.structs.replace(checkpoint, history=(*checkpoint.history,)) for _ in range(3)]
    assert len({id(other.history) for other in others}) == 3
    with Stores(keep=1) as stores:
        for other in others:
            admitted(pair(stores)[1], other)
            assert len(list(scratch.iterdir())) == 1
    with Stores() as stores:
        for other in others:
            admitted(pair(stores)[1], other)
        assert len(list(scratch.iterdir())) == 3
    assert not list(scratch.iterdir())


def test_threads_that_ask_at_once_share_one_formation(half_way: list[Checkpoint], written: Counter[str]) -> None:
    together = threading.Barrier(8)

    def view(place: int) -> tuple[str, ...]:
        together.wait()
        return admitted(pair(stores)[place % 2], half_way[place // 2 % 2]).memories

    with Stores() as stores, ThreadPoolExecutor(8) as pool:
        views = list(pool.map(view, range(8)))
    assert views[:4] == views[4:]
    assert written == Counter(f"loaded: {row.text}" for row in turns_of(half_way[0]))


def test_the_union_goes_round_the_tasks_within_the_budget(half_way: list[Checkpoint]) -> None:
    def hits(*names: str) -> list[Hit]:
        return [Hit(id=name, text=name * 10, score=1.0) for name in names]

    budget = msgspec.structs.replace(half_way[0].budget, union=3)
    assert [hit.id for hit in union([hits("a", "b"), hits("b", "c", "d")], budget)] == ["a", "b", "c"]
    assert [hit.id for hit in union([hits("a", "b")], msgspec.structs.replace(budget, characters=15))] == ["a"]


# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("swept")
def test_the_pair_runs_side_by_side_through_inspect(tmp_path: Path, written: Counter[str]) -> None:
    pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
    pytest.importorskip("filelock", reason="batch files need readmit[models]")
    model = f"batch:{tmp_path / 'batch'}?model=by-file"
    models = {"actor": model, "judge": model}
    order = RunOrder(study="backends", data=SMOKE / "memora", methods=PAIR, models=models, embedder="lexical")
    for number in range(1, 5):
        told = run(order, tmp_path / "out")
        if told.complete:
            break
        formed = {count for name, count in written.items() if name != "formed: Wind from the west, nothing unusual."}
        assert formed == {number}, "once in each run, however many samples there are"
        answer_all(tmp_path / "batch", number)
    assert told.complete
    results = read_results(tmp_path / "out")
    assert Counter(result.method for result in results) == dict.fromkeys(PAIR, 2)
    assert not any(result.failure for result in results)
    assert all(result.memora is not None for result in results)


def test_stores_that_are_not_at_hand_are_reported_and_not_silently_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "lacking", lambda store: "" if store == "ScopedMem" else f"no {store} here")
    run(RunOrder(study="backends", data=SMOKE / "memora", embedder="lexical"), tmp_path)
    plan = read_plan(tmp_path)
    assert plan.methods == PAIR
    assert [note for note in plan.notes if "left out" in note] == [
        f"{store} is left out: no {store} here." for store in STORES[1:]
    ]


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (URL, KEY):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_server")
def test_a_store_that_is_asked_for_and_not_at_hand_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for store in STORES:
        if why := lacking(store):
            with pytest.raises(BackendError, match=rf"methods: {store}: .*(pip install|{URL} and {KEY})"):
                run(RunOrder(study="backends", data=SMOKE / "memora", methods=(f"{store}/readmit",)), tmp_path / "out")
            assert why
    assert lacking("Memobase")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("embedder", [None, Lexical()])
def test_a_store_that_needs_an_embedder_says_so_first(embedder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit_bench.methods.stores.lacking", lambda _: "")
    check_stores(["Static", "readmit-lexical"], None)
    if embedder is None:
        with pytest.raises(ModelError, match="ScopedMem: ranks with an embedder; name one with --embedder"):
            check_stores(["ScopedMem/Static"], embedder)
    else:
        check_stores(["ScopedMem/Static"], embedder)

"""No label reaches a method: by type, by structure, and by the bytes it gets to see."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.bench.data import SMOKE

from readmit.errors import RecordError
from readmit.lab import canonical
from readmit.records.canonical import convert
from readmit_bench.checkpoints import checkpoints
from readmit_bench.datasets.manbench_cases import read_manbench
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.datasets.stale_cases import read_stale
from readmit_bench.episodes import Case, Checkpoint, Dataset, Episode, Labels, View
from readmit_bench.method_process import Asked, MethodProcess
from readmit_bench.methods import MODEL_FREE, admitted
from readmit_bench.methods.reset import Reset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit_bench.datasets.stale_cases import StaleLabels
    from readmit_bench.methods.static import Static

READERS: dict[str, Callable[[Path], Dataset[Any]]] = {
    "memora": read_memora,
    "stale": read_stale,
    "manbench": read_manbench,
}


def views(episodes: tuple[Episode, ...]) -> bytes:
    return b"\n".join(
        canonical(admitted(method, checkpoint))
        for _, checkpoint in checkpoints(episodes)
        for method in MODEL_FREE.values()
    )


def reachable(start: object) -> Iterator[object]:
    """Every instance a method can get at from what it is handed, however it digs."""
    seen, queue = {id(start)}, [start]
    while queue:
        found = queue.pop()
        yield found
        for inner in gc.get_referents(found):
            if not isinstance(inner, (type, ModuleType)) and id(inner) not in seen and not callable(inner):
                seen.add(id(inner))
                queue.append(inner)


class Spy:
    """Collects whatever it can reach."""

    name = "Spy"

    def __init__(self) -> None:
        self.found: list[object] = []

    def view(self, checkpoint: Checkpoint) -> View:
        self.found += [thing for thing in reachable(checkpoint) if isinstance(thing, (Labels, Case, Dataset))]
        for name in ("labels", "case", "condition", "answer", "expected"):
            assert not hasattr(checkpoint, name)
        return View(method=self.name, rows=())


@pytest.mark.parametrize("benchmark", READERS)
def test_a_method_that_digs_finds_no_label(benchmark: str) -> None:
    data = READERS[benchmark](SMOKE / benchmark)
    spy = Spy()
    for _, checkpoint in checkpoints(data.episodes):
        admitted(spy, checkpoint)
    assert spy.found == []
    # The digging itself works: from a case it does find the labels.
    assert any(isinstance(thing, Labels) for thing in reachable([data.cases[0]]))


@pytest.mark.parametrize("benchmark", READERS)
def test_a_method_can_be_handed_nothing_but_a_checkpoint(benchmark: str) -> None:
    data = READERS[benchmark](SMOKE / benchmark)
    case = data.cases[0]
    wrong: tuple[Any, ...] = (case, case.labels, case.episode, data)
    for thing in wrong:
        with pytest.raises(TypeError, match="a method receives a Checkpoint"):
            admitted(Reset(), thing)


def test_a_checkpoint_that_carries_more_is_refused() -> None:
    class Loaded(Checkpoint, frozen=True, kw_only=True):
        extra: object = None

    _, plain = next(checkpoints(read_manbench(SMOKE / "manbench").episodes))
    loaded = Loaded(**{name: getattr(plain, name) for name in plain.__struct_fields__})
    with pytest.raises(TypeError, match="got Loaded"):
        admitted(Reset(), loaded)


@pytest.mark.parametrize("visible", [Checkpoint, Episode, Asked])
def test_no_field_a_method_sees_can_hold_labels(visible: type) -> None:
    def kinds(info: msgspec.inspect.Type) -> Iterator[type]:
        assert not isinstance(info, (msgspec.inspect.AnyType, msgspec.inspect.CustomType)), "an open field could"
        if isinstance(info, msgspec.inspect.StructType):
            yield info.cls
            for field in info.fields:
                yield from kinds(field.type)
        elif isinstance(info, msgspec.inspect.UnionType):
            for option in info.types:
                yield from kinds(option)
        elif isinstance(info, msgspec.inspect.VarTupleType):
            yield from kinds(info.item_type)

    found = set(kinds(msgspec.inspect.type_info(visible)))
    assert visible in found
    assert not any(issubclass(kind, Labels) for kind in found)
    labels = read_manbench(SMOKE / "manbench").cases[0].labels
    with pytest.raises(RecordError):
        convert({"rows": [labels]}, visible, what="smuggled")


@pytest.mark.parametrize("benchmark", READERS)
def test_views_made_in_a_process_without_labels_are_the_same(benchmark: str) -> None:
    data = READERS[benchmark](SMOKE / benchmark)
    with MethodProcess() as process:
        for _, checkpoint in checkpoints(data.episodes):
            made = process.views(list(MODEL_FREE), checkpoint)
            here = {name: admitted(method, checkpoint) for name, method in MODEL_FREE.items()}
            assert {name: one.view for name, one in made.items()} == here


def test_that_process_reads_no_data_set() -> None:
    """It is handed bytes, and has not even loaded what reads labels."""
    look = (
        "import gc, sys; import readmit_bench.method_process; from readmit_bench.episodes import Labels\n"
        "reading = ('readmit_bench.datasets', 'readmit_bench.benchmarks')\n"
        "print([name for name in sys.modules if name.startswith(reading)])\n"
        "print([thing for thing in gc.get_objects() if isinstance(thing, Labels)])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.split() == ["[]", "[]"], done.stdout


def test_a_process_that_is_gone_is_reported_by_the_methods_it_was_for() -> None:
    _, checkpoint = next(checkpoints(read_manbench(SMOKE / "manbench").episodes))
    with MethodProcess() as process:
        process.views(["Static"], checkpoint)
        assert process._process is not None
        process._process.kill()
        process._process.wait()
        with pytest.raises(RecordError, match="Static: their process ended"):
            process.views(["Static"], checkpoint)


@pytest.mark.parametrize("benchmark", READERS)
def test_shuffled_labels_give_the_same_views_byte_for_byte(benchmark: str) -> None:
    data = READERS[benchmark](SMOKE / benchmark)
    # Shifted by one, so that every episode gets the labels of another.
    labels = [data.cases[i - 1].labels for i in range(len(data.cases))]
    assert all(case.labels != label for case, label in zip(data.cases, labels, strict=True))
    shuffled = Dataset(
        data.benchmark, tuple(Case(c.episode, label) for c, label in zip(data.cases, labels, strict=True))
    )
    assert views(shuffled.episodes) == views(data.episodes)


CANARY = "canary-4f1c"


def _mark_memora(folder: Path) -> None:
    for file in folder.rglob("session_*.json"):
        session = json.loads(file.read_text())
        session |= {"session_type": CANARY, "operation_details": {CANARY: CANARY}, "persona": CANARY}
        session["conversation"] = [{**turn, "share_memory": True, "note": CANARY} for turn in session["conversation"]]
        file.write_text(json.dumps(session))
    for file in folder.rglob("evaluation_questions_*.json"):
        questions = json.loads(file.read_text())
        for question in (q for group in questions["questions"].values() for q in group):
            question["memory_evidence"][CANARY] = [{"value": CANARY, "session_id": 1}]
            for criterion in question["evaluation"]["evaluation_questions"]:
                criterion["evaluation_question"] = CANARY
        file.write_text(json.dumps(questions))


def _mark_stale(folder: Path) -> None:
    file = folder / "smoke.json"
    records = json.loads(file.read_text())
    for record in records:
        record |= {"explanation": CANARY, "M_old": CANARY, "M_new": CANARY}
        record["relevant_session_index"][1] = 39
    file.write_text(json.dumps(records))


def _mark_manbench(folder: Path) -> None:
    for file in folder.rglob("val_data.json"):
        task = json.loads(file.read_text())
        task["canary"] = CANARY
        for example in task["data"]:
            example |= {"split": CANARY, "inputs": CANARY, "random_ans_idx": 0}
        file.write_text(json.dumps(task))


@pytest.mark.parametrize(
    ("benchmark", "mark"), [("memora", _mark_memora), ("stale", _mark_stale), ("manbench", _mark_manbench)]
)
def test_other_annotations_give_the_same_episodes(benchmark: str, mark: Callable[[Path], None], tmp_path: Path) -> None:
    shutil.copytree(SMOKE / benchmark, tmp_path / benchmark)
    before = READERS[benchmark](tmp_path / benchmark)
    mark(tmp_path / benchmark)
    after = READERS[benchmark](tmp_path / benchmark)
    assert after.episodes == before.episodes
    assert views(after.episodes) == views(before.episodes)
    seen = [*after.episodes, *(checkpoint for _, checkpoint in checkpoints(after.episodes))]
    assert all(CANARY.encode() not in canonical(thing) for thing in seen)


def test_a_manbench_episode_does_not_tell_its_condition() -> None:
    data = read_manbench(SMOKE / "manbench")
    for case in data.cases:
        text = canonical(case.episode).decode()
        assert case.labels.case not in text
        assert case.labels.condition not in text
        assert [row.id for row in case.episode.rows] == ["departure-answer", "challenger"]


def test_printing_labels_prints_no_label() -> None:
    for benchmark, read in READERS.items():
        for case in read(SMOKE / benchmark).cases:
            assert f"{case.labels}" == f"<{type(case.labels).__name__} of {case.labels.case}>"


if TYPE_CHECKING:
    # ``make check`` fails here as soon as the type checker would let a method have labels: the comment were unused.
    def refused(case: Case[StaleLabels]) -> None:
        admitted(Static(), case.labels)  # type: ignore[arg-type]
        Static().view(case)  # type: ignore[arg-type]

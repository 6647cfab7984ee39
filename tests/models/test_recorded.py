from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from readmit.errors import ModelError, PendingAnswers, UnknownError
from readmit.models import Ask, Batch, Failure, Fault, Recorded, Recorder, Reply, Usage, open_model
from tests.models.scripted import Scripted, reply
from tests.models.stand_in import completion

if TYPE_CHECKING:
    from pathlib import Path


def ask(number: int = 0, *, workspace: str = "trip") -> Ask:
    return Ask(stage="verify", prompt="verify@1", system="", user=f"question {number}", workspace=workspace)


def recorded(path: Path, count: int = 3) -> Path:
    Recorder(Scripted(*(f"answer {number}" for number in range(count))), path).ask(
        [ask(number) for number in range(count)]
    )
    return path


def texts(results: object) -> list[str]:
    return [result.text for result in results if isinstance(result, Reply)]  # type: ignore[attr-defined]


def test_what_was_recorded_is_given_back(tmp_path: Path) -> None:
    model = open_model(f"recorded:{recorded(tmp_path / 'a.jsonl')}")
    assert model.name == "scripted"
    results = model.ask([ask(2), ask(0, workspace="another")])
    assert texts(results) == ["answer 2", "answer 0"]
    first = results[0]
    assert isinstance(first, Reply)
    assert (first.replayed, first.usage.input, first.usage.output, first.model) == (True, 10, 5, "scripted")


def test_a_miss_is_an_error_that_names_what_is_missing(tmp_path: Path) -> None:
    model = Recorded(recorded(tmp_path / "a.jsonl"))
    with pytest.raises(UnknownError) as raised:
        model.ask([ask(), ask(7), ask(8)])
    for part in ("verify@1", "stage verify", ask(7).digest("scripted"), "1 more", "a.jsonl"):
        assert part in str(raised.value)
    assert "question" not in str(raised.value)


def test_recording_again_adds_only_what_is_new(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.jsonl")
    Recorder(Scripted("changed", "new"), path).ask([ask(0), ask(9)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 4
    assert {line["stage"] for line in lines} == {"verify"}
    assert texts(Recorded(path).ask([ask(0), ask(9)])) == ["answer 0", "new"]


def test_failures_are_passed_on_and_not_recorded(tmp_path: Path) -> None:
    failure = Failure(fault=Fault.TIMEOUT, message="late", usage=Usage(stage="verify"))
    results = Recorder(Scripted("ok", failure), tmp_path / "a.jsonl").ask([ask(0), ask(1)])
    assert results[1] is failure
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 1


def test_an_answer_cut_off_stays_cut_off(tmp_path: Path) -> None:
    Recorder(Scripted(reply("half", complete=False)), tmp_path / "a.jsonl").ask([ask()])
    (result,) = Recorded(tmp_path / "a.jsonl").ask([ask()])
    assert isinstance(result, Reply)
    assert not result.complete


def test_a_directory_of_files_is_one_store(tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl", 1)
    Recorder(Scripted("other"), tmp_path / "b.jsonl").ask([ask(5)])
    assert texts(Recorded(tmp_path).ask([ask(0), ask(5)])) == ["answer 0", "other"]


@pytest.mark.parametrize("shared", [True, False])
def test_a_batch_directory_is_a_store_as_it_is(shared: bool, tmp_path: Path) -> None:
    with pytest.raises(PendingAnswers):
        Batch(tmp_path, "strong", shared=shared).ask([ask()])
    custom_id = json.loads((tmp_path / "requests.jsonl").read_text())["custom_id"]
    body = json.loads(completion("by batch"))
    line = {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}
    (tmp_path / "responses.jsonl").write_text(json.dumps(line) + "\n")
    model = open_model(f"recorded:{tmp_path}?model=strong")
    assert texts(model.ask([ask()])) == ["by batch"]
    other = ask(workspace="another")
    if shared:
        assert texts(model.ask([other])) == ["by batch"]
    else:
        with pytest.raises(UnknownError):
            model.ask([other])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("{broken\n", "a.jsonl:4"),
        ('{"custom_id": "half', "a.jsonl:4"),
        ("", "scripted"),
    ],
)
def test_a_damaged_store_is_refused(data: str, says: str, tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.jsonl")
    path.write_text(path.read_text() + data)
    if data:
        with pytest.raises(ModelError, match=says):
            Recorded(path)
    else:
        assert Recorded(path).name == says


def test_two_answers_to_one_request_are_refused(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.jsonl", 1)
    path.write_text(path.read_text() + path.read_text().replace("answer 0", "another"))
    with pytest.raises(ModelError, match=r"a.jsonl:1 and a.jsonl:2"):
        Recorded(path)


def test_answers_of_two_models_need_a_name(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.jsonl", 1)
    path.write_text(path.read_text() + path.read_text().replace('"model":"scripted","prompt"', '"model":"x","prompt"'))
    with pytest.raises(ModelError, match=r"2 models.*model=NAME"):
        Recorded(path)
    assert texts(Recorded(path, model="scripted").ask([ask()])) == ["answer 0"]
    with pytest.raises(UnknownError):
        Recorded(path, model="x").ask([ask()])

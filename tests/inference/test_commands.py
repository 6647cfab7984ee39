"""The commands that call models, as a user types them; the answers come by file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from readmit.inference import preparation
from readmit.lab import Status
from tests.cli.run import run
from tests.inference.test_batch import answered
from tests.inference.world import BEDTIME, SHIFT, SHOES

if TYPE_CHECKING:
    from pathlib import Path

WHO = ("--principal", "A1", "--role", "helper", "--task", "advice")


def typed(*words: str, ends: Status = Status.OK) -> Any:
    done = run(*words, "--json", status=None)
    assert done.exit_code == ends, done.output
    return json.loads(done.output) if done.output else None


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    typed("init")
    typed("record", BEDTIME, "--source", BEDTIME, "--by", "A1", "--id", "bedtime", "--supports", "d_bed")
    typed("depart", *WHO)
    for text in (SHIFT, SHOES):
        typed("observe", text, "--by", "A5")
    return tmp_path


def test_prepare_then_return_through_batch_files(team: Path) -> None:
    models = (
        "--verifier",
        "batch:answers?model=strong",
        "--implier",
        "batch:answers?model=strong",
        "--embedder",
        "lexical",
    )
    # Every pair is judged, so that one round of answers is enough.
    stopped = typed("prepare", *WHO, *models, ends=Status.WAITING)
    assert stopped["error"]["type"] == "PendingAnswers"
    assert typed("batch", "status", "answers", ends=Status.WAITING)["waiting"] == 1
    answered(team / "answers", 1)
    assert typed("prepare", *WHO, *models)["invalidated"] == ["bedtime"]
    assert typed("batch", "status", "answers")["waiting"] == 0
    assert typed("batch", "check", "answers")["ok"] is True
    returned = typed("return", *WHO)
    assert {one["item"]: one["state"] for one in returned["dispositions"]}["bedtime"] == "premise_changed"
    assert typed("watch", *models, "--once")["announced"] == []


MODELS = ("--verifier", "batch:answers?model=strong", "--embedder", "lexical")


def state(returned: Any) -> str:
    return str({one["item"]: one["state"] for one in returned["dispositions"]}["bedtime"])


def test_return_prepares_itself_when_asked_to(team: Path) -> None:
    """Nothing is decided while answers are awaited; then it is what preparing and returning come to."""
    assert state(typed("return", *WHO)) == "admitted"
    for _ in range(2):
        stopped = typed("return", *WHO, "--prepare", *MODELS, "--id", "r1", ends=Status.WAITING)
        assert stopped["error"]["type"] == "PendingAnswers"
    assert "r1" not in run("audit", "list", status=None).output
    answered(team / "answers", 1)
    returned = typed("return", *WHO, "--prepare", *MODELS, "--id", "r1")
    assert (state(returned), returned["prepared"]["invalidated"]) == ("premise_changed", ["bedtime"])
    assert "prepared" not in typed("return", *WHO, "--prepare", *MODELS, "--agent-facing")
    said = run("return", *WHO, "--prepare", *MODELS, status=None).output
    assert "A1 as helper for advice" in said
    assert state(typed("return", *WHO)) == "premise_changed"


def test_a_model_that_fails_leaves_a_suspicion_and_the_return_is_decided_without(team: Path) -> None:
    typed("oblige", "Plan the evening", "--requires", "d_bed",
          "--source", "Please plan.", "--by", "A5", "--id", "o")  # fmt: skip
    down = (
        "--verifier",
        "openai:m?base_url=http://127.0.0.1:9/v1&key_env=HOME&deadline=2&retries=0",
        "--embedder",
        "lexical",
    )
    returned = typed("return", *WHO, "--prepare", *down, ends=Status.BLOCKED)
    assert state(returned) == "suspected"
    assert returned["prepared"]["unanswered"] > 0
    assert "prepared" not in typed("return", *WHO, ends=Status.BLOCKED), "the suspicion stays"


def test_a_preparation_that_fails_refuses_the_return(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "find_pairs", lambda *_: 1 / 0)
    refused = typed("return", *WHO, "--prepare", *MODELS, ends=Status.BLOCKED)
    assert (refused["reasons"], refused["report"]["covered"]) == (["internal_error"], 0)
    assert "prepared" not in refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--verifier", "batch:a?model=m"), "--verifier has no use without --prepare"),
        (("--second-verifier", "batch:a?model=m"), "--second-verifier has no use without --prepare"),
        (("--prepare",), "--prepare needs --verifier"),
    ],
)
def test_models_and_prepare_go_together(team: Path, words: tuple[str, ...], said: str) -> None:
    done = run("return", *WHO, *words, status=None)
    assert done.exit_code == Status.USAGE
    assert said in done.output


def test_a_slip_in_the_settings_decides_nothing(team: Path) -> None:
    (team / "s.json").write_text('{"signals": ["scan"]}')
    words = ("return", *WHO, "--prepare", "--verifier", "batch:answers?model=m", "--settings", "s.json", "--id", "r1")
    assert "scanner: none is given" in typed(*words, ends=Status.ERROR)["error"]["message"]
    assert "r1" not in run("audit", "list", status=None).output


def test_prepare_settles_open_disputes_first_in_the_name_given(team: Path) -> None:
    typed("record", "The user is up until midnight.", "--source", "I go to bed late.", "--by", "A6", "--id", "late")
    (team / "steps.json").write_text(
        json.dumps([{"do": "dispute", "items": ["bedtime", "late"], "by": "A7", "id": "q", "reason": "not both"}])
    )
    typed("record", "--file", "steps.json")
    assert "own return" in typed("prepare", *WHO, *MODELS, "--resolve-by", "A1", ends=Status.ERROR)["error"]["message"]
    words = ("prepare", *WHO, *MODELS, "--resolve-by", "lead")
    for number in (1, 2):
        typed(*words, ends=Status.WAITING)
        answered(team / "answers", number)
    assert "resolved" not in typed("prepare", *WHO, *MODELS)
    assert typed(*words)["resolved"] == [], "it was resolved before the pairs were waited for"
    states = {one["item"]: one["state"] for one in typed("return", *WHO)["dispositions"]}
    assert states == {"bedtime": "premise_changed", "late": "revoked"}


def test_batch_check_reports_what_is_odd(team: Path) -> None:
    typed("prepare", *WHO, "--verifier", "batch:answers?model=m", "--embedder", "lexical", ends=Status.WAITING)
    (team / "answers" / "responses.jsonl").write_text('{"custom_id": "nonesuch", "error": "x"}\nnot json\n{"half')
    found = typed("batch", "check", "answers", ends=Status.UNVERIFIED)
    assert {one["kind"] for one in found["problems"]} == {"unknown", "malformed", "incomplete"}
    assert "no such directory" in typed("batch", "status", "nowhere", ends=Status.ERROR)["error"]["message"]


def test_settings_come_from_a_file_and_errors_name_the_field(team: Path) -> None:
    (team / "s.json").write_text('{"all_pair": 3}')
    words = ("prepare", *WHO, "--verifier", "batch:answers?model=m", "--settings", "s.json")
    message = typed(*words, ends=Status.ERROR)["error"]["message"]
    assert "all_pair" in message
    assert "all_pairs" in message
    (team / "s.json").write_text('{"signals": ["scan"]}')
    assert "scanner: none is given" in typed(*words, ends=Status.ERROR)["error"]["message"]


def test_extract_needs_evidence_or_all(team: Path) -> None:
    typed_ = run("ingest", "--by", "A2", "--extractor", "batch:answers?model=m", status=None)
    assert typed_.exit_code == Status.USAGE
    assert typed("ingest", "--all", "--by", "A2", "--extractor", "batch:answers?model=m", ends=Status.WAITING)
    assert typed("batch", "status", "answers", ends=Status.WAITING)["requests"] == 3


def test_eval_pairs_judges_files_and_writes_cases(team: Path) -> None:
    rows = [
        {
            "id": "a",
            "old": "The user is asleep by 10:30.",
            "new": "They work at the bookstore at night.",
            "invalidates": True,
        },
        {
            "id": "b",
            "old": "The user is asleep by 10:30.",
            "new": "They bought shoes that are blue.",
            "invalidates": False,
        },
    ]
    (team / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("eval", "pairs", "pairs.jsonl", "--verifier", "batch:answers?model=strong", "--cases", "cases.jsonl")
    typed(*words, ends=Status.WAITING)
    answered(team / "answers", 1)
    (report,) = typed(*words)["reports"]
    rates = report["taken_out"]
    assert (rates["tpr"]["value"], rates["fpr"]["value"], report["auc"]["value"]) == (1.0, 0.0, 1.0)
    assert report["tokens_per_pair"] == 120
    lines = [json.loads(line) for line in (team / "cases.jsonl").read_text().splitlines()]
    assert [(line["case"]["id"], line["ruling"]) for line in lines] == [("a", "invalid"), ("b", "compatible")]

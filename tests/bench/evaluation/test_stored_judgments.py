"""Judgments that are stored: decided by their score, by their answer, and told side by side."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.run import run

import readmit
from readmit.errors import RecordError
from readmit.policies import Policy
from readmit_bench.evaluation.pairs import PairReport, evaluate
from readmit_bench.evaluation.stored_judgments import holds_judgments, load_stored

if TYPE_CHECKING:
    from collections.abc import Sequence

GUIDE = Path(readmit.__file__).parents[2] / "docs" / "guide" / "implicit.md"


def row(*, invalidates: bool, **said: Any) -> dict[str, Any]:
    texts = {"old": "I live in Rome.", "new": "I moved to Oslo.", "invalidates": invalidates}
    return texts | {"item_quote": "live in Rome", "evidence_quote": "moved to Oslo"} | said


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def reports(paths: Sequence[Path], policy: Policy | None = None) -> list[PairReport]:
    policy = policy or Policy()
    stored = load_stored(paths, policy)
    return [evaluate(stored.cases, said, policy=policy, rule=rule, resamples=20) for rule, said in stored.said]


def test_both_rules_decide_on_the_same_rows(tmp_path: Path) -> None:
    path = written(
        tmp_path / "both.jsonl",
        row(invalidates=True, answer="invalidates", confidence=0.62, mistaken=0.73),
        row(invalidates=True, answer="unsure", confidence=0.9, mistaken=0.5),
        row(invalidates=False, answer="compatible", confidence=0.9, mistaken=0.3),
        row(invalidates=False, answer="invalidates", confidence=0.65, stale=0.29, mistaken=0.9),
    )
    score, answer = reports([path])
    assert (score.rule, answer.rule) == ("one score", "three answers")
    assert [str(one.ruling) for one in score.judged] == ["invalid", "invalid", "doubtful", "compatible"]
    assert [str(one.ruling) for one in answer.judged] == ["open", "open", "compatible", "invalid"]


def test_quotes_are_looked_up_as_in_a_return(tmp_path: Path) -> None:
    made_up = {"evidence_quote": "moved to the moon"}
    path = written(
        tmp_path / "quotes.jsonl",
        row(invalidates=True, answer="invalidates", confidence=1, stale=1, **made_up),
        row(invalidates=True, answer="invalidates", confidence=1, stale=1, item_quote="live  in Rome"),
        row(invalidates=False, answer="compatible", confidence=1, stale=0, **made_up),
    )
    for report in reports([path]):
        assert [str(one.ruling) for one in report.judged] == ["open", "invalid", "compatible"]


def test_a_rule_is_reported_where_there_is_something_to_decide_on(tmp_path: Path) -> None:
    scores = written(tmp_path / "scores.jsonl", row(invalidates=True, stale=1), row(invalidates=False, stale=0))
    answers = written(tmp_path / "answers.jsonl", row(invalidates=True, answer="unsure"), row(invalidates=False))
    assert [one.rule for one in reports([scores])] == ["one score"]
    (alone,) = reports([answers])
    assert (alone.rule, alone.unanswered) == ("three answers", 1)
    both = reports([scores, answers])
    assert [(one.cases, one.unanswered) for one in both] == [(4, 2), (4, 3)]


def test_what_is_no_score_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "wrong.jsonl", row(invalidates=True, stale=0.5), row(invalidates=False, stale=5))
    with pytest.raises(RecordError, match=r"wrong\.jsonl:2: .*stale"):
        load_stored([path], Policy())


def test_files_of_judgments_are_recognized_by_their_fields(tmp_path: Path) -> None:
    plain = {"id": "1", "old": "a", "new": "b", "invalidates": True}
    assert not holds_judgments(written(tmp_path / "plain.jsonl", plain))
    for name, value in (("stale", 0.1), ("mistaken", 0.1), ("answer", "unsure")):
        assert holds_judgments(written(tmp_path / f"{name}.jsonl", plain | {name: value}))


def test_the_command_reads_them_without_a_model_and_takes_other_thresholds(tmp_path: Path) -> None:
    path = written(
        tmp_path / "both.jsonl",
        row(invalidates=True, answer="invalidates", confidence=0.9, stale=0.6),
        row(invalidates=False, answer="compatible", confidence=0.9, stale=0.1),
    )
    lines = tmp_path / "cases.jsonl"
    told = json.loads(run("eval", "pairs", str(path), "--json", "--cases", str(lines)).stdout)
    assert [(one["rule"], one["taken_out"]["tpr"]["value"]) for one in told["reports"]] == [
        ("one score", 1.0),
        ("three answers", 1.0),
    ]
    assert [json.loads(line)["ruling"] for line in lines.read_text().splitlines()] == [
        "invalid", "compatible", "invalid", "compatible",
    ]  # fmt: skip
    strict = ["--invalid-at", "0.65", "--min-confidence", "0.95"]
    told = json.loads(run("eval", "pairs", str(path), "--json", *strict).stdout)
    assert [one["taken_out"]["tpr"]["value"] for one in told["reports"]] == [0.0, 0.0]


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    plain = {"id": "1", "old": "a", "new": "b", "invalidates": True}
    refused = run("eval", "pairs", str(written(tmp_path / "plain.jsonl", plain)), status=2)
    assert "Give --verifier" in refused.stderr


def test_the_development_scores_give_the_table_of_the_guide(shared_data: Path) -> None:
    path = shared_data / "stale" / "pair_scores.jsonl"
    told = run("eval", "pairs", str(path)).stdout.strip()
    assert told in GUIDE.read_text(encoding="utf-8"), "write the command's output into the guide"
    score, answer = reports([path])
    assert score.auc.value == pytest.approx(0.983, abs=0.001)
    assert (score.taken_out.tpr.value, score.taken_out.fpr.value) == (58 / 60, 4 / 60)
    assert (answer.taken_out.tpr.value, answer.taken_out.fpr.value) == (42 / 60, 2 / 60)
    paper = reports([path], Policy(evidence={"invalid_at": Decimal("0.65")}))[0]
    assert paper.taken_out.tpr.value == 47 / 60

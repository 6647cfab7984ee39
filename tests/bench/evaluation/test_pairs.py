from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Answer, Pair, Verdict
from readmit.errors import RecordError
from readmit.lab import Ruling
from readmit.policies import Policy
from readmit_bench.evaluation import scores
from readmit_bench.evaluation.development import StalePair
from readmit_bench.evaluation.pairs import LabelledPair, PairJudgment, evaluate, load_cases, stale_cases, three_answers
from readmit_bench.evaluation.plain_tables import pairs_table
from readmit_bench.evaluation.plots import plot_pairs
from readmit_bench.evaluation.stored_judgments import stored_judgments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

YES, NO, UNSURE = Answer.INVALIDATES, Answer.COMPATIBLE, Answer.UNSURE
EVERY = Policy(paper={"min_confidence": Decimal(0)})


def case(name: str, *, invalidates: bool) -> LabelledPair:
    return LabelledPair(id=name, old=f"old {name}", new=f"new {name}", invalidates=invalidates)


CASES = [case(name, invalidates=name in "abcd") for name in "abcdefgh"]


def says(table: Mapping[str, PairJudgment | None]) -> Callable[[Sequence[LabelledPair]], list[PairJudgment | None]]:
    return lambda cases: [table.get(case.id) for case in cases]


def judgment(
    answer: Answer, confidence: float, tokens: int = 0, stale: str | None = None, quote: str = "x"
) -> PairJudgment:
    """Both quotes found, unless told otherwise."""
    verdict = Verdict(
        pair=Pair(item="h", evidence="0" * 64),
        answer=answer,
        confidence=Decimal(str(confidence)),
        item_quote="x",
        evidence_quote=quote,
        stale=None if stale is None else Decimal(stale),
    )
    return PairJudgment(verdict=verdict, tokens=tokens)


def scored(stale: str, quote: str = "x") -> PairJudgment:
    return judgment(UNSURE, 0, stale=stale, quote=quote)


def test_rates_count_what_would_take_an_item_out() -> None:
    table = {
        "a": judgment(YES, 0.9, tokens=100),
        "b": judgment(YES, 0.4, tokens=100),
        "c": judgment(UNSURE, 0.9),
        "e": judgment(YES, 0.7),
        "f": judgment(NO, 0.8),
        "g": judgment(NO, 1.0),
        "h": judgment(NO, 1.0),
    }
    report = evaluate(CASES, says(table), policy=EVERY, rule=three_answers(EVERY), resamples=50)
    assert (report.taken_out.tpr.value, report.taken_out.fpr.value) == (0.5, 0.25)
    assert (report.open, report.unanswered, report.positives) == (1, 1, 4)
    assert report.tokens_per_pair == 25
    # Chances: .9 .4 .5 .5 against .7 .2 0 0: 13 of 16 comparisons won.
    assert report.auc.value == 13 / 16
    assert [entry.case.id for entry in report.judged if not entry.right] == ["c", "d", "e"]
    strict = evaluate(CASES, says(table), rule=three_answers(Policy()), resamples=50)
    assert (strict.taken_out.tpr.value, strict.taken_out.fpr.value) == (0.25, 0.25)
    # What is unsure, not sure enough or unanswered withholds what is critical.
    assert (strict.withheld.tpr.value, strict.withheld.fpr.value) == (1, 0.25)
    assert "invalidates ≥ 0.65" in pairs_table(strict)
    assert "0.250" in pairs_table(strict)


def test_a_score_decides_at_the_thresholds_of_the_policy() -> None:
    table = {
        "a": scored("0.5"),
        "b": scored("0.49"),
        "c": scored("0.9", quote=""),
        "d": scored("0.29"),
        "e": scored("0.3"),
        "f": scored("0.299", quote=""),
        "g": scored("0"),
    }
    report = evaluate(CASES, says(table), resamples=50)
    assert [str(one.ruling) for one in report.judged] == [
        "invalid", "doubtful", "open", "compatible", "doubtful", "compatible", "compatible", "open",
    ]  # fmt: skip
    assert (report.taken_out.tpr.value, report.taken_out.fpr.value) == (0.25, 0)
    assert (report.withheld.tpr.value, report.withheld.fpr.value) == (0.75, 0.5)
    assert (report.open, report.unanswered) == (1, 1)
    assert (report.rule, report.taken_out.at, report.withheld.at) == ("one score", "score ≥ 0.5", "score ≥ 0.3")
    # Scores .5 .49 .9 .29 against .3 .299 0 and no answer: 11.5 of 16 comparisons won.
    assert report.auc.value == 11.5 / 16
    paper = Policy(evidence={"invalid_at": Decimal("0.51"), "suspect_at": Decimal("0.51")})
    assert [one.ruling for one in evaluate(CASES, says(table), policy=paper, resamples=50).judged][:3] == [
        Ruling.COMPATIBLE,
        Ruling.COMPATIBLE,
        Ruling.OPEN,
    ]


def test_an_area_with_ties_counts_them_half() -> None:
    assert scores.auc(np.array([0.5, 0.5]), np.array([0.5])) == 0.5
    assert scores.auc(np.array([1.0, 0.5]), np.array([0.5, 0.0])) == 0.875


@settings(max_examples=80)
@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12),
)
def test_the_area_is_the_share_of_comparisons_won(positive: list[float], negative: list[float]) -> None:
    won = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative) / (len(positive) * len(negative))
    assert scores.auc(np.array(positive), np.array(negative)) == pytest.approx(won)
    labels = [True] * len(positive) + [False] * len(negative)
    points = scores.curve([*positive, *negative], labels)
    under = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    assert under == pytest.approx(won)


def test_calibration() -> None:
    bins = scores.reliability([0.0, 0.05, 0.95, 1.0], [False, True, True, True])
    assert [(row.count, row.was) for row in bins] == [(2, 0.5), (2, 1.0)]
    assert scores.calibration_error(bins) == pytest.approx((0.475 + 0.025) / 2)


def test_intervals_are_seeded_and_hold_the_value() -> None:
    chances, labels = [0.9, 0.8, 0.3, 0.6, 0.4, 0.1], [True, True, True, False, False, False]
    one = scores.estimate_auc(chances, labels, seed=3, resamples=200)
    assert one == scores.estimate_auc(chances, labels, seed=3, resamples=200)
    assert one.low <= one.value <= one.high
    assert one.low < one.high


@pytest.mark.parametrize(
    ("cases", "answers", "message"),
    [(CASES[:4], 4, "both kinds"), ([], 0, "both kinds"), (CASES, 7, "7 judgments for 8 cases")],
    ids=["only true pairs", "no pairs", "a judgment too few"],
)
def test_what_cannot_be_measured_is_refused(cases: Sequence[LabelledPair], answers: int, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        evaluate(cases, lambda _: [None] * answers)


def stale(name: str, kind: str = "T2") -> StalePair:
    return StalePair(name, kind, f"old {name}", f"new {name}", (1, 2))  # type: ignore[arg-type]


def test_crossed_pairs_are_seeded_and_never_true_ones() -> None:
    pairs = [stale(name) for name in "abcdef"] + [stale(name, "T1") for name in "uvw"]
    cases = stale_cases(pairs, seed=1)
    assert cases == stale_cases(pairs, seed=1)
    assert cases != stale_cases(pairs, seed=2)
    crossed = [entry for entry in cases if not entry.invalidates]
    assert len(crossed) == len(pairs)
    assert all(entry.old.split()[1] != entry.new.split()[1] for entry in crossed)
    assert {entry.new for entry in crossed} == {pair.new for pair in pairs}
    assert all((entry.old.split()[1] in "uvw") is (entry.new.split()[1] in "uvw") for entry in crossed)
    assert [entry.invalidates for entry in stale_cases([stale("alone")])] == [True]


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def test_the_three_formats_are_distinguished(tmp_path: Path) -> None:
    own = {"id": "1", "old": "Rome", "new": "Oslo", "invalidates": True}
    assert load_cases(written(tmp_path / "own.jsonl", own)).cases == [
        LabelledPair(id="1", old="Rome", new="Oslo", invalidates=True)
    ]
    record = {"uid": "u", "type": "T1", "M_old": "o", "M_new": "n", "relevant_session_index": [0, 3], "explanation": ""}
    two = load_cases(written(tmp_path / "stale.jsonl", record, record | {"uid": "v", "M_new": "m"}), seed=4)
    assert sorted((entry.new, entry.invalidates) for entry in two.cases) == [
        ("m", False), ("m", True), ("n", False), ("n", True),
    ]  # fmt: skip
    row = {"Premise": "A man.", "Hypothesis": "He works.", "Update": "He sleeps.", "UpdateType": "weakener"}
    other = row | {"Update": "He hammers.", "UpdateType": "strengthener"}
    nli = load_cases(written(tmp_path / "nli.jsonl", row, other, row | {"Update": ""}))
    assert [(entry.new, entry.invalidates) for entry in nli.cases] == [("He sleeps.", True), ("He hammers.", False)]
    assert nli.skipped == 1
    assert nli.cases[0].old == "A man. So: He works."


def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path) -> None:
    good = {"id": "1", "old": "a", "new": "b", "invalidates": True}
    path = written(tmp_path / "mine.jsonl", good, good | {"invalidates": "yes"})
    with pytest.raises(RecordError, match=r"mine\.jsonl:2: .*\$\.invalidates"):
        load_cases(path)
    with pytest.raises(RecordError, match=r"mine\.jsonl:1: .*label"):
        load_cases(written(path, good | {"label": 1}))
    with pytest.raises(RecordError, match="no such file"):
        load_cases(tmp_path / "absent.jsonl")


def test_the_recorded_judgments_give_their_published_rates(shared_data: Path) -> None:
    report = evaluate(*stored_judgments(shared_data), policy=EVERY, resamples=100)
    assert (report.cases, report.positives) == (120, 60)
    assert report.taken_out.tpr.value == pytest.approx(0.95)
    assert report.taken_out.fpr.value == pytest.approx(4 / 60)


def test_real_files_load(shared_data: Path) -> None:
    stale_set = load_cases(shared_data / "stale" / "pairs.jsonl")
    assert (len(stale_set.cases), stale_set.skipped) == (588, 0)
    nli = load_cases(shared_data / "defeasible-nli" / "snli-dev.jsonl")
    assert len(nli.cases) + nli.skipped == 1_888
    assert len(nli.cases) > 1_500


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plots_are_written(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    report = evaluate(CASES, says({"a": scored("0.9")}), resamples=20)
    path = tmp_path / f"plot.{ending}"
    plot_pairs(report, path)
    assert path.read_bytes().startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    with pytest.raises(RecordError, match=r"\.png or \.svg"):
        plot_pairs(report, tmp_path / "plot.txt")

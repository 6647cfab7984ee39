"""Metrics against hand-computed cases and every identity the paper states."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.errors import RecordError
from readmit_bench.metrics import (
    OLD_STALE,
    OLD_VALID,
    ManBenchOutcome,
    MemoraOutcome,
    StaleOutcome,
    average,
    criteria,
    harmonic_mean,
    percent,
    pooled,
    score_manbench,
    score_memora,
    score_stale,
)


def stale(*judgments: tuple[int, int, int]) -> list[StaleOutcome]:
    return [StaleOutcome(episode=str(i), sr=bool(s), pr=bool(p), ipa=bool(a)) for i, (s, p, a) in enumerate(judgments)]


def memora(presence: str, forgetting: str) -> MemoraOutcome:
    return MemoraOutcome(
        episode="q", presence=tuple(c == "1" for c in presence), forgetting=tuple(c == "1" for c in forgetting)
    )


def test_stale_by_hand() -> None:
    scores = score_stale(stale((1, 1, 1), (1, 0, 1), (0, 1, 0), (1, 1, 0)))
    assert (scores.sr, scores.pr, scores.ipa) == (Fraction(3, 4), Fraction(3, 4), Fraction(1, 2))
    assert scores.overall == Fraction(2, 3)
    assert scores.via == scores.ipa
    assert scores.iir == Fraction(1, 2)
    assert scores.wsar == Fraction(1, 2)
    assert scores.ls == Fraction(1, 4)


@dataclass(frozen=True)
class MemoraCase:
    presence: str
    forgetting: str
    overall: Fraction
    fama: Fraction


MEMORA = {
    "one of two remembered, one of two forgotten": MemoraCase("10", "10", Fraction(1, 2), Fraction(1, 4)),
    "perfect forgetting leaves presence": MemoraCase("100", "11", Fraction(3, 5), Fraction(1, 3)),
    "never below zero": MemoraCase("0001", "0000", Fraction(1, 8), Fraction(0)),
    "all satisfied": MemoraCase("11", "1", Fraction(1), Fraction(1)),
    "weights follow the counts": MemoraCase("1", "000", Fraction(1, 4), Fraction(1, 4)),
}


@pytest.mark.parametrize("case", MEMORA.values(), ids=MEMORA.keys())
def test_memora_by_hand(case: MemoraCase) -> None:
    scores = score_memora([memora(case.presence, case.forgetting)])
    assert scores.overall == case.overall
    assert scores.fama == case.fama


def test_memora_scores_each_question_before_averaging() -> None:
    one, two = memora("1", "000"), memora("0", "1")
    scores = score_memora([one, two])
    # A pooled FAMA would be max(0, 1/2 - w(1-F)) of the union; the paper's is the mean of 1/4 and 0.
    assert scores.fama == Fraction(1, 8)
    assert scores.via == Fraction(1, 2)
    assert scores.iir == Fraction(1, 2)


def manbench(condition: str, *rows: tuple[int, int, int]) -> list[ManBenchOutcome]:
    return [
        ManBenchOutcome(
            episode=str(i),
            condition=OLD_VALID if condition == "valid" else OLD_STALE,
            valid_admitted=bool(v),
            invalid_admitted=bool(w),
            correct=bool(c),
        )
        for i, (v, w, c) in enumerate(rows)
    ]


def test_manbench_by_hand() -> None:
    valid = score_manbench(manbench("valid", (1, 0, 1), (0, 1, 0), (0, 0, 1), (1, 0, 1)))
    stale_block = score_manbench(manbench("stale", (1, 0, 1), (0, 1, 0)))
    assert (valid.via, valid.iir, valid.wsar) == (Fraction(1, 2), Fraction(3, 4), Fraction(1, 4))
    assert (valid.overall, valid.rsr) == (Fraction(3, 4), Fraction(1, 4))
    assert stale_block.rsr is None
    both = average({"old-valid": valid, "old-stale": stale_block})
    assert both.overall == Fraction(5, 8)
    assert both.rsr is None


def test_the_two_aggregation_rules_differ() -> None:
    early, late = score_stale(stale((1, 1, 1))), score_stale(stale((0, 0, 0), (0, 0, 0), (0, 0, 0)))
    assert average({"early": early, "late": late}).ls == Fraction(1, 2)
    assert pooled({"early": (early, 1), "late": (late, 3)}).ls == Fraction(1, 4)


def test_percent_and_harmonic_mean() -> None:
    assert percent(Fraction(385, 5610)) == 6.86
    assert percent(Fraction(1, 3)) == 33.33
    assert harmonic_mean(Fraction(0), Fraction(1)) == 0
    assert harmonic_mean(Fraction(1, 2), Fraction(1)) == Fraction(2, 3)
    assert harmonic_mean(Fraction(0), Fraction(0)) == 0


@pytest.mark.parametrize("score", [score_stale, score_memora, score_manbench])
def test_an_empty_stratum_is_an_error(score: object) -> None:
    with pytest.raises(RecordError, match="no episode"):
        score([])  # type: ignore[operator]


def test_empty_aggregates_are_errors() -> None:
    with pytest.raises(RecordError, match="nothing to average"):
        average({})
    with pytest.raises(RecordError, match="'late'"):
        pooled({"late": (score_stale(stale((1, 1, 1))), 0)})


def test_mixed_blocks_are_errors() -> None:
    with pytest.raises(RecordError, match="one condition"):
        score_manbench(manbench("valid", (1, 0, 1)) + manbench("stale", (1, 0, 1)))
    unanswered = ManBenchOutcome(episode="x", condition=OLD_VALID, valid_admitted=True, invalid_admitted=False)
    with pytest.raises(RecordError, match="no answer"):
        score_manbench([*manbench("valid", (1, 0, 1)), unanswered])
    assert score_manbench([unanswered]).overall is None


@pytest.mark.parametrize(("presence", "forgetting"), [("", "1"), ("1", "")])
def test_a_question_needs_both_kinds_of_criteria(presence: str, forgetting: str) -> None:
    with pytest.raises(RecordError, match="at least one criterion each"):
        memora(presence, forgetting)


bits = st.booleans()
stale_blocks = st.lists(st.tuples(bits, bits, bits), min_size=1, max_size=40).map(lambda rows: stale(*rows))
criterion_lists = st.lists(bits, min_size=1, max_size=8).map(tuple)
questions = st.builds(MemoraOutcome, episode=st.just("q"), presence=criterion_lists, forgetting=criterion_lists)


@settings(max_examples=150)
@given(stale_blocks)
def test_stale_identities(block: list[StaleOutcome]) -> None:
    s = score_stale(block)
    assert s.iir <= min(s.sr, s.pr)
    assert s.ls <= min(s.iir, s.ipa)
    assert s.overall == (s.sr + s.pr + s.ipa) / 3
    assert s.wsar == 1 - s.iir


@settings(max_examples=150)
@given(st.lists(questions, min_size=1, max_size=20))
def test_memora_identities(block: list[MemoraOutcome]) -> None:
    s = score_memora(block)
    assert s.wsar == 1 - s.iir
    assert s.fama <= s.via
    perfect = [MemoraOutcome(episode="q", presence=q.presence, forgetting=(True,) * len(q.forgetting)) for q in block]
    assert score_memora(perfect).fama == score_memora(perfect).via
    for q in block:
        satisfied = sum(q.presence) + sum(q.forgetting)
        assert criteria(q).pooled == Fraction(satisfied, len(q.presence) + len(q.forgetting))


@settings(max_examples=100)
@given(st.lists(st.tuples(bits, bits, bits), min_size=1, max_size=40))
def test_rsr_is_the_complement_of_overall(rows: list[tuple[bool, bool, bool]]) -> None:
    s = score_manbench(manbench("valid", *rows))
    assert s.overall is not None
    assert s.rsr == 1 - s.overall


@settings(max_examples=100)
@given(st.lists(stale_blocks, min_size=1, max_size=4))
def test_pooling_blocks_equals_scoring_all_episodes(blocks: list[list[StaleOutcome]]) -> None:
    parts = {str(i): (score_stale(block), len(block)) for i, block in enumerate(blocks)}
    assert pooled(parts) == score_stale([outcome for block in blocks for outcome in block])

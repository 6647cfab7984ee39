"""Bootstrap intervals: seeded, stratified, drawn by unit."""

from __future__ import annotations

import pytest

from readmit.errors import RecordError
from readmit_bench.intervals import Sample, bootstrap


def shares(block: str, ones: int, zeros: int) -> list[Sample]:
    return [Sample(f"{block}-{i}", block, float(i < ones)) for i in range(ones + zeros)]


def test_the_same_seed_gives_the_same_interval() -> None:
    samples = shares("a", 30, 70)
    assert bootstrap(samples, seed=7) == bootstrap(list(reversed(samples)), seed=7)
    assert bootstrap(samples, seed=7) != bootstrap(samples, seed=8)


def test_the_interval_covers_the_mean_and_has_the_textbook_width() -> None:
    interval = bootstrap(shares("a", 30, 70), seed=1, resamples=4000)
    # The normal approximation: 0.3 ± 1.96·sqrt(0.3·0.7/100) = 0.3 ± 0.0898.
    assert interval.low == pytest.approx(0.210, abs=0.015)
    assert interval.high == pytest.approx(0.390, abs=0.015)


def test_a_constant_has_no_width() -> None:
    interval = bootstrap(shares("a", 12, 0), seed=1)
    assert (interval.low, interval.high) == (1.0, 1.0)


def test_weights_choose_the_aggregation_rule() -> None:
    samples = shares("a", 1, 0) + shares("b", 0, 3)
    assert bootstrap(samples, seed=1).low == 0.5
    assert bootstrap(samples, seed=1, weights={"a": 0.25, "b": 0.75}).low == 0.25


def test_a_question_at_three_departures_is_drawn_as_one_unit() -> None:
    clustered = [Sample(f"q{i}", block, float(i < 10)) for i in range(20) for block in ("25", "50", "75")]
    independent = [Sample(f"{s.unit}-{s.block}", s.block, s.value) for s in clustered]
    wide, narrow = bootstrap(clustered, seed=3), bootstrap(independent, seed=3)
    assert wide.high - wide.low > 1.4 * (narrow.high - narrow.low)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": []}, "samples"),
        ({"level": 95}, "level"),
        ({"resamples": 0}, "resamples"),
        ({"weights": {"other": 1.0}}, "weights"),
    ],
)
def test_misuse_names_the_argument(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        bootstrap(**{"samples": shares("a", 1, 1), "seed": 1, **arguments})  # type: ignore[arg-type]

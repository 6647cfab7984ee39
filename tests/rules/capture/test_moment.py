"""The moment that is judged, and how far a clock may lag behind the log."""

from __future__ import annotations

from datetime import timedelta

import pytest

from readmit.policies import Policy
from readmit.rules.capture.moment import lag, later
from tests.scene import HOUR, START

TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("learnt", "expected"),
    [(None, START), (START - HOUR, START), (START, START), (START + HOUR, START + HOUR)],
    ids=["nothing learnt", "learnt before", "learnt now", "learnt later than the clock says"],
)
def test_the_moment_is_the_later_of_the_clock_and_the_log(learnt: object, expected: object) -> None:
    assert later(START, learnt) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("behind", "wrong"),
    [(None, False), (-HOUR, False), (timedelta(0), False), (HOUR, False), (HOUR + TICK, True), (24 * HOUR, True)],
    ids=["nothing learnt", "ahead", "equal", "as far as allowed", "a moment further", "a day"],
)
def test_a_clock_may_lag_as_far_as_the_policy_says(behind: timedelta | None, wrong: bool) -> None:
    why = lag(START, None if behind is None else START + behind, Policy(returns={"max_clock_skew": 3600}), None)
    assert bool(why) is wrong
    if wrong:
        assert "max_clock_skew" in why
        assert START.isoformat() in why

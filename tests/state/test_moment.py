"""The moment of a return or exposure: the later of the clock and the last moment that the log has learnt."""

from __future__ import annotations

from datetime import timedelta

import pytest

from readmit import Reason
from readmit.errors import ExposureError, QuarantineError, RecordError
from readmit.memory import Memory
from tests.scene import HOUR, START, Scene

MINUTE = timedelta(minutes=1)


def test_an_offer_that_ended_by_the_log_is_not_handed_over_by_a_clock_that_lags() -> None:
    """The log has learnt up to 14:00; a reader at 10:00 is not handed an offer that ended at 12:00."""
    scene = Scene(returns={"max_clock_skew": 6 * 3600})
    scene.duty()
    scene.fact("offer", supports=["d"], valid_until=START + 3 * HOUR)
    scene.depart()
    scene.wait(5 * HOUR)
    scene.news("It is 14:00.")
    scene.wait(-4 * HOUR)
    outcome = scene.come_back()
    assert outcome.kind == "blocked"
    assert scene.reasons("offer") == (Reason.EXPIRED,)
    assert (outcome.request.now, outcome.request.learnt) == (START + HOUR, START + 5 * HOUR)
    assert outcome.request.moment == START + 5 * HOUR


def test_an_overrule_that_lapsed_by_the_log_lifts_nothing_by_a_clock_that_lags() -> None:
    scene = Scene()
    scene.covered()
    scene.team.revoke("h", by="bob")
    scene.team.admin.overrule("h", by="boss", reason="looked", expires=30 * MINUTE)
    scene.depart()
    assert scene.come_back().admitted
    scene.wait(40 * MINUTE)
    scene.news()
    scene.wait(-40 * MINUTE)
    assert scene.come_back().kind == "blocked"
    assert scene.reasons("h") == (Reason.REVOKED,)


def test_an_overrule_that_the_log_has_outlived_is_refused() -> None:
    scene = Scene()
    scene.covered()
    scene.wait(HOUR)
    scene.team.revoke("h", by="bob")
    scene.wait(-HOUR)
    with pytest.raises(RecordError, match="has passed"):
        scene.team.admin.overrule("h", by="boss", reason="looked", expires=START + HOUR)
    scene.team.admin.overrule("h", by="boss", reason="looked", expires=START + HOUR + MINUTE)
    assert scene.away().admitted


def test_an_exposure_goes_by_the_moment_and_the_views_own_life_by_the_clock() -> None:
    scene = Scene()
    scene.covered(valid_until=START + 30 * MINUTE)
    outcome = scene.away()
    scene.wait(40 * MINUTE)
    scene.news()
    scene.wait(-35 * MINUTE)
    with pytest.raises(ExposureError) as caught:
        outcome.expose()
    # Five minutes by the clock: the view itself has not expired.
    assert Reason.VIEW_OUTDATED in caught.value.reasons
    assert Reason.VIEW_EXPIRED not in caught.value.reasons
    lasting = Scene()
    lasting.covered()
    issued = lasting.away()
    lasting.wait(40 * MINUTE)
    lasting.news()
    lasting.wait(-35 * MINUTE)
    assert issued.expose().items


@pytest.mark.parametrize("on_incomplete", ["block", "reset", "partial"])
def test_a_clock_that_lags_too_far_blocks_by_name(on_incomplete: str) -> None:
    scene = Scene(returns={"max_clock_skew": 60, "on_incomplete": on_incomplete})
    scene.covered()
    scene.depart()
    scene.wait(2 * MINUTE)
    scene.news()
    scene.wait(timedelta(seconds=-60))
    assert scene.come_back().admitted, "as far as the policy allows"
    scene.wait(timedelta(seconds=-1))
    outcome = scene.come_back()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.CLOCK_SKEW,))
    note = outcome.decision.note
    assert "2026-03-01T09:00:59+00:00" in note
    assert "2026-03-01T09:02:00+00:00" in note
    assert "set the clock right" in note
    assert "max_clock_skew" in note
    assert scene.team.returned(outcome.id).replay().matches
    scene.wait(HOUR)
    assert scene.come_back().admitted


def test_an_exposure_is_refused_by_a_clock_that_lags_too_far() -> None:
    scene = Scene(returns={"max_clock_skew": 60})
    scene.covered()
    outcome = scene.away()
    scene.wait(5 * MINUTE)
    scene.news()
    scene.wait(-2 * MINUTE)
    with pytest.raises(ExposureError, match="set the clock right") as caught:
        outcome.expose()
    assert caught.value.reasons == (Reason.CLOCK_SKEW,)
    scene.wait(MINUTE)
    assert outcome.expose().items


def test_a_clock_ten_years_ahead_blocks_until_somebody_decides() -> None:
    """One writer's clock is wrong: nothing is handed over on an implausible time, and the note says what to do."""
    scene = Scene(returns={"max_clock_skew": 3600})
    scene.covered(valid_until=START + 24 * HOUR)
    scene.depart()
    scene.wait(timedelta(days=3650))
    scene.news("It is the future.")
    scene.wait(-timedelta(days=3650))
    assert scene.come_back().reasons == (Reason.CLOCK_SKEW,)
    scene.team.admin.govern(scene.team.admin.policy.changed(returns={"max_clock_skew": 400_000_000}), by="boss")
    # It was believed, then: the offer is over.
    outcome = scene.come_back()
    assert (outcome.kind, scene.reasons("h")) == ("blocked", (Reason.EXPIRED,))


def test_a_clock_ahead_of_the_log_is_just_the_time() -> None:
    scene = Scene(returns={"max_clock_skew": 60})
    scene.covered()
    scene.depart()
    scene.wait(timedelta(days=30))
    assert scene.come_back().admitted


def test_a_memory_handle_goes_by_the_same_moment() -> None:
    from readmit.backends import ScopedMem

    scene = Scene(":memory:", returns={"max_clock_skew": 3600})
    scene.covered(valid_until=START + 30 * MINUTE)
    memory = Memory(scene.team, ScopedMem(scene.team._desk.log.memories, scene.team.name))
    memory.form("Sunrise is booked", sources=["h"], by="bob")
    handle = memory.returned(scene.away().expose())
    assert [hit.text for hit in handle.search("Sunrise")] == ["Sunrise is booked"]
    scene.wait(40 * MINUTE)
    scene.news()
    scene.wait(-35 * MINUTE)
    assert handle.search("Sunrise") == ()
    scene.wait(2 * HOUR)
    scene.news()
    scene.wait(-2 * HOUR)
    with pytest.raises(QuarantineError, match="set the clock right"):
        handle.search("Sunrise")

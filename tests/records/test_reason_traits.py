"""What else follows from a reason: whether an overseer can restore it, and what it makes of a duty."""

from __future__ import annotations

from readmit import DutyState, Reason


def test_an_overruling_sets_aside_only_what_an_event_or_a_verdict_did() -> None:
    assert {reason for reason in Reason if reason.restorable} == {
        Reason.DISPUTED,
        Reason.CONCURRENT_UPDATE,
        Reason.DISPUTE_LOST,
        Reason.REVOKED,
        Reason.SUPERSEDED,
        Reason.SLOT_UPDATED,
        Reason.SLOT_CONTESTED,
        Reason.EXPIRED,
        Reason.SUSPECTED,
        Reason.PREMISE_CHANGED,
        Reason.SOURCE_CHANGED,
        Reason.SOURCE_UNSEEN,
        Reason.SOURCE_UNCONFIRMED,
    }


def test_what_ends_a_duty_leaves_it_not_owed() -> None:
    ending = {reason.ends_duty for reason in Reason if reason.ends_duty is not None}
    assert not any(state.owed for state in ending)
    assert ending == {state for state in DutyState if not state.owed}


def test_an_obstacle_does_not_end_a_duty() -> None:
    for reason in (Reason.DISPUTED, Reason.DISPUTE_LOST, Reason.SUSPECTED, Reason.PREMISE_CHANGED, Reason.UNPROVEN):
        assert reason.ends_duty is None

"""Which of two items about the same thing is handed over: never a stale one, and none only for a reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from readmit import Pair, Reason
from tests.scene import HOUR, START, SourcedScene

DAY = timedelta(days=1)


# A stale item was handed over.


@pytest.mark.parametrize("tasks", [(None, "trip"), ("trip", None)], ids=["then for a task", "then for every task"])
def test_a_slot_is_one_slot_with_and_without_a_task(tasks: tuple[str | None, str | None]) -> None:
    scene = SourcedScene(returns={"fill": "always"})
    scene.fact("sunrise", slot="hotel", task=tasks[0])
    scene.fact("riverside", slot="hotel", task=tasks[1])
    assert scene.stand() == {"riverside"}
    assert scene.reasons("sunrise") == (Reason.SLOT_UPDATED,)


def test_two_tasks_have_two_slots() -> None:
    scene = SourcedScene()
    scene.fact("ours", slot="hotel", task="trip")
    scene.fact("theirs", slot="hotel", task="fair")
    assert scene.stand() == {"ours"}


def test_what_begins_in_june_replaces_in_june_although_it_was_recorded_first() -> None:
    scene = SourcedScene()
    scene.fact("june", text="From June 120", slot="price", valid_from=START + 30 * DAY)
    scene.fact("now", text="The price is 100", slot="price", valid_until=START + 30 * DAY)
    assert scene.stand() == {"now"}
    scene.wait(45 * DAY)
    assert scene.stand() == {"june"}
    scene.fact("later", text="The price is 110", slot="price")
    assert scene.stand() == {"later"}


def test_an_item_recorded_later_from_earlier_evidence_does_not_take_the_slot() -> None:
    scene = SourcedScene()
    old = scene.team.observe("Sunrise confirms.", by="bob")
    scene.fact("riverside", slot="hotel")
    scene.fact("sunrise", slot="hotel", sources=[old])
    assert scene.stand() == {"riverside"}


def test_dating_back_or_ahead_gains_nothing() -> None:
    scene = SourcedScene()
    scene.fact("ahead", slot="hotel", said=90 * DAY)
    scene.wait(HOUR)
    scene.fact("honest", slot="hotel")
    scene.fact("back", slot="hotel", said=-90 * DAY)
    assert scene.stand() == {"honest"}


def test_an_overseer_whose_clock_lags_restores_over_what_stands_by_the_log() -> None:
    scene = SourcedScene()
    scene.fact("old", slot="hotel")
    scene.wait(HOUR)
    scene.fact("new", slot="hotel")
    scene.wait(-HOUR / 2)
    scene.team.admin.overrule("old", by="boss", reason="looked", expires=HOUR)
    assert scene.stand() == {"old"}
    assert scene.reasons("new") == (Reason.SLOT_UPDATED,)
    scene.wait(HOUR)
    assert scene.stand() == {"old"}, "its hour runs from the last moment of the log"
    scene.wait(HOUR / 2)
    assert scene.stand() == {"new"}


def test_a_restoring_event_that_is_dated_back_reaches_what_had_begun_when_it_was_learnt() -> None:
    scene = SourcedScene()
    scene.fact("old", slot="hotel")
    scene.wait(HOUR)
    scene.fact("new", slot="hotel")
    scene.team.admin.overrule("old", by="boss", reason="looked", expires=HOUR, at=START)
    assert scene.stand() == {"old"}


def test_old_news_said_again_does_not_undo_what_an_overseer_restored() -> None:
    """It ranks after everything that had replaced it, so evidence from before that changes nothing; later news does."""
    scene = SourcedScene()
    early = scene.team.observe("Early.", by="bob")
    scene.fact("sunrise", slot="hotel", sources=[early])
    scene.fact("riverside", slot="hotel", sources=[early])
    scene.wait(HOUR)
    again(scene, "riverside-2", "riverside", sources=[scene.team.observe("Late.", by="bob")])
    assert scene.stand() == {"riverside", "riverside-2"}
    scene.team.admin.overrule("sunrise", by="boss", reason="looked", expires=DAY)
    again(scene, "riverside-3", "riverside", sources=[early])
    assert scene.stand() == {"sunrise"}
    again(scene, "riverside-4", "riverside", sources=[scene.team.observe("Later still.", by="bob")])
    assert "sunrise" not in scene.stand()


# A valid item was thrown out.


def test_what_had_ended_before_its_evidence_replaces_nothing() -> None:
    scene = SourcedScene()
    scene.wait(2 * DAY)
    scene.fact("current", slot="offer")
    scene.fact("over", slot="offer", valid_until=START + DAY)
    assert scene.stand() == {"current"}


@pytest.mark.parametrize("use", [{"applies_to": ["fair"]}, {"purposes": ["audit"]}], ids=["tasks", "purposes"])
def test_what_serves_another_use_does_not_take_the_slot(use: dict[str, Any]) -> None:
    scene = SourcedScene()
    scene.fact("ours", slot="hotel")
    scene.fact("trips", slot="train", purposes=["travel"])
    scene.fact("theirs", slot="hotel", **use)
    assert scene.stand(purpose="travel") == {"ours", "trips"}


def test_without_a_purpose_a_slot_holds_one_statement_for_each_purpose() -> None:
    scene = SourcedScene()
    scene.fact("general", slot="hotel")
    for number in ("1", "2"):
        for purpose in ("audit", "book"):
            scene.fact(f"{purpose}{number}", slot="hotel", purposes=[purpose])
    assert scene.stand() == {"general", "audit2", "book2"}
    assert scene.cause("audit1", Reason.SLOT_UPDATED).ref == "audit2"
    assert scene.stand(purpose="audit") == {"audit2"}
    scene.fact("both", slot="hotel", purposes=["audit", "book"])
    assert scene.stand() == {"general", "both"}
    scene.fact("last", slot="hotel")
    assert scene.stand() == {"last"}


def test_a_private_note_replaces_the_shared_fact_for_its_owner_only() -> None:
    scene = SourcedScene()
    scene.fact("shared", slot="hotel")
    scene.fact("@eve/note", slot="hotel", by="eve", private=True, principals=["eve"])
    assert scene.stand() == {"shared"}
    eve = scene.team.agent("eve", role="planner", task="trip")
    eve.depart()
    found = {one.item: one.reasons for one in eve.come_back().dispositions}
    assert found["shared"] == (Reason.SLOT_UPDATED,)


def test_what_the_reader_may_not_see_still_ends_the_older_one() -> None:
    scene = SourcedScene()
    early = [scene.team.observe("Sunrise confirms.", by="bob")]
    scene.fact("auditors", slot="hotel", roles=["auditor"], valid_from=START + HOUR)
    scene.fact("shared", slot="hotel", sources=early)
    assert scene.stand() == {"shared"}
    scene.wait(2 * HOUR)
    assert scene.stand() == set()
    assert scene.reasons("shared") == (Reason.SLOT_UPDATED,)
    assert scene.cause("shared", Reason.SLOT_UPDATED).ref == "auditors"


def test_a_premise_recorded_again_word_for_word_carries_on() -> None:
    scene = SourcedScene()
    scene.fact("p", text="The hotel is open", slot="hotel")
    scene.fact("x", depends_on=["p"])
    scene.fact("p2", text="The hotel is open", slot="hotel")
    assert "x" in scene.stand()


def test_an_undo_leaves_the_one_it_names() -> None:
    scene = SourcedScene()
    scene.fact("h0", slot="hotel")
    scene.fact("h1", slot="hotel")
    scene.team.supersede("h0", "h1", by="bob")
    assert scene.stand() == {"h1"}
    scene.team.supersede("h1", "h0", by="bob")
    assert scene.stand() == {"h0"}
    scene.team.supersede("h0", "h1", by="bob")
    assert scene.stand() == {"h1"}


def again(scene: SourcedScene, id: str, of: str, **fields: Any) -> None:
    """Another writer repeats a statement about the hotel."""
    scene.fact(id, text=f"the text of {of}", slot="hotel", by="cy", **fields)


def undone(scene: SourcedScene) -> None:
    scene.fact("s", slot="hotel")
    scene.fact("r1", slot="hotel", supersedes="s")
    again(scene, "r2", "r1")
    scene.team.supersede("r2", "s", by="bob")


def test_an_undo_after_a_repetition_counts_for_every_recording() -> None:
    scene = SourcedScene()
    undone(scene)
    assert scene.stand() == {"s"}
    for name in ("r1", "r2"):
        assert scene.reasons(name) == (Reason.SUPERSEDED, Reason.SLOT_UPDATED)
        assert scene.cause(name, Reason.SUPERSEDED).ref == "s"


def test_of_two_opposite_acts_the_later_wins_whatever_recordings_they_name() -> None:
    scene = SourcedScene()
    undone(scene)
    again(scene, "s2", "s", sources=[scene.source])
    assert scene.stand() == {"s", "s2"}
    scene.team.supersede("s2", "r1", by="bob")
    assert scene.stand() == {"r1", "r2"}
    scene.team.supersede("r1", "s", by="bob")
    assert scene.stand() == {"s", "s2"}


def test_an_act_counts_for_a_recording_that_comes_later_from_earlier_evidence() -> None:
    scene = SourcedScene()
    early = [scene.team.observe("Riverside confirmed once.", by="cy")]
    undone(scene)
    again(scene, "r3", "r1", sources=early)
    assert scene.stand() == {"s"}
    assert scene.cause("r3", Reason.SUPERSEDED).ref == "s"


def test_a_recording_from_evidence_later_than_the_act_stands() -> None:
    scene = SourcedScene()
    undone(scene)
    scene.wait(HOUR)
    again(scene, "r3", "r1")
    assert scene.stand() == {"r3"}
    scene.wait(HOUR)
    again(scene, "s2", "s")
    assert scene.stand() == {"s2"}


def test_every_recording_of_the_successor_ranks_after_the_target() -> None:
    scene = SourcedScene()
    old = [scene.team.observe("Riverside was confirmed before.", by="bob")]
    older = [scene.team.observe("Riverside was confirmed as well.", by="cy")]
    scene.fact("s", slot="hotel")
    scene.fact("r1", slot="hotel", sources=old, supersedes="s")
    again(scene, "r2", "r1", sources=older)
    scene.wait(HOUR)
    again(scene, "r3", "r1")
    assert scene.stand() == {"r1", "r2", "r3"}


def test_a_repetition_that_takes_the_place_of_another_leaves_the_statement() -> None:
    scene = SourcedScene()
    scene.fact("r1", slot="hotel")
    again(scene, "r2", "r1")
    again(scene, "r3", "r1")
    scene.team.supersede("r1", "r2", by="bob")
    assert scene.stand() == {"r2", "r3"}


def test_an_undo_by_what_begins_later_counts_from_then() -> None:
    scene = SourcedScene()
    scene.fact("s", slot="hotel")
    scene.fact("r", slot="hotel")
    scene.team.supersede("r", "s", by="bob")
    again(scene, "r1", "r", valid_from=START + DAY)
    scene.team.supersede("s", "r1", by="bob")
    assert scene.stand() == {"s"}
    scene.wait(DAY)
    assert scene.stand() == {"r", "r1"}


def test_what_an_overseer_restores_is_restored_with_its_repetitions() -> None:
    scene = SourcedScene()
    undone(scene)
    scene.team.admin.overrule("r2", by="boss", reason="looked at it", expires=DAY)
    assert scene.stand() == {"r1", "r2"}


def test_a_supersession_of_repetitions_settles_their_concurrent_dispute() -> None:
    scene = SourcedScene()
    scene.fact("h0", slot="hotel")
    ann, bob = scene.ann(), scene.team.agent("bob", role="planner", task="trip")
    for agent in (ann, bob):
        agent.depart()
    scene.fact("h1", slot="hotel", by="cy")
    scene.fact("h2", slot="hotel", by="bob")
    assert scene.stand() == set()
    again(scene, "h3", "h1", sources=[scene.source])
    scene.team.supersede("h2", "h3", by="cy")
    assert scene.stand() == {"h1", "h3"}


def test_an_undo_works_without_a_slot() -> None:
    scene = SourcedScene()
    scene.fact("h0")
    scene.fact("h1")
    scene.team.supersede("h0", "h1", by="bob")
    scene.team.supersede("h1", "h0", by="bob")
    assert scene.stand() == {"h0"}


def test_said_outright_wins_over_dates() -> None:
    scene = SourcedScene()
    old = scene.team.observe("Sunrise confirms.", by="bob")
    scene.fact("riverside", slot="hotel")
    scene.fact("sunrise", slot="hotel", sources=[old], supersedes="riverside")
    assert scene.stand() == {"sunrise"}
    scene.fact("palace", slot="hotel")
    assert scene.stand() == {"palace"}


def test_naming_a_target_does_not_rank_a_successor_below_what_it_had_passed() -> None:
    scene = SourcedScene()
    scene.fact("first", slot="hotel")
    scene.fact("second", slot="hotel")
    scene.fact("third", slot="hotel", supersedes="first")
    assert scene.stand() == {"third"}


def test_a_successor_that_has_not_begun_leaves_its_target_in_force() -> None:
    scene = SourcedScene()
    scene.fact("now", slot="price")
    scene.fact("june", slot="price", valid_from=START + DAY, supersedes="now")
    assert scene.stand() == {"now"}
    scene.wait(2 * DAY)
    assert scene.stand() == {"june"}


@pytest.mark.parametrize("end", ["expiry", "revocation", "closing"])
def test_it_replaces_for_good(end: str) -> None:
    scene = SourcedScene()
    scene.fact("old", slot="hotel")
    scene.wait(HOUR)
    scene.fact("new", slot="hotel", valid_until=scene.now + HOUR if end == "expiry" else None)
    scene.wait(2 * HOUR)
    if end == "revocation":
        scene.team.revoke("new", by="bob")
    if end == "closing":
        scene.team.close_validity("new", end=scene.now, by="bob")
    assert scene.stand() == set()


def test_what_was_revoked_before_it_began_replaces_nothing() -> None:
    scene = SourcedScene()
    scene.fact("old", slot="price")
    scene.fact("june", slot="price", valid_from=START + DAY)
    scene.team.revoke("june", by="bob")
    scene.wait(2 * DAY)
    assert scene.stand() == {"old"}


@pytest.mark.parametrize("doubt", ["dispute", "suspicion"])
def test_a_newcomer_in_doubt_leaves_the_slot_contested(doubt: str) -> None:
    scene = SourcedScene()
    scene.fact("old", slot="hotel")
    scene.fact("new", slot="hotel")
    news = scene.news("Is that so?")
    if doubt == "dispute":
        scene.team.dispute(["new"], by="bob", id="quarrel")
    else:
        scene.team.judge(Pair(item="new", evidence=news), by="bob")
    assert scene.stand() == set()
    assert scene.reasons("old") == (Reason.SLOT_CONTESTED,)
    if doubt == "dispute":
        scene.team.resolve("quarrel", keep=["new"], by="bob")
    else:
        scene.verdict("new", news, "compatible")
    assert scene.stand() == {"new"}


def test_a_newcomer_that_lost_its_dispute_replaces_nothing() -> None:
    scene = SourcedScene()
    scene.fact("old", slot="hotel")
    scene.fact("new", slot="hotel")
    scene.team.dispute(["old", "new"], by="bob", id="quarrel")
    assert scene.stand() == set()
    scene.team.resolve("quarrel", keep=["old"], by="bob")
    assert scene.stand() == {"old"}


def test_repeating_a_resolution_does_not_reopen_the_dispute() -> None:
    scene = SourcedScene()
    scene.fact("h")
    scene.team.dispute(["h"], by="bob", id="quarrel")
    scene.team.resolve("quarrel", keep=["h"], by="bob")
    scene.team.resolve("quarrel", keep=["h"], by="ann")
    assert scene.stand() == {"h"}
    scene.team.resolve("quarrel", by="bob", at=START + 10 * DAY)
    assert scene.stand() == {"h"}


def test_one_receipt_from_outside_does_not_void_what_another_binds() -> None:
    scene = SourcedScene(evidence={"writers": ("bob",)})
    outside = scene.team.observe("I heard so too.", by="eve")
    inside = scene.team.observe("The hotel confirms.", by="bob")
    scene.fact("both", sources=[inside, outside], slot="hotel")
    scene.fact("alone", sources=[outside], slot="train")
    assert scene.stand() == {"both"}


# Said again.


def test_restating_from_later_evidence_answers_what_was_held_against_it() -> None:
    scene = SourcedScene()
    scene.fact("h", text="The hotel is open")
    scene.fact("x", depends_on=["h"])
    scene.verdict("h", scene.news("The hotel has closed."), item_quote="open")
    assert scene.stand() == set()
    scene.fact("again", text="The hotel is open")
    assert scene.stand() == {"again", "x"}
    restored = scene.disposition("x").recovered
    assert [(one.reason, one.ref, one.root) for one in restored] == [(Reason.RECOVERED, "again", "h")]


def test_restating_what_was_invalidated_from_earlier_evidence_changes_nothing() -> None:
    scene = SourcedScene()
    old = scene.team.observe("The hotel says that it is open.", by="bob")
    scene.fact("h", text="The hotel is open")
    scene.verdict("h", scene.news("The hotel has closed."), item_quote="open")
    scene.fact("again", text="The hotel is open", sources=[old])
    assert scene.stand() == set()
    assert scene.reasons("again") == (Reason.PREMISE_CHANGED,)


@pytest.mark.parametrize("act", ["revoke", "dispute", "suspect"])
def test_what_was_held_against_a_statement_is_held_against_its_repetition(act: str) -> None:
    scene = SourcedScene()
    old = scene.team.observe("The hotel says that it is open.", by="bob")
    scene.fact("h", text="The hotel is open")
    if act == "suspect":
        scene.team.judge(Pair(item="h", evidence=scene.news()), by="bob")
    elif act == "dispute":
        scene.team.dispute(["h"], by="bob")
    else:
        scene.team.revoke("h", by="bob")
    scene.fact("again", text="The hotel is open", sources=[old])
    assert scene.stand() == set()
    scene.wait(HOUR)
    scene.fact("later", text="The hotel is open")
    assert scene.stand() == {"later"}


def test_revoking_a_repetition_takes_the_first_saying_with_it() -> None:
    scene = SourcedScene()
    scene.fact("h", text="The hotel is open")
    scene.fact("again", text="The hotel is open")
    scene.team.revoke("again", by="bob")
    assert scene.stand() == set()


# The moment.


def test_what_the_log_has_learnt_is_not_undone_by_a_slow_clock() -> None:
    scene = SourcedScene(returns={"max_clock_skew": 24 * 3600})
    scene.fact("offer", valid_until=START + 3 * HOUR)
    scene.depart()
    scene.wait(5 * HOUR)
    scene.news("It is two in the afternoon.")
    scene.wait(-4 * HOUR)
    scene.come_back()
    assert scene.reasons("offer") == (Reason.EXPIRED,)


def test_a_clock_that_lags_too_far_blocks_by_name() -> None:
    scene = SourcedScene(returns={"max_clock_skew": 3600})
    scene.covered()
    scene.depart()
    scene.wait(5 * HOUR)
    scene.news("It is two in the afternoon.")
    scene.wait(-4 * HOUR)
    outcome = scene.come_back()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.CLOCK_SKEW,))
    assert "the log has learnt" in outcome.decision.note
    scene.wait(4 * HOUR)
    assert scene.come_back().admitted


def test_one_writer_with_a_clock_ten_years_ahead_blocks_by_name_until_the_policy_allows_for_it() -> None:
    scene = SourcedScene()
    scene.covered()
    scene.depart()
    scene.wait(3650 * DAY)
    scene.news("From the future.")
    scene.wait(-3650 * DAY)
    assert scene.come_back().reasons == (Reason.CLOCK_SKEW,)

    tolerant = scene.team.admin.policy.changed(returns={"max_clock_skew": 3_155_760_000})
    scene.team.as_owner().admin.govern(tolerant)
    assert scene.come_back().admitted


def test_naming_a_private_note_as_the_successor_replaces_for_its_owner_only() -> None:
    scene = SourcedScene()
    scene.fact("shared")
    scene.fact("@eve/note", by="eve", private=True, principals=["eve"])
    scene.team.supersede("shared", "@eve/note", by="eve")
    assert scene.stand() == {"shared"}
    eve = scene.team.agent("eve", role="planner", task="trip")
    eve.depart()
    found = {one.item: one.reasons for one in eve.come_back().dispositions}
    assert found["shared"] == (Reason.SUPERSEDED,)


def test_a_dispute_that_names_both_sayings_keeps_the_one_that_it_keeps() -> None:
    scene = SourcedScene()
    scene.fact("h", text="The hotel is open")
    scene.fact("again", text="The hotel is open")
    scene.team.dispute(["h", "again"], by="bob", id="quarrel")
    scene.team.resolve("quarrel", keep=["h"], by="bob")
    assert scene.stand() == {"h"}

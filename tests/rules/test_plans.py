"""A plan that later news passed over: on its date the slot is contested, and the writer is told beforehand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from readmit import Reason
from readmit.errors import ExposureError, NotAllowedError
from readmit.events import EventKind
from readmit.records.acts.event import Dispute
from tests.scene import START, Scene

DAY = timedelta(days=1)
WEDNESDAY = START + 2 * DAY


class Week(Scene):
    """Monday: lakeside stands, and riverside is planned from Wednesday on."""

    def __init__(self, *, before: str | None = "lakeside", **policy: Any) -> None:
        super().__init__(**policy)
        self.duty(required=("hotel",))
        if before is not None:
            self.says(before)
        self.says("riverside", by="cy", valid_from=WEDNESDAY)
        self.wait(DAY)

    def says(self, id: str, **fields: Any) -> str:
        fields.setdefault("sources", [self.team.observe(f"seen for {id}, {self.team.epoch}", by="bob")])
        fields.setdefault("text", f"The hotel is {id}")
        return self.fact(id, slot="hotel", **fields)

    def stand(self, **asked: Any) -> set[str]:
        outcome = self.away(**asked)
        return {one.item for one in outcome.dispositions if one.state in {"admitted", "not_needed", "withheld"}} - {"o"}

    def on_thursday(self, **asked: Any) -> set[str]:
        self.now = START + 3 * DAY
        return self.stand(**asked)


@pytest.mark.parametrize("by", ["bob", "cy"], ids=["another writer", "the writer of the plan"])
@pytest.mark.parametrize("before", ["lakeside", None], ids=["something stood", "nothing stood"])
def test_on_the_date_of_a_plan_that_later_news_passed_over_the_slot_is_contested(by: str, before: str | None) -> None:
    week = Week(before=before)
    week.says("sunrise", by=by)
    assert week.stand() == {"sunrise"}, "before its date the news stands as usual"
    assert week.on_thursday() == set()
    assert week.reasons("riverside") == (Reason.CONCURRENT_UPDATE,)
    assert set(week.reasons("sunrise")) == {Reason.CONCURRENT_UPDATE, Reason.SLOT_CONTESTED}
    assert week.cause("riverside", Reason.CONCURRENT_UPDATE).note == f"{by} wrote sunrise after it was planned"
    assert not week.away().admitted


def test_under_newest_the_later_evidence_wins() -> None:
    week = Week(evidence={"on_concurrent": "newest"})
    week.says("sunrise")
    assert week.on_thursday() == {"sunrise"}
    assert week.cause("riverside", Reason.SLOT_UPDATED).ref == "sunrise"


@pytest.mark.parametrize(("first", "stands"), [("cy", {"riverside"}), ("bob", {"sunrise"}), ("dan", set())])
def test_under_authority_the_writer_that_ranks_higher_wins(first: str, stands: set[str]) -> None:
    week = Week(evidence={"on_concurrent": (first,)})
    week.says("sunrise")
    assert week.on_thursday() == stands


def test_the_same_writer_is_no_authority_over_itself() -> None:
    week = Week(evidence={"on_concurrent": ("cy",)})
    week.says("sunrise", by="cy")
    assert week.on_thursday() == set()


def test_a_routine_repetition_of_what_stood_contests_nothing() -> None:
    week = Week()
    week.says("again", text="The hotel is lakeside")
    assert week.on_thursday() == {"riverside"}
    assert not week.team.admin.notices()


def test_one_of_them_says_so() -> None:
    for fields in ({"supersedes": "riverside"}, {"valid_until": WEDNESDAY}):
        week = Week()
        week.says("sunrise", **fields)
        assert week.on_thursday() == ({"sunrise"} if "supersedes" in fields else {"riverside"})
        assert not week.team.admin.notices()


def test_an_end_after_the_date_of_the_plan_does_not_say_so() -> None:
    week = Week()
    week.says("sunrise", valid_until=START + 4 * DAY)
    assert week.on_thursday() == set()
    week.wait(2 * DAY)
    assert week.stand() == {"riverside"}, "the news has ended"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("act", ["plan", "news", "resolve plan", "resolve news", "overseer"])
def test_it_is_settled_either_way(act: str, when: str) -> None:
    week = Week()
    week.says("sunrise")
    if when == "after":
        assert week.on_thursday() == set()
    (notice,) = week.team.admin.notices()
    match act:
        case "plan":
            week.team.supersede("sunrise", "riverside", by="bob")
        case "news":
            week.team.supersede("riverside", "sunrise", by="bob")
        case "resolve plan":
            week.team.resolve(notice.dispute, keep=["riverside"], by="dan")
        case "resolve news":
            week.team.resolve(notice.dispute, keep=["sunrise"], by="dan")
        case "overseer":
            week.team.admin.overrule("riverside", by="boss", reason="it was agreed", expires=9 * DAY)
    if when == "before":
        assert week.stand() == {"sunrise"}
    assert week.on_thursday() == ({"sunrise"} if "news" in act else {"riverside"})
    assert not week.team.admin.notices() or act == "overseer"


def test_the_plan_said_again_after_the_news_is_not_contested() -> None:
    week = Week()
    week.says("sunrise")
    week.says("again", text="The hotel is riverside", valid_from=WEDNESDAY)
    assert week.stand() == {"sunrise"}
    assert week.on_thursday() == {"riverside", "again"}


@pytest.mark.parametrize("end", ["revoked", "closed", "went back"])
def test_news_that_is_over_before_the_date_contests_nothing(end: str) -> None:
    week = Week()
    week.says("sunrise")
    week.wait(timedelta(hours=1))
    if end == "revoked":
        week.team.revoke("sunrise", by="bob")
    elif end == "closed":
        week.team.close_validity("sunrise", end=WEDNESDAY, by="bob")
    else:
        week.says("again", text="The hotel is lakeside")
    assert week.on_thursday() == {"riverside"}


def test_a_plan_that_is_withdrawn_before_its_date_contests_nothing() -> None:
    week = Week()
    week.says("sunrise")
    week.team.revoke("riverside", by="cy")
    assert week.on_thursday() == {"sunrise"}


def test_of_two_plans_each_is_contested_by_the_news() -> None:
    week = Week()
    week.says("palace", valid_from=START + 4 * DAY)
    week.says("sunrise")
    assert week.on_thursday() == set()
    week.wait(2 * DAY)
    assert week.stand() == set()
    assert Reason.CONCURRENT_UPDATE in week.reasons("palace")
    week.says("grand")
    assert week.stand() == {"grand"}, "whoever says something later has seen them all"


def test_news_from_earlier_evidence_contests_nothing() -> None:
    scene = Week(before=None)
    old = scene.team.observe("Sunrise offered a room last week.", by="bob", at=START - 7 * DAY)
    scene.says("sunrise", sources=[old])
    assert scene.on_thursday() == {"riverside"}


def test_news_that_begins_after_the_plan_takes_over_by_its_date() -> None:
    week = Week()
    week.says("sunrise", valid_from=START + 3 * DAY)
    week.now = WEDNESDAY
    assert week.stand() == {"riverside"}
    assert week.on_thursday() == {"sunrise"}


def test_news_that_is_itself_planned_for_earlier_contests_the_plan() -> None:
    week = Week()
    week.says("sunrise", valid_from=WEDNESDAY - timedelta(hours=2))
    assert week.stand() == {"lakeside"}
    assert week.on_thursday() == set()


def test_news_written_down_after_the_date_contests_the_plan_from_then_on() -> None:
    week = Week()
    seen = week.team.observe("Sunrise all week", by="bob")
    assert week.on_thursday() == {"riverside"}
    week.says("sunrise", sources=[seen])
    assert week.stand() == set()


@pytest.mark.parametrize("tasks", [("trip", None), (None, "trip"), ("trip", "trip")])
def test_with_and_without_a_task(tasks: tuple[str | None, str | None]) -> None:
    week = Scene()
    week.fact("riverside", slot="hotel", task=tasks[0], valid_from=WEDNESDAY, sources=[week.news("one")])
    week.wait(DAY)
    week.fact("sunrise", slot="hotel", task=tasks[1], sources=[week.news("two")])
    week.now = START + 3 * DAY
    outcome = week.away()
    assert {one.item for one in outcome.dispositions if one.state == "disputed"} == {"riverside", "sunrise"}


def test_news_for_others_does_not_contest_for_this_reader() -> None:
    week = Week()
    week.says("@bob/sunrise", principals=["cy"])
    assert week.on_thursday() == {"riverside"}
    cy = week.team.agent("cy", role="planner", task="trip")
    cy.depart()
    theirs = {one.item: one.state for one in cy.come_back().dispositions}
    assert theirs["riverside"] == theirs["@bob/sunrise"] == "disputed"


def test_items_for_particular_principals_are_not_named_to_others() -> None:
    week = Week()
    week.says("@ann/secret", principals=["ann"], by="ann")
    (notice,) = week.team.admin.notices(by="ann")
    assert "@ann/secret" in str(notice)
    assert not week.team.admin.notices(by="cy")
    assert not week.team.admin.notices()
    week.on_thursday()
    assert "@ann/secret" not in notice.dispute


def test_the_writer_is_told_when_it_happens() -> None:
    week = Week()
    assert not week.team.admin.notices()
    week.says("sunrise")
    for by in (None, "bob", "cy"):
        (notice,) = week.team.admin.notices(by=by)
        assert (notice.plan, notice.news, notice.slot, notice.since) == ("riverside", "sunrise", "hotel", WEDNESDAY)
        assert str(notice) == (
            "From 2026-03-03 09:00 UTC on, hotel is contested: cy planned riverside for then, "
            "and bob wrote sunrise after that. Say which of them holds."
        )
        assert notice.remedies[0].command == "readmit supersede riverside sunrise --by bob"
    assert not week.team.admin.notices(by="dan")
    assert "hotel is contested" in str(week.team.doctor().workspace)


def test_the_notice_says_what_the_policy_does() -> None:
    week = Week(evidence={"on_concurrent": "newest"})
    week.says("sunrise")
    (notice,) = week.team.admin.notices()
    assert str(notice).endswith("The policy's on_concurrent decides: newest.")


def test_a_view_that_is_exposed_after_the_date_is_refused() -> None:
    week = Week(returns={"view_seconds": 9 * 24 * 3_600})
    week.says("sunrise")
    week.depart()
    outcome = week.come_back()
    assert outcome.items == ("o", "sunrise")
    week.now = START + 3 * DAY
    with pytest.raises(ExposureError) as refused:
        outcome.expose()
    assert refused.value.reasons == (Reason.VIEW_OUTDATED,)


def test_recording_the_news_twice_is_recorded_once() -> None:
    week = Week()
    seen = week.news("Sunrise all week")
    for _ in range(2):
        week.says("sunrise", sources=[seen])
    assert len(week.team.admin.notices()) == 1


def test_nobody_writes_such_a_dispute_but_readmit() -> None:
    week = Week()
    with pytest.raises(NotAllowedError, match="plan: readmit itself finds"):
        week.team._desk.writer.write(EventKind.DISPUTE, Dispute(items=("lakeside",), plan="riverside"), by="bob")

"""Updates of one slot whose writers did not know of each other: seen, contested, and settled by somebody or a rule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from readmit import Policy, Reason
from readmit.errors import NotAllowedError, RecordError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.records.acts.event import Dispute
from tests.cli.run import said
from tests.conftest import ROOT
from tests.scene import START, Scene

SECOND = timedelta(seconds=1)


class Hotel(Scene):
    """The hotel is h0. Ann and bea leave; bea returns with a view and writes h1; ann has not seen it and writes h2."""

    def __init__(self, *, written: bool = True, **policy: Any) -> None:
        super().__init__(**policy)
        self.duty(required=("hotel",), critical=("hotel",))
        self.hotel("h0", "bob")
        self.dora = self.team.agent("dora", role="planner", task="trip")
        for name in ("ann", "bea"):
            agent = self.team.agent(name, role="planner", task="trip")
            agent.depart()
            agent.come_back().expose()
        self.dora.depart()
        if written:
            self.hotel("h1", "bea")
            self.hotel("h2", "ann")

    def hotel(self, id: str, by: str, **fields: Any) -> str:
        self.wait(SECOND)
        source = self.team.observe(f"{id} is confirmed.", by=by)
        return self.fact(id, slot="hotel", by=by, sources=[source], **fields)

    def dora_returns(self) -> Any:
        self.outcome = self.dora.come_back()
        assert self.team.returned(self.outcome.id).replay().matches
        return self.outcome

    def disputes(self) -> list[Any]:
        return [event for event in self.team._desk.log.tail() if event.kind is EventKind.DISPUTE]


def test_both_sides_are_contested_until_somebody_settles_it() -> None:
    scene = Hotel()
    (dispute,) = scene.disputes()
    assert (dispute.by, dispute.payload.items) == ("readmit", ("h1", "h2"))
    assert scene.dora_returns().missing == ("hotel",)
    assert Reason.CONCURRENT_UPDATE in scene.reasons("h1")
    assert scene.reasons("h2") == (Reason.CONCURRENT_UPDATE,)
    assert scene.cause("h1", Reason.CONCURRENT_UPDATE).note == "ann wrote h2 at the same time"
    assert scene.cause("h2", Reason.CONCURRENT_UPDATE).note == "bea wrote h1 at the same time"
    assert scene.reasons("h0") == (Reason.SLOT_CONTESTED,)


def test_why_names_the_conflict_and_a_command_that_settles_it() -> None:
    scene = Hotel()
    outcome = scene.dora_returns()
    (dispute,) = scene.disputes()
    told = str(outcome.why())
    assert "h1" in told
    assert "h2" in told
    assert f"readmit resolve {dispute.name} --keep h2" in told
    scene.team.resolve(dispute.name, keep=["h2"], by="bob")
    assert "h2" in scene.dora_returns().items
    assert scene.reasons("h1")[0] is Reason.DISPUTE_LOST


def test_a_supersession_between_the_sides_settles_it() -> None:
    scene = Hotel()
    scene.team.supersede("h2", "h1", by="bob")
    assert "h1" in scene.dora_returns().items
    assert Reason.SUPERSEDED in scene.reasons("h2")


def test_a_later_statement_by_somebody_who_saw_both_takes_the_slot() -> None:
    scene = Hotel()
    scene.hotel("h3", "bob")
    assert len(scene.disputes()) == 1
    assert "h3" in scene.dora_returns().items


def test_an_overseer_lets_the_newer_side_stand_for_a_while() -> None:
    scene = Hotel()
    scene.team.admin.overrule("h2", by="boss", reason="I called them", expires=timedelta(hours=1))
    assert "h2" in scene.dora_returns().items
    scene.wait(timedelta(hours=1))
    assert scene.dora_returns().missing == ("hotel",)


def test_the_newest_stands_under_that_policy_and_the_dispute_is_on_record() -> None:
    scene = Hotel(evidence={"on_concurrent": "newest"})
    assert "h2" in scene.dora_returns().items
    assert scene.reasons("h1") == (Reason.SLOT_UPDATED,)
    (dispute,) = scene.disputes()
    scene.team.resolve(dispute.name, keep=["h1"], by="bob")
    assert "h1" in scene.dora_returns().items


def test_the_writer_of_higher_rank_wins_whatever_the_dates() -> None:
    scene = Hotel(evidence={"on_concurrent": ("bea", "ann")})
    assert "h1" in scene.dora_returns().items
    assert scene.reasons("h2") == (Reason.DISPUTE_LOST,)


def test_between_writers_of_equal_rank_nobody_wins() -> None:
    scene = Hotel(evidence={"on_concurrent": ("bob",)})
    assert scene.dora_returns().missing == ("hotel",)
    with pytest.raises(RecordError, match="on_concurrent: name the writers by rank"):
        Policy(evidence={"on_concurrent": ()})


def test_three_sides_are_contested_together() -> None:
    scene = Hotel(written=False)
    cleo = scene.team.agent("cleo", role="planner", task="trip")
    cleo.depart()
    scene.hotel("h1", "bea")
    scene.hotel("h2", "ann")
    scene.hotel("h3", "cleo")
    assert [set(one.payload.items) for one in scene.disputes()] == [{"h1", "h2"}, {"h1", "h2", "h3"}]
    scene.dora_returns()
    assert all(Reason.CONCURRENT_UPDATE in scene.reasons(name) for name in ("h1", "h2", "h3"))
    scene.team.resolve(scene.disputes()[1].name, keep=["h3"], by="bob")
    assert "h3" in scene.dora_returns().items


@pytest.mark.parametrize(
    "fields",
    [
        {"expects": "h1"},
        {"supersedes": "h1"},
        {"by": "bea"},
        {"by": "bob"},
        {"task": "garden"},
        {"slot": "x"},
        {"purposes": ["other"]},
    ],
)
def test_a_writer_that_knows_the_other_side_contests_nothing(fields: dict[str, Any]) -> None:
    """Or that wrote it itself, or never left, or writes about another task, slot or purpose."""
    scene = Hotel(written=False)
    apart: dict[str, Any] = {"task": "trip"} if "task" in fields else {}
    scene.hotel("h1", "bea", **(apart or ({"purposes": ["booking"]} if "purposes" in fields else {})))
    source = scene.team.observe("Lakeside is confirmed.", by="ann")
    usual = {"slot": "hotel", "by": "ann", "sources": [source]}
    scene.team.record("Lakeside is booked", id="h2", **(usual | fields))
    assert scene.disputes() == []


def test_the_same_statement_from_two_writers_is_no_conflict() -> None:
    scene = Hotel(written=False)
    scene.hotel("h1", "bea", text="Riverside is booked")
    scene.hotel("h2", "ann", text="Riverside is booked")
    assert scene.disputes() == []


def test_what_fell_before_is_no_conflict() -> None:
    scene = Hotel(written=False)
    scene.hotel("h1", "bea")
    scene.team.revoke("h1", by="bob")
    scene.hotel("h2", "ann")
    assert scene.disputes() == []


def test_a_new_view_shows_the_other_side() -> None:
    scene = Hotel(written=False)
    scene.hotel("h1", "bea")
    ann = scene.ann()
    ann.depart()
    ann.come_back().expose()
    scene.hotel("h2", "ann")
    assert scene.disputes() == []


def test_one_who_writes_while_away_has_seen_nothing_since_it_left() -> None:
    scene = Hotel(written=False)
    scene.ann().depart()
    scene.hotel("h1", "bob")
    scene.hotel("h2", "ann")
    assert len(scene.disputes()) == 1


def test_a_repeated_write_contests_once_and_an_undone_one_never() -> None:
    scene = Hotel()
    source = scene.team._desk.log.item("h2").receipts[0].evidence
    scene.fact("h2", slot="hotel", by="ann", sources=[source])
    assert len(scene.disputes()) == 1

    def undone() -> None:
        with scene.team.batch():
            scene.hotel("h4", "ann")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    assert len(scene.disputes()) == 1


def test_nobody_else_may_claim_that_something_was_written_concurrently() -> None:
    scene = Hotel(written=False)
    for team in (scene.team.principal("bob"), as_readmit(scene.team)):
        with pytest.raises(NotAllowedError, match="basis"):
            team._desk.writer.write(EventKind.DISPUTE, Dispute(items=("h0",), basis=1))


def test_a_name_that_somebody_has_taken_keeps_nothing_out() -> None:
    scene = Hotel(written=False)
    scene.team.dispute(["h0"], by="bob", id="concurrent-h2")
    scene.hotel("h1", "bea")
    scene.hotel("h2", "ann")
    assert len(scene.disputes()) == 2


def test_the_example_of_two_agents_that_book_at_the_same_time() -> None:
    played = said("play", ROOT / "examples" / "reconcile.json")
    outcomes = {one["as"]: one for one in played["returns"]}
    before, after = outcomes["before anybody settled it"], outcomes["after A3 settled it"]
    assert (before["kind"], after["kind"]) == ("blocked", "admitted")
    reasons = {one["item"]: one["reasons"] for one in before["dispositions"]}
    assert "concurrent_update" in reasons["h1"]
    assert "concurrent_update" in reasons["h2"]
    assert {one["item"] for one in after["dispositions"] if one["state"] == "admitted"} == {"o_h", "h1"}


@pytest.mark.parametrize(
    "fields",
    [
        {"sources": []},
        {"principals": ["ann"], "private": True},
        {"valid_from": START + timedelta(days=9)},
        {"valid_until": START},
    ],
)
def test_what_replaces_nothing_contests_nothing(fields: dict[str, Any]) -> None:
    scene = Hotel(written=False)
    scene.hotel("h1", "bea")
    source = scene.team.observe("Lakeside is confirmed.", by="ann")
    scene.fact("@ann/h2", **{"slot": "hotel", "by": "ann", "sources": [source], **fields})
    assert scene.disputes() == []
    assert "h1" in scene.dora_returns().items


def test_an_update_from_older_evidence_is_contested_too() -> None:
    scene = Hotel(written=False)
    source = scene.team.observe("Lakeside is confirmed.", by="ann")
    scene.hotel("h1", "bea")
    scene.fact("h2", slot="hotel", by="ann", sources=[source])
    assert len(scene.disputes()) == 1
    assert scene.dora_returns().missing == ("hotel",)


def test_a_writer_who_does_not_count_contests_nothing() -> None:
    scene = Hotel(written=False)
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(evidence={"writers": ("bob", "bea", "dora")}))
    scene.hotel("h1", "bea")
    scene.hotel("h2", "ann")
    assert scene.disputes() == []


def test_an_overruling_that_knew_one_side_does_not_cover_the_contest() -> None:
    """An overseer kept what rested on h0 although h1 replaced it. Then a second writer contests h1."""
    scene = Hotel(written=False)
    early = scene.team.observe("An older letter.", by="ann")
    scene.fact("booking", depends_on=["h0"])
    scene.hotel("h1", "bea")
    scene.team.admin.overrule("booking", by="boss", reason="h1 takes it over", expires=timedelta(days=1))
    scene.dora_returns()
    assert scene.reasons("booking") == (Reason.NOT_NEEDED,)
    scene.fact("h2", slot="hotel", by="ann", sources=[early])
    scene.dora_returns()
    assert scene.reasons("h0") == (Reason.SLOT_CONTESTED,)
    assert scene.reasons("booking") == (Reason.PREMISE_CHANGED,)


def test_an_overruling_does_not_cover_a_premise_that_a_later_restoring_replaces() -> None:
    scene = Hotel(written=False)
    scene.hotel("h1", "bea")
    scene.fact("booking", depends_on=["h1"])
    scene.team.revoke("h1", by="bea")
    scene.team.admin.overrule("booking", by="boss", reason="paid", expires=timedelta(days=1))
    scene.dora_returns()
    assert scene.reasons("booking") == (Reason.NOT_NEEDED,)
    scene.team.admin.overrule("h0", by="boss", reason="back to h0", expires=timedelta(days=1))
    scene.dora_returns()
    assert scene.reasons("h1") == (Reason.REVOKED, Reason.SLOT_UPDATED)
    assert scene.reasons("booking") == (Reason.PREMISE_CHANGED,)


def test_an_overruling_does_not_cover_a_later_act_that_names_another_successor() -> None:
    """The item that takes the slot is old; the act that puts it there is later than the overruling."""
    scene = Hotel(written=False)
    scene.hotel("h2", "bob")
    scene.hotel("h1", "bea")
    scene.fact("booking", depends_on=["h2"])
    scene.team.admin.overrule("booking", by="boss", reason="h1 takes it over", expires=timedelta(days=1))
    scene.dora_returns()
    assert scene.reasons("booking") == (Reason.NOT_NEEDED,)
    scene.team.supersede("h1", "h0", by="boss")
    scene.dora_returns()
    assert scene.cause("h2", Reason.SLOT_UPDATED).by == "boss"
    assert scene.reasons("booking") == (Reason.PREMISE_CHANGED,)

"""The simulator itself, on cases that were worked out by hand: what it says must not rest on the library either."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.simulator import Deciding, Expected, Rules, Statement, TeamSimulator, Who

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ANN = Who("ann", "planner", "trip")


class Play:
    """Ann is away; bob goes on."""

    def __init__(self, **rules: Any) -> None:
        self.sim = TeamSimulator(NOON)
        self.sim.keys.append("k")
        self.sim.govern(replace(Rules(fill="always"), **rules))
        self.sim.depart(ANN)

    def seen(self, name: str, ago: float = 0, by: str = "bob") -> str:
        self.sim.observe(name, by, f"observed {name}", self.sim.now - ago * HOUR)
        return name

    def say(self, id: str, source: str | None, text: str | None = None, **fields: Any) -> None:
        fields = {"kind": "fact", "by": "bob", **fields}
        self.sim.add(Statement(id=id, text=text or f"says {id}", sources=(source,) if source else (), **fields))

    def duty(self, id: str = "o", required: tuple[str, ...] = ("d",), **fields: Any) -> None:
        self.say(id, None, kind="obligation", required=required, **fields)

    def outcome(self, purpose: str | None = None) -> Expected:
        return self.sim.expected(self.sim.departures["ann", "trip"], ANN, purpose)

    def standing(self, purpose: str | None = None) -> set[str]:
        return {name for name, codes in self.outcome(purpose).candidates.items() if not codes}

    def against(self, name: str) -> set[str]:
        return set(self.outcome().candidates[name])


def test_the_later_start_stands_in_whatever_order_it_was_recorded() -> None:
    for order in (("old", "new"), ("new", "old")):
        play = Play()
        play.seen("old", 2)
        play.seen("new", 1)
        for name in order:
            play.say(name, name, slot="hotel", task="trip" if name == "new" else None)
        assert play.standing() == {"new"}
        assert play.against("old") == {"slot_updated"}


def test_a_start_in_the_future_replaces_from_then_on() -> None:
    play = Play()
    play.say("june", play.seen("e1"), slot="price", start=NOON + 3 * HOUR)
    play.say("now", play.seen("e2"), slot="price")
    assert play.standing() == {"now"}
    play.sim.now += 4 * HOUR
    assert play.standing() == {"june"}


def test_what_was_replaced_does_not_come_back_by_itself() -> None:
    play = Play()
    play.say("old", play.seen("e1", 2), slot="hotel")
    play.say("new", play.seen("e2", 1), slot="hotel", end=NOON + HOUR)
    play.sim.now += 2 * HOUR
    assert play.standing() == set()
    play.sim.mark("revoke", "bob", "new")
    assert play.against("old") == {"slot_updated"}


def test_what_ended_before_its_evidence_never_stood() -> None:
    play = Play()
    play.say("old", play.seen("e1", 4), slot="hotel")
    play.say("new", play.seen("e2", 1), slot="hotel", end=NOON - 2 * HOUR)
    assert play.standing() == {"old"}


def test_what_does_not_apply_or_is_private_replaces_nothing() -> None:
    play = Play()
    play.say("fact", play.seen("e1", 1), slot="hotel")
    play.say("aside", play.seen("e2"), slot="hotel", purposes=("book",))
    play.say("theirs", "e2", slot="hotel", applies_to=("other",))
    play.say("note", "e2", slot="hotel", principals=("cy",), private=True)
    assert play.standing("travel") == {"fact"}
    assert play.standing("book") == {"aside"}
    assert play.standing() == {"fact", "aside"}, "a return without a purpose is for every purpose"
    play.say("unseen", "e2", slot="hotel", roles=("booker",))
    assert play.standing() == set()


def test_a_disputed_newcomer_leaves_the_slot_contested() -> None:
    play = Play()
    play.say("old", play.seen("e1", 1), slot="hotel")
    play.say("new", play.seen("e2"), slot="hotel")
    play.sim.mark("dispute", "bob", "new", id="q")
    assert play.against("old") == {"slot_contested"}
    play.sim.mark("resolve", "ann", of="q", keep=())
    assert play.against("old") == {"slot_contested"}, "nobody settles a dispute for their own return"
    play.sim.mark("resolve", "bob", of="q", keep=())
    assert play.standing() == {"old"}
    play.sim.mark("resolve", "boss", of="q", keep=("new",))
    play.sim.mark("resolve", "boss", at=NOON + HOUR, of="q", keep=())
    assert play.standing() == {"new"}


def test_said_outright_wins_and_can_be_undone() -> None:
    play = Play()
    play.say("h1", play.seen("e1"), slot="hotel")
    play.say("h0", play.seen("e2", 3), slot="hotel")
    assert play.standing() == {"h1"}
    play.sim.mark("supersede", "bob", "h1", successor="h0")
    assert play.standing() == {"h0"}
    play.sim.mark("supersede", "bob", "h0", successor="h1")
    assert play.standing() == {"h1"}


def test_said_again_from_later_evidence_it_stands_and_dependents_follow() -> None:
    play = Play()
    play.say("p", play.seen("e1", 3), "the pool is open")
    play.say("x", "e1", depends_on=("p",))
    play.sim.mark("revoke", "bob", "p", at=NOON - HOUR)
    assert play.standing() == set()
    play.say("early", play.seen("e2", 2), "the pool is open")
    assert play.against("early") == {"revoked"}
    play.say("late", play.seen("e3"), "the pool is open")
    assert play.standing() == {"late", "x"}
    assert play.outcome().recovered == {"x": {"p"}}


def test_a_receipt_from_outside_neither_helps_nor_harms_where_another_binds_fully() -> None:
    play = Play(writers=("bob",))
    play.seen("inside", 2)
    play.seen("outside", 0, by="eve")
    play.sim.add(Statement("m", "fact", "says m", "bob", sources=("inside", "outside"), slot="hotel"))
    play.say("n", play.seen("e3", 1), slot="hotel")
    assert play.standing() == {"n"}
    play.say("o", "outside")
    assert play.against("o") == {"writer_not_allowed", "unproven"}


def test_the_moment_is_never_earlier_than_what_the_log_has_learnt() -> None:
    play = Play()
    play.say("offer", play.seen("e1"), end=NOON + HOUR)
    play.sim.now += 2 * HOUR
    play.seen("e2")
    play.sim.now -= HOUR + timedelta(minutes=30)
    assert play.outcome().reasons == {"clock_skew"}
    play.sim.now += HOUR
    assert play.against("offer") == {"expired"}


def test_every_duty_is_accounted_for() -> None:
    play = Play()
    play.duty("late", end=NOON - HOUR)
    play.duty("soon", start=NOON + HOUR)
    play.duty("booking", purposes=("book",))
    play.duty("done")
    play.sim.mark("settle", "bob", "done")
    play.duty("shaky")
    play.sim.mark("dispute", "bob", "shaky", id="q")
    play.say("h", play.seen("e"), supports=("d",))
    outcome = play.outcome()
    assert {name: owing.state for name, owing in outcome.duties.items()} == {
        "late": "overdue",
        "soon": "not_begun",
        "booking": "owed",
        "done": "settled",
        "shaky": "obstructed",
    }
    assert outcome.kind == "blocked"
    assert outcome.reasons == {"mandatory_missing"}
    assert outcome.absent == {"shaky"}
    assert play.outcome("eat").duties["booking"].state == "other_purpose"
    booker = replace(ANN, role="booker")
    play.duty("planners", roles=("planner",))
    duties = play.sim.expected(play.sim.departures["ann", "trip"], booker, None).duties
    assert duties["planners"].state == "others"


def test_a_duty_whose_author_lost_the_right_to_write_blocks_by_name() -> None:
    play = Play()
    play.duty("before", by="cy")
    play.sim.depart(ANN)
    play.duty("after", by="cy")
    play.sim.govern(Rules(writers=("bob",)))
    outcome = play.outcome()
    assert {name: owing.state for name, owing in outcome.duties.items()} == {
        "before": "obstructed",
        "after": "not_imposed",
    }
    assert outcome.absent == {"before"}


def test_by_whole_duties() -> None:
    play = Play(on_incomplete="partial", fill="always")
    play.duty("hotel", required=("d_h",), critical=("d_h",))
    play.duty("transfer", required=("d_t", "d_p"), critical=("d_t",))
    play.say("h1", play.seen("e"), supports=("d_h",))
    play.say("t1", "e", supports=("d_t",))
    play.say("c", "e", kind="role_constraint")
    outcome = play.outcome()
    assert outcome.admitted
    assert outcome.mandatory == {"hotel"}
    assert outcome.withheld == {"transfer"}
    deciding = Deciding(play.sim, play.sim.departures["ann", "trip"], ANN, None)
    shown = [play.sim.items[name] for name in ("hotel", "h1", "c")]
    reasons = {
        "hotel": "mandatory",
        "h1": "covers",
        "c": "mandatory",
        "transfer": "withheld",
        "t1": "withheld",
    }
    assert deciding.wrong(shown, ["transfer"], reasons) == []
    assert deciding.wrong([*shown, play.sim.items["t1"]], ["transfer"], reasons | {"t1": "fills"})


def test_a_view_may_be_asked_for_again_until_its_workload_goes_on() -> None:
    for step in ("acknowledge", "write", "depart"):
        play = Play()
        play.sim.returned("r", ANN)
        play.sim.issue("r", ANN, play.sim.departures["ann", "trip"], None, ())
        play.sim.expose("r")
        assert not play.sim.away("ann", "trip")
        assert play.sim.may_return(ANN), "what was never acknowledged does not stop a new return"
        assert play.sim.refusals("r") == set()
        if step == "acknowledge":
            play.sim.acknowledge("r")
        elif step == "write":
            play.seen("e", by="ann")
        else:
            play.sim.depart(ANN)
        assert play.sim.refusals("r") == {"view_consumed"}

"""The whole life of a team on a real file, step by step against the simulator; I1 to I8 after every step."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.properties.team import START, Team
from tests.simulator import Rules, Who

PEOPLE = ("ann", "bob")
ROLES = ("planner", "booker")
WHO = [Who(person, role, "trip") for person in PEOPLE for role in ROLES]
SLOTS = (None, "hotel", "hotel.night", "train")
DEPENDENCIES = ("d_h", "d_t", "d_p")
SOME = st.sampled_from
people = SOME(PEOPLE)
index = st.integers(0, 10**6)


class Life(RuleBasedStateMachine):
    """Depart, act, revoke, let time jump, return, expose, rotate, crash."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.team = Team(self.folder / "team.db")
        source = self.team.observe("the hotel and the train confirm", by="bob")
        for kind, fields in (
            ("obligation", {"required": ("d_h", "d_t"), "critical": ("d_h",)}),
            ("frontier", {"obligation": "o1"}),
            ("fact", {"slot": "hotel", "supports": ("d_h",)}),
            ("fact", {"slot": "train", "supports": ("d_t",), "depends_on": ("f3",)}),
            ("fact", {"supports": ("d_t", "d_h")}),
        ):
            self.team.item(kind, f"the {kind} {len(self.team.sim.items)}.", by="bob", sources=(source,), **fields)
        for who in WHO[::2]:
            self.team.depart(who)

    def teardown(self) -> None:
        if hasattr(self, "team"):
            self.team.check_indexes()
            self.team.workspace.close()
            shutil.rmtree(self.folder)

    # Picks.

    def pick(self, number: int, kinds: tuple[str, ...] = ()) -> str | None:
        names = [one.id for one in self.team.sim.items.values() if not kinds or one.kind in kinds]
        return names[number % len(names)] if names else None

    def witness(self, number: int) -> str:
        return self.team.evidence[number % len(self.team.evidence)]

    # The team.

    @rule(text=SOME(["the hotel is closed", "the train is late", "all as planned"]), by=people)
    def observe(self, text: str, by: str) -> None:
        self.team.observe(f"{text} ({len(self.team.evidence)})", by=by)

    @rule(
        number=index,
        by=people,
        scope=SOME([{}, {"task": "trip"}, {"task": "other"}, {"roles": ("booker",)}, {"principals": ("ann",)}]),
        slot=SOME(SLOTS),
        supports=st.sets(SOME(DEPENDENCIES), max_size=2).map(sorted).map(tuple),
        flags=st.sets(
            SOME(["unproven", "unbound", "premise", "long", "later", "short-lived", "purpose", "constraint"]),
            max_size=2,
        ),
    )
    def record(self, *, number: int, by: str, scope: dict[str, Any], slot: Any, supports: Any, flags: set[str]) -> None:
        useful = [one for one in self.team.sim.items.values() if one.supports]
        fields: dict[str, Any] = {"slot": slot, "supports": supports if len(useful) < 9 else (), **scope}
        fields["sources"] = () if "unproven" in flags else (self.witness(number),)
        fields["bound"] = "unproven" in flags or "unbound" not in flags
        premise = self.pick(number, ("fact", "role_constraint"))
        if "premise" in flags and premise is not None:
            fields["depends_on"] = (premise,)
        if "later" in flags:
            fields["start"] = START + timedelta(hours=number % 5)
        if "short-lived" in flags:
            fields["end"] = START + timedelta(hours=5 + number % 5)
        if "purpose" in flags:
            fields["purposes"] = ("book",)
        text = f"statement {len(self.team.sim.items)}." + ("x" * 40 if "long" in flags else "")
        self.team.item("role_constraint" if "constraint" in flags else "fact", text, by=by, **fields)

    @rule(number=index, by=people, required=st.sets(SOME(DEPENDENCIES), min_size=1, max_size=2).map(sorted).map(tuple))
    def oblige(self, number: int, by: str, required: tuple[str, ...]) -> None:
        text = f"duty {len(self.team.sim.items)}."
        sources = (self.witness(number),) if number % 4 else ()
        self.team.item(
            "obligation", text, by=by, required=required, critical=required[:1], sources=sources, task="trip"
        )

    @rule(number=index, by=people)
    def progress(self, number: int, by: str) -> None:
        duty = self.pick(number, ("obligation",))
        if duty is not None:
            sources = (self.witness(number),) if number % 3 else ()
            text = f"frontier {len(self.team.sim.items)}."
            self.team.item("frontier", text, by=by, obligation=duty, sources=sources, task="trip")

    @rule(a=index, b=index, by=people)
    def supersede(self, a: int, b: int, by: str) -> None:
        target, successor = self.pick(a), self.pick(b)
        if target is not None and successor is not None and self.allowed(by):
            self.team.supersede(target, successor, by)

    @rule(number=index, by=people, ahead=SOME([None, None, 2, -2]))
    def revoke(self, number: int, by: str, ahead: int | None) -> None:
        target = self.pick(number)
        if target is not None and self.allowed(by):
            self.team.revoke(target, by, None if ahead is None else self.team.sim.now + timedelta(hours=ahead))

    @rule(number=index, by=people, hours=st.integers(-1, 3))
    def close(self, number: int, by: str, hours: int) -> None:
        target = self.pick(number)
        if target is not None and self.allowed(by):
            self.team.close(target, by, self.team.sim.now + timedelta(hours=hours))

    @rule(slot=SOME(["hotel", "train"]), task=SOME(["trip", "other"]), by=people)
    def rebase(self, slot: str, task: str, by: str) -> None:
        if self.allowed(by):
            self.team.rebase(slot, task, by)

    @rule(number=index, by=people, ahead=SOME([None, 2]))
    def settle(self, number: int, by: str, ahead: int | None) -> None:
        duty = self.pick(number, ("obligation",))
        if duty is not None and self.allowed(by):
            self.team.settle(duty, by, None if ahead is None else self.team.sim.now + timedelta(hours=ahead))

    @rule(a=index, b=index, by=people)
    def dispute(self, a: int, b: int, by: str) -> None:
        one, other = self.pick(a), self.pick(b)
        if one is not None and other is not None and self.allowed(by):
            self.team.dispute((one, other), by)

    @precondition(lambda self: self.team.disputes)
    @rule(number=index, keep=st.integers(0, 2), by=people, ahead=SOME([None, None, 1]))
    def resolve(self, number: int, keep: int, by: str, ahead: int | None) -> None:
        name = list(self.team.disputes)[number % len(self.team.disputes)]
        at = None if ahead is None else self.team.sim.now + timedelta(hours=ahead)
        if self.allowed(by):
            self.team.resolve(name, tuple(dict.fromkeys(self.team.disputes[name]))[:keep], by, at)

    @rule(number=index, evidence=index)
    def suspect(self, number: int, evidence: int) -> None:
        target = self.pick(number)
        if target is not None:
            self.team.suspect(target, self.witness(evidence))

    @rule(
        number=index,
        evidence=index,
        answer=SOME(["invalidates", "invalidates", "compatible", "unsure"]),
        quote=SOME(["the", "the", "invented"]),
        confidence=SOME([Decimal("0.9"), Decimal("0.2")]),
        use=SOME(["", "trip/planner/", "other/planner/"]),
    )
    def judge(self, *, number: int, evidence: int, answer: str, quote: str, confidence: Decimal, use: str) -> None:
        target = self.pick(number)
        if target is not None:
            said = {"answer": answer, "confidence": confidence, "use": use}
            self.team.judge(target, self.witness(evidence), item_quote=quote[:1], evidence_quote=quote, **said)

    @rule(
        number=index, grant=SOME(["restore", "rejustify", "settle"]), by=SOME(["boss", "ann"]), hours=st.integers(1, 4)
    )
    def overrule(self, number: int, grant: str, by: str, hours: int) -> None:
        target = self.pick(number)
        if target is not None and by in self.team.sim.rules.overseers:
            self.team.overrule(target, grant, by, timedelta(hours=hours))

    @rule(
        change=SOME(
            [
                {"writers": ("ann", "bob")},
                {"writers": ("bob",)},
                {"overseers": ("boss", "ann")},
                {"kinds": ("fact", "obligation", "frontier")},
                {"max_items": 4},
                {"max_chars": 70},
                {"max_item_chars": 40},
                {"gamma": Decimal("0.5"), "rho": Decimal("0.5")},
                {"on_unsure": "exclude_critical"},
                {"min_confidence": Decimal("0.1")},
                {"require_frontier": True},
                {},
            ]
        )
    )
    def govern(self, change: dict[str, Any]) -> None:
        self.team.govern(replace(Rules(), **change))

    def allowed(self, by: str) -> bool:
        return self.team.sim.allowed(by)

    # The agents, the clock, the keys, the machine.

    @rule(who=SOME(WHO), back=st.integers(0, 3))
    def depart(self, who: Who, back: int) -> None:
        self.team.depart(who, max(0, self.team.sim.epoch - back) if back else None)

    @rule(who=SOME(WHO), number=index)
    def remember(self, who: Who, number: int) -> None:
        item = self.pick(number)
        if item is not None and not self.team.sim.away(who):
            self.team.remember(who, item)

    @rule(who=SOME(WHO), purpose=SOME([None, "book"]), at_once=st.booleans())
    def come_back(self, who: Who, purpose: str | None, at_once: bool) -> None:
        if self.team.sim.away(who):
            name = self.team.come_back(who, purpose)
            if at_once and name in self.team.sim.views:
                self.team.expose(name)

    @rule(who=SOME(WHO))
    def come_back_and_look(self, who: Who) -> None:
        """Again, because what matters most ought to happen most."""
        self.come_back(who, None, at_once=True)

    @precondition(lambda self: self.team.sim.views)
    @rule(number=index)
    def expose(self, number: int) -> None:
        self.team.expose(list(self.team.sim.views)[number % len(self.team.sim.views)])

    @rule(minutes=SOME([1, 20, 90, 600, -45]))
    def clock(self, minutes: int) -> None:
        self.team.sim.now += timedelta(minutes=minutes)

    @rule(hours=SOME([0, 1]))
    def rotate(self, hours: int) -> None:
        self.team.rotate(timedelta(hours=hours))

    @rule()
    def key_stolen(self) -> None:
        self.team.revoke_key()

    @rule()
    def crash(self) -> None:
        self.team.reopen()

    @invariant()
    def log_and_audit_hold(self) -> None:
        if hasattr(self, "team"):
            self.team.check_log()

    @invariant()
    def what_is_seen_is_what_may_be_seen(self) -> None:
        if hasattr(self, "team"):
            who = WHO[self.team.sim.epoch % len(WHO)]
            self.team.check_projection(who, who)
            self.team.check_projection(who, WHO[(self.team.sim.epoch + 1) % len(WHO)])


def test_life() -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=30, stateful_step_count=35))


@pytest.mark.slow
def test_long_life() -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=1_000, stateful_step_count=80))

"""The whole life of a team on a real file, step by step against the simulator; I1 to I8 after every step.

Every return is compared as a whole: what was decided and why, every candidate with its reasons, every duty with what
became of it, and the view with everything that has to be in it and nothing else.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    get_state_machine_test,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import examples
from tests.properties.team import START, Team
from tests.simulator import STATEMENTS, Rules, Who

PEOPLE = ("ann", "bob")
ROLES = ("planner", "booker")
WHO = [*(Who(person, role, "trip") for person in PEOPLE for role in ROLES), Who("ann", "planner", "other")]
SLOTS = (None, "hotel", "hotel", "hotel.night", "train")
DEPENDENCIES = ("d_h", "d_t", "d_p")
SAYINGS = ("the room is twelve", "the room is fourteen", "the pool is open")
SCOPES: list[dict[str, Any]] = [
    {},
    {},
    {"task": "trip"},
    {"task": "other"},
    {"roles": ("booker",)},
    {"principals": ("ann",)},
    {"principals": ("ann",), "private": True},
    {"principals": ("bob",), "private": True},
]
CHANGES: list[dict[str, Any]] = [
    {},
    {},
    {"writers": ("ann", "bob", "boss", "cy")},
    {"writers": ("bob", "boss")},
    {"overseers": ("boss", "ann")},
    {"kinds": ("fact", "obligation", "frontier")},
    {"kinds": ("fact", "role_constraint")},
    {"max_items": 4},
    {"max_chars": 70},
    {"max_item_chars": 40},
    {"gamma": Decimal("0.5"), "rho": Decimal("0.5")},
    {"on_unsure": "exclude_critical"},
    {"min_confidence": Decimal("0.1")},
    {"invalid_at": Decimal("0.8"), "suspect_at": Decimal("0.8")},
    {"require_frontier": True},
    {"examination": "required"},
    {"selection": "cheapest"},
    {"newest": "as_needed"},
    {"on_concurrent": "newest"},
    {"max_clock_skew": 60},
    {"max_retraction_chars": 4_000},
    {"max_retraction_chars": 4_000, "max_retractions": 2},
    {"max_retractions": 0},
]
OUTCOMES: list[dict[str, Any]] = [
    {"fill": "always"},
    {"fill": "always", "max_items": 4},
    {"constraints": "as_needed"},
    {"constraints": "as_needed", "fill": "always"},
    {"on_incomplete": "partial"},
    {"on_incomplete": "partial", "fill": "always"},
    {"on_incomplete": "partial", "max_chars": 90},
    {"on_incomplete": "reset"},
    {"on_incomplete": "reset"},
    {"fill": "never"},
    {"fill": "block"},
]
SOME = st.sampled_from
# Who never leaves, and so may always decide.
STAYS = "cy"
people = SOME((*PEOPLE, STAYS, STAYS))
index = st.integers(0, 10**6)
# Hours from now at which something was, or will be, true.
hours = SOME([None, None, None, -3, -1, 2])


class Life(RuleBasedStateMachine):
    """Depart, act, revoke, let time jump, return, expose, rotate, crash."""

    @initialize(change=SOME([{}, *OUTCOMES]))
    def begin(self, change: dict[str, Any]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.team = Team(self.folder / "team.db")
        source = self.team.observe("the hotel and the train confirm", by="bob")
        for kind, fields in (
            ("obligation", {"required": ("d_h", "d_t"), "critical": ("d_h",)}),
            ("frontier", {"obligation": "o1"}),
            ("fact", {"slot": "hotel", "supports": ("d_h",)}),
            ("fact", {"slot": "train", "supports": ("d_t",), "depends_on": ("f3",)}),
            ("fact", {"supports": ("d_t", "d_h")}),
            ("role_constraint", {"roles": ("planner",)}),
        ):
            self.team.item(kind, f"the {kind} {len(self.team.sim.items)}.", by="bob", sources=(source,), **fields)
        self.team.govern(replace(Rules(), **change))
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

    def aim(self, number: int) -> str | None:
        """Mostly at statements: what happens to a duty blocks everything else."""
        return self.pick(number // 4, STATEMENTS if number % 4 else ())

    def witness(self, number: int) -> str:
        return self.team.evidence[number % len(self.team.evidence)]

    def when(self, ahead: int | None) -> Any:
        return None if ahead is None else self.team.sim.now + timedelta(hours=ahead)

    # The team.

    @rule(text=SOME(["the hotel is closed", "the train is late", "all as planned"]), by=people, ahead=hours)
    def observe(self, text: str, by: str, ahead: int | None) -> None:
        self.team.observe(f"{text} ({len(self.team.evidence)})", by, self.when(ahead))

    @rule(
        number=index,
        by=people,
        scope=SOME(SCOPES),
        slot=SOME(SLOTS),
        supports=st.sets(SOME(DEPENDENCIES), max_size=2).map(sorted).map(tuple),
        again=st.booleans(),
        flags=st.sets(
            SOME(
                [
                    "unproven",
                    "unbound",
                    "two sources",
                    "premise",
                    "long",
                    "later",
                    "short-lived",
                    "purpose",
                    "elsewhere",
                    "constraint",
                ]
            ),
            max_size=2,
        ),
    )
    def record(
        self, *, number: int, by: str, scope: dict[str, Any], slot: Any, supports: Any, again: bool, flags: set[str]
    ) -> None:
        useful = [one for one in self.team.sim.items.values() if one.supports]
        fields: dict[str, Any] = {"slot": slot, "supports": supports if len(useful) < 7 else (), **scope}
        fields["sources"] = () if "unproven" in flags else (self.witness(number),)
        if "two sources" in flags:
            fields["sources"] = tuple(dict.fromkeys((self.witness(number), self.witness(number // 7))))
        fields["bound"] = "unbound" not in flags or not fields["sources"]
        premise = self.pick(number, (*STATEMENTS, "frontier"))
        if "premise" in flags and premise is not None:
            fields["depends_on"] = (premise,)
        if "later" in flags:
            fields["start"] = START + timedelta(hours=number % 5)
        if "short-lived" in flags:
            fields["end"] = START + timedelta(hours=5 + number % 5)
        if "purpose" in flags:
            fields["purposes"] = ("book",)
        if "elsewhere" in flags:
            fields["applies_to"] = ("other",)
        text = SAYINGS[number % 3] if again else f"statement {len(self.team.sim.items)}."
        if "long" in flags:
            text = f"{'long' * 10} {number % 3}."
        self.team.item("role_constraint" if "constraint" in flags else "fact", text, by=by, **fields)

    @rule(number=index, by=people, evidence=index)
    def say_again(self, number: int, by: str, evidence: int) -> None:
        """The very same statement, from other evidence."""
        name = self.pick(number, STATEMENTS)
        if name is None:
            return
        old = self.team.sim.items[name]
        useful = [one for one in self.team.sim.items.values() if one.supports]
        same = ("task", "roles", "principals", "private", "slot", "depends_on", "purposes", "applies_to")
        fields = {field: getattr(old, field) for field in same}
        fields["supports"] = old.supports if len(useful) < 9 else ()
        self.team.item(old.kind, old.text, by=by, sources=(self.witness(evidence),), **fields)

    @rule(
        number=index,
        by=people,
        required=st.sets(SOME([*DEPENDENCIES, "hotel"]), min_size=1, max_size=2).map(sorted).map(tuple),
        scope=SOME([{"task": "trip"}, {"task": "trip"}, {}, {"roles": ("booker",)}, {"principals": ("bob",)}]),
        flag=SOME(["", "", "purpose", "elsewhere", "later", "over", "premise"]),
    )
    def oblige(self, number: int, by: str, required: tuple[str, ...], scope: dict[str, Any], flag: str) -> None:
        fields: dict[str, Any] = dict(scope)
        premise = self.pick(number, STATEMENTS)
        if flag == "purpose":
            fields["purposes"] = ("book",)
        elif flag == "elsewhere":
            fields["applies_to"] = ("other",)
        elif flag == "later":
            fields["start"] = START + timedelta(hours=number % 5)
        elif flag == "over":
            fields["end"] = START + timedelta(hours=number % 5)
        elif flag == "premise" and premise is not None:
            fields["depends_on"] = (premise,)
        sources = (self.witness(number),) if number % 4 else ()
        critical = required[: number % 3]
        text = f"duty {len(self.team.sim.items)}."
        self.team.item("obligation", text, by=by, required=required, critical=critical, sources=sources, **fields)

    @rule(
        number=index,
        by=people,
        flag=SOME(["", "", "later", "again", "purpose"]),
        scope=SOME([{"task": "trip"}, {"task": "trip"}, {}, {"roles": ("booker",)}, {"task": "other"}]),
    )
    def progress(self, number: int, by: str, flag: str, scope: dict[str, Any]) -> None:
        duty = self.pick(number, ("obligation",))
        if duty is not None:
            sources = (self.witness(number),) if number % 5 else ()
            start = START + timedelta(hours=number % 5) if flag == "later" else None
            text = "half of it is done" if flag == "again" else f"frontier {len(self.team.sim.items)}."
            fields = {"start": start, "purposes": ("book",) if flag == "purpose" else (), **scope}
            self.team.item("frontier", text, by=by, obligation=duty, sources=sources, **fields)

    @rule(a=index, b=index, by=people)
    def supersede(self, a: int, b: int, by: str) -> None:
        target = self.pick(a)
        kind = None if target is None else self.team.sim.items[target].kind
        successor = self.pick(b, STATEMENTS if kind in STATEMENTS else (kind or "", "fact")[: 1 + (a % 9 == 0)])
        if target is not None and successor is not None:
            self.team.supersede(target, successor, by)

    @rule(number=index, by=people)
    def undo(self, number: int, by: str) -> None:
        said = [mark for mark in self.team.sim.marks if mark.kind == "supersede"]
        if said:
            mark = said[number % len(said)]
            self.team.supersede(mark.data["successor"], mark.items[0], by)

    @rule(number=index, by=people, ahead=SOME([None, None, 2, -2]))
    def revoke(self, number: int, by: str, ahead: int | None) -> None:
        target = self.aim(number)
        if target is not None:
            self.team.revoke(target, by, self.when(ahead))

    @rule(number=index, by=people, end=st.integers(-1, 3))
    def close(self, number: int, by: str, end: int) -> None:
        target = self.aim(number)
        if target is not None:
            self.team.close(target, by, self.team.sim.now + timedelta(hours=end))

    @rule(number=index, by=SOME([*PEOPLE, STAYS, "boss"]), ahead=SOME([None, None, 2]))
    def settle(self, number: int, by: str, ahead: int | None) -> None:
        duty = self.pick(number, ("obligation",))
        if duty is not None:
            self.team.settle(duty, by, self.when(ahead))

    @rule(a=index, b=index, by=people)
    def dispute(self, a: int, b: int, by: str) -> None:
        one, other = self.aim(a), self.aim(b)
        if one is not None and other is not None:
            self.team.dispute((one, other) if b % 2 else (one,), by)

    @precondition(lambda self: self.team.disputes)
    @rule(number=index, keep=st.integers(0, 2), by=SOME([*PEOPLE, STAYS, "boss"]), ahead=SOME([None, None, 1]))
    def resolve(self, number: int, keep: int, by: str, ahead: int | None) -> None:
        name = list(self.team.disputes)[number % len(self.team.disputes)]
        self.team.resolve(name, tuple(dict.fromkeys(self.team.disputes[name]))[:keep], by, self.when(ahead))

    @rule(number=index, evidence=index)
    def suspect(self, number: int, evidence: int) -> None:
        target = self.aim(number)
        if target is not None:
            self.team.suspect(target, self.witness(evidence))

    @rule(
        number=index,
        evidence=index,
        by=SOME(["readmit", "readmit", *PEOPLE, STAYS]),
        answer=SOME(["invalidates", "invalidates", "compatible", "unsure"]),
        quote=SOME(["the", "the", "invented"]),
        confidence=SOME([Decimal("0.9"), Decimal("0.2")]),
        stale=SOME([None, None, Decimal("0.29"), Decimal("0.3"), Decimal("0.49"), Decimal("0.5"), Decimal("0.9")]),
    )
    def judge(
        self,
        *,
        number: int,
        evidence: int,
        by: str,
        answer: str,
        quote: str,
        confidence: Decimal,
        stale: Decimal | None,
    ) -> None:
        target = self.aim(number)
        if target is not None:
            said = {"answer": answer, "confidence": confidence, "stale": stale}
            self.team.judge(target, self.witness(evidence), by, item_quote=quote[:1], evidence_quote=quote, **said)

    @rule(number=index, by=SOME(["boss", "ann"]), lasts=st.integers(1, 4))
    def overrule(self, number: int, by: str, lasts: int) -> None:
        target = self.pick(number)
        if target is not None:
            self.team.overrule(target, by, timedelta(hours=lasts))

    @rule(change=SOME(CHANGES))
    def govern(self, change: dict[str, Any]) -> None:
        self.team.govern(replace(Rules(), **change))

    @rule(change=SOME(OUTCOMES), other=SOME(CHANGES))
    def govern_outcome(self, change: dict[str, Any], other: dict[str, Any]) -> None:
        """What an incomplete admission ends in, and what is handed over beside what a duty needs."""
        self.team.govern(replace(Rules(), **{**other, **change}))

    # The agents, the clock, the keys, the machine.

    @rule(who=SOME(WHO), back=st.integers(0, 3))
    def depart(self, who: Who, back: int) -> None:
        self.team.depart(who, max(0, self.team.sim.epoch - back) if back else None)

    @rule(who=SOME(WHO), number=index)
    def remember(self, who: Who, number: int) -> None:
        item = self.pick(number)
        if item is not None and not self.team.sim.away(who.principal, who.task):
            self.team.remember(who, item)

    @rule(who=SOME(WHO), purpose=SOME([None, "book", "eat"]), at_once=st.booleans())
    def come_back(self, who: Who, purpose: str | None, at_once: bool) -> None:
        if self.team.sim.may_return(who):
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

    @rule(who=SOME(WHO))
    def recall(self, who: Who) -> None:
        if not self.team.sim.away(who.principal, who.task):
            self.team.recall(who)

    @precondition(lambda self: self.team.sim.views)
    @rule(number=index)
    def pose(self, number: int) -> None:
        self.team.pose(list(self.team.sim.views)[number % len(self.team.sim.views)])

    @precondition(lambda self: self.team.sim.exposed)
    @rule()
    def ask_again(self) -> None:
        self.team.expose(list(self.team.sim.exposed)[-1])

    @precondition(lambda self: self.team.sim.exposed)
    @rule(number=index)
    def acknowledge(self, number: int) -> None:
        self.team.acknowledge(list(self.team.sim.exposed)[number % len(self.team.sim.exposed)])

    @rule(minutes=SOME([1, 20, 90, 600, -15, -45, -100]))
    def clock(self, minutes: int) -> None:
        self.team.sim.now += timedelta(minutes=minutes)

    @rule(by=people, seconds=SOME([0, 2, 2_400, -2, -2_400]))
    def skew(self, by: str, seconds: int) -> None:
        """Somebody writes from another host from here on."""
        self.team.skews[by] = timedelta(seconds=seconds)

    @rule(overlap=SOME([0, 1]))
    def rotate(self, overlap: int) -> None:
        self.team.rotate(timedelta(hours=overlap))

    @rule(number=index)
    def key_stolen(self, number: int) -> None:
        # Seldom: nothing that was issued before can be handed over afterwards.
        if number % 5 == 0:
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
    run_state_machine_as_test(Life, settings=settings(max_examples=examples(30), stateful_step_count=35))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_long_life() -> None:
    """Lives of eighty steps until the time is over. A failure names the seed that repeats it."""
    until = time.monotonic() + float(os.environ.get("READMIT_LIFE_SECONDS", "600"))
    first = int(os.environ.get("READMIT_LIFE_SEED", "0"))
    usual = settings(max_examples=20, stateful_step_count=80, derandomize=False, database=None)
    for number in itertools.count(first):
        try:
            seed(number)(get_state_machine_test(Life, settings=usual))()
        except Exception as error:
            error.add_note(f"READMIT_LIFE_SEED={number} repeats it")
            raise
        if time.monotonic() > until:
            print(f"{(number - first + 1) * usual.max_examples} lives, seeds {first} to {number}")
            return

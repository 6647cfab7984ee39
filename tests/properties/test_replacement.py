"""What replaces what: properties that hold whatever was said, by whom and in which order.

Every return on the way is compared with the simulator too, as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.properties.team import START, Team
from tests.simulator import OWED, Rules, Who

ANN = Who("ann", "planner", "trip")
HOUR = timedelta(hours=1)
NOW = START + 24 * HOUR
DEPENDENCIES = ("d_h", "d_t")
SOME = st.sampled_from


@dataclass(frozen=True)
class Said:
    """A statement, and when what it rests on was true."""

    text: str
    kind: str
    slot: str | None
    scope: dict[str, Any]
    supports: tuple[str, ...]
    seen: int
    span: tuple[int | None, int | None]

    @property
    def fields(self) -> dict[str, Any]:
        start, end = (None if one is None else NOW + one * HOUR for one in self.span)
        return {**self.scope, "slot": self.slot, "supports": self.supports, "start": start, "end": end}


statements = st.builds(
    Said,
    text=SOME(["the room is twelve", "the room is fourteen", "the pool is open", "the pool is closed"]),
    kind=SOME(["fact", "fact", "fact", "role_constraint"]),
    slot=SOME([None, "hotel", "hotel", "pool"]),
    scope=SOME(
        [
            {},
            {},
            {"task": "trip"},
            {"task": "other"},
            {"roles": ("booker",)},
            {"principals": ("ann",)},
            {"principals": ("cy",), "private": True},
            {"purposes": ("eat",)},
            {"purposes": ("eat", "swim")},
            {"purposes": ("swim",)},
            {"applies_to": ("other",)},
        ]
    ),
    supports=st.sets(SOME(DEPENDENCIES), max_size=2).map(sorted).map(tuple),
    seen=st.integers(-9, 0),
    span=SOME([(None, None), (None, None), (None, None), (-5, None), (-2, 2), (3, None), (None, 2), (None, -1)]),
)
acts = st.tuples(SOME(["revoke", "dispute", "supersede", "suspect", "close"]), st.integers(0, 99), st.integers(0, 99))
duties = st.tuples(
    st.sets(SOME([*DEPENDENCIES, "hotel"]), min_size=1, max_size=2).map(sorted).map(tuple),
    SOME([{}, {"task": "trip"}, {"roles": ("booker",)}, {"purposes": ("eat",)}, {"start": NOW + 3 * HOUR}]),
)
policies = SOME(
    [
        Rules(fill="always"),
        Rules(),
        Rules(constraints="as_needed"),
        Rules(on_incomplete="partial"),
        Rules(fill="never"),
        Rules(on_incomplete="partial", fill="always"),
    ]
)


class Story:
    """Ann leaves; a team observes, records and acts; ann returns."""

    def __init__(self, rules: Rules, said: list[Said], owed: list[Any]) -> None:
        self.team = Team()
        self.said = said
        self.team.govern(rules)
        self.team.sim.now = NOW
        self.team.depart(ANN)
        # Each statement has evidence of its own, so that no two begin in the very same place.
        self.sources = [
            self.team.observe(f"seen for {number}", "bob", NOW + one.seen * HOUR) for number, one in enumerate(said)
        ]
        for number, (required, fields) in enumerate(owed):
            self.team.item("obligation", f"duty {number}.", by="bob", id=f"o{number}", required=required, **fields)

    def record(self, numbers: list[int]) -> None:
        for number in numbers:
            one = self.said[number]
            fields = {**one.fields, "id": f"@bob/m{number}", "sources": (self.sources[number],)}
            self.team.item(one.kind, one.text, by="bob", **fields)

    def act(self, act: tuple[str, int, int]) -> None:
        verb, first, second = act
        if not self.said:
            return
        target, other = f"@bob/m{first % len(self.said)}", f"@bob/m{second % len(self.said)}"
        if verb == "revoke":
            self.team.revoke(target, "bob")
        elif verb == "dispute":
            self.team.dispute((target,), "bob")
        elif verb == "supersede" and self.team.sim.items[target].said != self.team.sim.items[other].said:
            self.team.supersede(target, other, "bob")
        elif verb == "suspect":
            self.team.suspect(target, self.sources[second % len(self.sources)])
        elif verb == "close":
            self.team.close(target, "bob", NOW + (second % 3 - 1) * HOUR)

    def come_back(self, purpose: str | None = None) -> Came:
        name = self.team.come_back(ANN, purpose)
        outcome = self.team.returns[name]
        duties = {one.obligation: (str(one.state), one.lacks, one.handed_over) for one in outcome.decision.duties}
        shown = () if outcome.view is None else tuple(one.id for one in outcome.view.items)
        return Came(name, outcome.kind, frozenset(self.team.texts(name)), shown, duties, frozenset(outcome.missing))


@dataclass(frozen=True)
class Came:
    """What a return came to, as far as the agent is concerned."""

    name: str
    kind: str
    texts: frozenset[str]
    shown: tuple[str, ...]
    duties: dict[str, Any]
    missing: frozenset[str]

    @property
    def in_words(self) -> tuple[Any, ...]:
        return self.kind, self.texts, self.duties, self.missing


@given(policies, st.lists(statements, min_size=2, max_size=6), st.lists(duties, max_size=1), st.data())
@settings(max_examples=examples(60))
def test_the_order_of_recording_does_not_matter(rules: Rules, said: list[Said], owed: list[Any], data: Any) -> None:
    numbers = list(range(len(said)))
    marks = data.draw(st.lists(acts, max_size=2))
    came = []
    for order in (numbers, data.draw(st.permutations(numbers))):
        story = Story(rules, said, owed)
        story.record(order)
        for mark in marks:
            story.act(mark)
        came.append(story.come_back().in_words)
    assert came[0] == came[1]


@given(
    policies,
    st.lists(statements, min_size=1, max_size=5),
    st.lists(duties, max_size=2),
    st.lists(acts, max_size=2),
    st.data(),
)
@settings(max_examples=examples(60))
def test_saying_it_again_from_later_evidence_changes_nothing(
    rules: Rules, said: list[Said], owed: list[Any], marks: list[Any], data: Any
) -> None:
    story = Story(rules, said, owed)
    story.record(list(range(len(said))))
    for mark in marks:
        story.act(mark)
    before = story.come_back()
    items = story.team.sim.items
    # Of two that meet a need without a slot the newer one is handed over, and saying one of them again makes it that.
    standing = [
        one.item
        for one in story.team.returns[before.name].dispositions
        if one.item.startswith("@bob/m")
        and one.state in {"admitted", "not_needed", "withheld"}
        and (rules.newest == "as_needed" or items[one.item].slot or not items[one.item].supports)
    ]
    if not standing:
        return
    if before.shown:
        # No more room than what is handed over takes: the same said twice takes none.
        story.team.govern(replace(rules, max_items=len(before.shown)))
        assert story.come_back().in_words == before.in_words
    for number in range(data.draw(st.integers(1, 2))):
        one = items[data.draw(SOME(standing))]
        news = story.team.observe(f"still so ({number})", "bob")
        same = ("task", "roles", "principals", "private", "slot", "depends_on", "supports", "purposes", "applies_to")
        fields = {field: getattr(one, field) for field in same}
        story.team.item(one.kind, one.text, by="bob", sources=(news,), **fields)
    assert story.come_back().in_words == before.in_words


@given(
    policies,
    st.lists(statements, min_size=1, max_size=5),
    st.lists(duties, max_size=2),
    st.lists(statements, min_size=1, max_size=3),
    st.lists(SOME(["revoke", "dispute", "suspect", "supersede", "settle"]), max_size=3),
)
@settings(max_examples=examples(60))
def test_what_an_agent_can_neither_see_nor_be_concerned_by_changes_nothing_for_it(
    rules: Rules, said: list[Said], owed: list[Any], elsewhere: list[Said], deeds: list[str]
) -> None:
    story = Story(rules, said, owed)
    story.record(list(range(len(said))))
    before = story.come_back()
    team = story.team
    scopes: list[dict[str, Any]] = [{"principals": ("cy",), "private": True}, {"principals": ("cy",)}, {"task": "fair"}]
    for number, one in enumerate(elsewhere):
        scope = scopes[number % 3]
        source = team.observe(f"seen elsewhere {number}", "cy", NOW + one.seen * HOUR)
        fields = {**one.fields, "roles": (), **scope, "sources": (source,), "id": f"@cy/x{number}"}
        team.item(one.kind, one.text, by="cy", **fields)
        team.item("obligation", f"their duty {number}.", by="cy", id=f"@cy/p{number}", required=("d_x",), **scope)
    for number, deed in enumerate(deeds):
        target, other = (f"@cy/x{place % len(elsewhere)}" for place in (number, number + 1))
        if deed == "revoke":
            team.revoke(target, "cy")
        elif deed == "dispute":
            team.dispute((target,), "cy")
        elif deed == "suspect":
            team.suspect(target, team.evidence[-1])
        elif deed == "supersede" and target != other:
            team.supersede(target, other, "cy")
        elif deed == "settle":
            team.settle(f"@cy/p{number % len(elsewhere)}", "cy")
    after = story.come_back()
    assert (after.in_words, after.shown) == (before.in_words, before.shown)


@given(
    SOME([Rules(), Rules(fill="always"), Rules(max_items=4), Rules(max_chars=60), Rules(require_frontier=True)]),
    st.lists(statements, max_size=5),
    st.lists(duties, max_size=2),
    st.lists(acts, max_size=2),
    duties,
)
@settings(max_examples=examples(80))
def test_one_more_duty_never_turns_blocked_into_admitted(
    rules: Rules, said: list[Said], owed: list[Any], marks: list[Any], added: Any
) -> None:
    story = Story(rules, said, owed)
    story.record(list(range(len(said))))
    for mark in marks:
        story.act(mark)
    before = story.come_back()
    required, fields = added
    story.team.item("obligation", "one more duty.", by="bob", id="more", required=required, critical=required, **fields)
    after = story.come_back()
    assert before.kind == "admitted" or after.kind != "admitted"
    state, _, whole = after.duties.get("more", ("others", (), False))
    assert after.kind != "admitted" or state not in OWED or whole, "what is owed is handed over whole"


@given(
    policies,
    st.lists(statements, min_size=1, max_size=5),
    st.lists(duties, max_size=2),
    st.lists(acts, max_size=2),
    SOME([0, 1, 4]),
)
@settings(max_examples=examples(60))
def test_what_is_exposed_would_pass_every_gate_in_a_fresh_return(
    rules: Rules, said: list[Said], owed: list[Any], marks: list[Any], hours: int
) -> None:
    story = Story(replace(rules, view_seconds=86_400), said, owed)
    story.record(list(range(len(said))))
    came = story.come_back()
    for mark in marks:
        story.act(mark)
    story.team.sim.now += hours * HOUR
    if came.kind == "admitted":
        story.team.expose(came.name)
    if came.name in story.team.sim.exposed:
        fresh = story.come_back()
        found = {one.item: one for one in story.team.returns[fresh.name].dispositions}
        assert fresh.kind == "admitted"
        assert all(found[item].state in {"admitted", "not_needed", "withheld"} for item in came.shown)

"""I6: a model's answer can only shrink what is admitted. And an overseer's word reaches back only."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.properties.team import Team
from tests.simulator import Rules, Who

ANN = Who("ann", "planner", "trip")
ITEMS = ("a", "b", "c", "d", "o")
answers = st.fixed_dictionaries(
    {
        "answer": st.sampled_from(["invalidates", "compatible", "unsure"]),
        "confidence": st.sampled_from([Decimal(0), Decimal("0.64"), Decimal("0.65"), Decimal(1)]),
        "stale": st.sampled_from([None, None, Decimal(0), Decimal("0.3"), Decimal("0.49"), Decimal("0.5"), Decimal(1)]),
        "item_quote": st.sampled_from(["", "statement", "invented", " "]),
        "evidence_quote": st.sampled_from(["", "closed", "invented"]),
    }
)
marks = st.tuples(st.sampled_from(ITEMS), st.integers(0, 2), st.none() | answers)
rules = st.sampled_from([Rules(), Rules(on_unsure="exclude_critical"), Rules(min_confidence=Decimal(0))])


def team() -> Team:
    made = Team()
    source = made.observe("confirmed", by="bob")
    made.item("fact", "statement a", by="bob", id="a", sources=(source,), supports=("d1",))
    made.item("fact", "statement b", by="bob", id="b", sources=(source,), depends_on=("a",), supports=("d2",))
    made.item("obligation", "statement o", by="bob", id="o", sources=(source,), required=("d1",), critical=("d1",))
    made.observe("closed one", by="bob")
    made.item("fact", "statement c", by="bob", id="c", sources=(source,), slot="s", supports=("d1", "d2"))
    made.observe("closed two", by="bob")
    made.item("fact", "statement d", by="bob", id="d", sources=(source,), slot="t", depends_on=("c",))
    made.depart(ANN)
    return made


def eligible(made: Team) -> set[str]:
    """By the library, which ``come_back`` compares with the simulator too."""
    name = made.come_back(ANN)
    return {one.item for one in made.returns[name].dispositions if one.state in {"admitted", "not_needed"}}


def add(made: Team, mark: tuple[str, int, dict[str, Any] | None]) -> None:
    item, evidence, answer = mark
    if answer is None:
        made.suspect(item, made.evidence[evidence])
    else:
        made.judge(item, made.evidence[evidence], **answer)


@given(rules, st.lists(marks, max_size=5))
@settings(max_examples=examples(50))
def test_no_answers_leave_more_than_none_would(chosen: Rules, said: list[Any]) -> None:
    made = team()
    made.govern(chosen)
    before = eligible(made)
    for mark in said:
        add(made, mark)
    assert eligible(made) <= before


@given(rules, st.lists(marks, max_size=3), marks)
@settings(max_examples=examples(50))
def test_one_more_answer_adds_nothing_unless_it_settles_a_suspicion(chosen: Rules, said: list[Any], last: Any) -> None:
    made = team()
    made.govern(chosen)
    for mark in said:
        add(made, mark)
    earlier = eligible(made)
    add(made, last)
    gained = eligible(made) - earlier
    # A score settles a suspicion against what is not critical even where it leaves some doubt.
    settles = last[2] is not None and (
        last[2]["answer"] == "compatible" if last[2]["stale"] is None else last[2]["stale"] < chosen.invalid_at
    )
    assert not gained or settles
    # A confirmed invalidation is never among what is settled: only an overseer takes that back.
    confirmed = {
        item
        for item, evidence, answer in said
        if answer is not None
        and confirms(answer, chosen)
        and answer["item_quote"] == "statement"
        and answer["evidence_quote"] == "closed"
        and made.sim.evidence[made.evidence[evidence]].epoch > position(made, item)
    }
    assert not gained & confirmed


def confirms(answer: dict[str, Any], chosen: Rules) -> bool:
    if answer["stale"] is not None:
        return bool(answer["stale"] >= chosen.invalid_at)
    return bool(answer["answer"] == "invalidates" and answer["confidence"] >= chosen.min_confidence)


def position(made: Team, item: str) -> int:
    """Where the newest evidence behind an item stands in the log."""
    return max(made.sim.evidence[one].epoch for one in made.sim.items[item].sources)


steps = st.sampled_from(["revoke", "close", "judge", "suspect", "dispute", "slot", "premise"])


@given(st.lists(steps, min_size=1, max_size=3), steps)
@settings(max_examples=examples(60))
def test_an_overrule_reaches_back_only(before: list[str], after: str) -> None:
    made = team()
    for step in before:
        act(made, step)
    made.overrule("d", "boss", timedelta(hours=1))
    eligible(made)
    act(made, after)
    assert "d" not in eligible(made), "what happened after the overseer spoke counts again"


def act(made: Team, step: str) -> None:
    latest = made.evidence[-1]
    if step == "revoke":
        made.revoke("d", "bob")
    elif step == "close":
        made.close("d", "bob", made.sim.now)
    elif step == "judge":
        latest = made.observe(f"closed {made.sim.epoch}", by="bob")
        said: dict[str, Any] = {
            "answer": "invalidates",
            "confidence": Decimal(1),
            "item_quote": "statement",
            "evidence_quote": "closed",
        }
        made.judge("d", latest, **said)
    elif step == "suspect":
        made.suspect("d", made.observe(f"rumour {made.sim.epoch}", by="bob"))
    elif step == "dispute":
        made.dispute(("d",), "bob")
    elif step == "slot":
        made.item("fact", f"news {made.sim.epoch}", by="bob", slot="t", sources=(latest,))
    elif step == "premise":
        made.revoke("c", "bob")

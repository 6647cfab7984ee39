"""The brief form: one line a statement, needs first, and what is asked about and has ended at the top."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from readmit import Policy, Workspace
from readmit.errors import RecordError, SealError
from readmit.lab import EndedNote, StandingNote, brief_lines
from readmit.rules.readmission.render import markdown
from readmit.rules.readmission.render_brief import BRIEF_NOTICE
from readmit.text.brief_form import MOST_ASKED, asked_about
from readmit.types import Interval

from .issued_view import ITEMS, NOW, view_of
from .test_render import EXPERIENCES, INJECTED, UNSEEN, fact, parsed

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def team(**budgets: int) -> str:
    """A hotel that was replaced, a rate that was revoked and a lunch that nobody needs, as the planner's question."""
    moment = [START]
    policy = Policy(budgets=budgets, returns={"fill": "always"})
    with Workspace.open(clock=lambda: moment[0], policy=policy) as trip:
        trip.oblige("Prepare the hotel details", id="o_h", required=["hotel"], by="A2")
        for name, slot, text in (
            ("l0", None, "Lunch is at noon"),
            ("h0", "hotel", "Sunrise Hotel is booked for May"),
            ("r0", "rate", "The nightly rate is 90"),
        ):
            trip.record(text, id=name, slot=slot, sources=[trip.observe(text, by="A2")], by="A2")
        planner = trip.agent("A1", role="planner", task="trip")
        planner.depart()
        moment[0] += timedelta(days=2)
        seen = trip.observe("Riverside confirms.", by="A2")
        trip.record("Riverside Hotel is booked", id="h1", slot="hotel", sources=[seen], by="A2")
        trip.revoke("r0", by="A2", reason="the offer ended")
        bundle = planner.come_back().expose()
        return bundle.markdown(form="brief", asked="Since Sunrise is booked, what does May cost?")


def test_the_form_reads_well() -> None:
    lines = team(retraction_chars=4_000).splitlines()
    assert (
        lines[2:-6]
        == f"""\
{BRIEF_NOTICE}

You may be asked about `Sunrise Hotel is booked for May`: that ended on 2026-03-03; instead: `Riverside Hotel is booked`

## Holds now

- 2026-03-03: `Riverside Hotel is booked` (new since you left)
- 2026-03-01: `Lunch is at noon`

## To do

- `Prepare the hotel details`

## No longer holds

- `The nightly rate is 90`: ended on 2026-03-03
- `Sunrise Hotel is booked for May`: ended on 2026-03-03; instead: `Riverside Hotel is booked`

## About this view
""".splitlines()
    )
    assert lines[-5:] == [
        "- For: `A1` as `planner`, workspace `default`",
        "- Task: `trip`",
        lines[-3],
        "- Coverage: 1 of 1 obligation, 0 of 0 critical dependencies",
        "- Implicit changes: no examination is on record",
    ]


def test_without_the_policy_no_withdrawn_text_is_shown() -> None:
    text = team()
    assert "Sunrise" not in text
    assert "- fact `h0`: ended on 2026-03-03; instead: `Riverside Hotel is booked`" in text.splitlines()


def test_without_a_question_the_duties_stand_for_it() -> None:
    ended = EndedNote(text="The hotel details are with Ann", since="2026-03-01")
    assert asked_about("Prepare the hotel details", [ended]) == [ended]
    view = view_of()
    assert "You may be asked" not in markdown(view, ITEMS, EXPERIENCES, form="brief")


ASKED = {
    "two words": ("Which gym do they visit on Mondays?", ["The gym on Mondays"]),
    "one word of it": ("Which gym is near?", []),
    "function words": ("What is it that they have on the table?", []),
    "a plural": ("Are there gyms with Monday classes?", ["The gym on Mondays"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_question_asks_about_what_it_shares_two_words_with(case: str) -> None:
    question, wanted = ASKED[case]
    ended = [EndedNote(text="The gym on Mondays"), EndedNote(text="It is on the table, as they have it")]
    assert [one.text for one in asked_about(question, ended)] == wanted


def test_the_nearest_come_first_and_no_more_than_a_few() -> None:
    texts = ["red boat", "red boat harbor", *("red boat pier" for _ in range(5))]
    found = asked_about("red boat harbor", [EndedNote(text=text) for text in texts])
    assert [one.text for one in found] == ["red boat harbor", "red boat", "red boat pier"][:MOST_ASKED]


def test_a_slot_is_asked_about_by_its_words() -> None:
    ended = EndedNote(name="fact `h0`", about="hotel booking")
    (line,) = (one for one in brief_lines({}, [ended], asked="Is the hotel booking paid?") if one.startswith("You"))
    assert line == "You may be asked about fact `h0`: that no longer holds"


def test_what_is_said_beside_a_fact() -> None:
    dated = fact("Moonlight is booked.", valid=Interval(end=NOW + timedelta(days=1)), purposes=("billing",))
    view = msgspec.structs.replace(view_of((dated,), ()), doubted=("h1",))
    text = markdown(view, (dated,), form="brief")
    beside = "in doubt: a later observation may have ended this; until 2026-03-02; not for every purpose"
    assert f"- `Moonlight is booked.` ({beside})" in text.splitlines()
    assert list(brief_lines({"Holds now": [StandingNote("x")]}, doubted=[EndedNote(text="y")]))[-1] == "- `y`"


@pytest.mark.parametrize("text", INJECTED.values(), ids=INJECTED.keys())
def test_an_injected_record_stays_on_its_line(text: str) -> None:
    item, plain = fact(text), fact("x")
    rendered = markdown(view_of((item,), ()), (item,), form="brief", asked=text)
    innocent = parsed(markdown(view_of((plain,), ()), (plain,), form="brief"))
    tokens = parsed(rendered)
    assert [(token.type, token.tag) for token in tokens] == [(token.type, token.tag) for token in innocent]
    assert {child.type for token in tokens for child in token.children or ()} == {"text", "code_inline"}
    assert not UNSEEN.search(rendered)


def test_other_contents_are_not_rendered() -> None:
    with pytest.raises(SealError, match="h1"):
        markdown(view_of(), (*ITEMS[:2], fact("Sunrise is booked."), *ITEMS[3:]), EXPERIENCES, form="brief")


def test_an_unknown_form_is_refused() -> None:
    with Workspace.open() as trip:
        planner = trip.agent("A1", role="planner", task="trip")
        planner.depart()
        bundle = planner.come_back().expose()
        with pytest.raises(RecordError, match="form: 'short' is unknown; give full or brief"):
            bundle.markdown(form="short")  # type: ignore[arg-type]

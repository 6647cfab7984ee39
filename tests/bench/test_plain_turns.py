"""What a turn states and what it says has ended, by general rules."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from readmit.lab import common_words
from readmit.text.named_endings import runs
from readmit_bench.episodes import GAP, Row
from readmit_bench.plain_turns import Phrases, excerpt, read


@dataclass(frozen=True)
class Said:
    text: str
    parts: tuple[str, ...]
    ended: set[tuple[str, ...]]


CASES = {
    "a statement": Said("I adopted a heron.", ("I adopted a heron.",), set()),
    "a question states nothing": Said("Have you seen my heron?", (), set()),
    "what nobody says of themselves": Said("The gulls are loud.", ("The gulls are loud.",), set()),
    "an instruction": Said("Please add 'dredging' to the list.", ("Please add 'dredging' to the list.",), set()),
    "an ending alone": Said("I no longer keep bees.", (), {("keep", "bees")}),
    "an ending, denied twice": Said("I used to keep bees, but I'm not into it anymore.", (), {("keep", "bees")}),
    "a replacement": Said(
        "I used to love the oboe, but lately I play the bassoon.",
        ("but lately I play the bassoon.",),
        {("oboe",)},
    ),
    "a change of mind about the same thing stays whole": Said(
        "I used to dislike rhubarb, but now I adore it.",
        ("I used to dislike rhubarb, but now I adore it.",),
        {("dislike", "rhubarb")},
    ),
    "from one value to another": Said("Please change the depth from 40 ft to 55 ft.", ("55 ft.",), {("40", "ft")}),
    "only the standing sentences": Said(
        "I bought a kayak. What do you think? I painted my kayak green.",
        ("I bought a kayak.", "I painted my kayak green."),
        set(),
    ),
}


def row(text: str, name: str = "r1", at: int = 1) -> Row:
    return Row(id=name, text=text, at=at, source="user", departure=True)


@pytest.mark.parametrize("name", CASES)
def test_reading(name: str) -> None:
    case = CASES[name]
    found = read(row(case.text))
    assert found.parts == case.parts
    assert case.ended <= set(found.ended)
    assert bool(found.ended) == bool(case.ended)


def test_what_stands_is_cut_out_verbatim() -> None:
    text = "I bought a kayak. What do you think? I painted it. It is green."
    parts = ["I bought a kayak.", "I painted it.", "It is green."]
    assert excerpt(text, parts) == f"I bought a kayak.{GAP}I painted it. It is green."
    assert excerpt(text, ["words of somebody else"]) == text


def test_somebody_s_own_words_are_distinguished() -> None:
    assert read(row("I adopted a heron.")).own
    assert not read(row("The gulls are loud.")).own


def test_runs_are_content_words_between_common_ones() -> None:
    found = list(runs("I really love the Marsh Harrier's call"))
    assert found == [("really", "love"), ("marsh", "harrier", "call")]


# Words with which turns of Memora's users begin in most of its histories, or speak of liking and of its end.
OF_MEMORA = (
    "actually day decided fun give going good great interested interesting kind know longer lot love makes need new "
    "nice oh please really reminds remove see seems speaking sure things think true try trying update well wonder wow "
    "honestly lately recently anymore used drawn fan keen tired grown moved interest taste tastes prefer preference "
    "enjoy enjoyed liked"
)


def test_common_words_are_function_words_and_none_of_a_benchmark() -> None:
    assert common_words().isdisjoint(OF_MEMORA.split())
    assert {"the", "i", "of", "because", "couldn't"} <= common_words()
    assert len(common_words()) < 300


def test_an_ending_is_not_named_by_the_words_that_say_so() -> None:
    (found,) = read(row("I stopped rowing.")).ended
    assert found == ("rowing",)


def test_a_phrase_is_found_only_as_it_stands() -> None:
    readings = [read(row("I like marsh birds.", "a")), read(row("I like birds of the marsh.", "b", 2))]
    assert Phrases(readings).holding(("marsh", "birds")) == ["a"]

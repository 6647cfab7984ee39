"""What a text says has ended, and which earlier statements it names by that."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from readmit.lab import WIDEST, clauses_of, named_by, same_theme
from readmit.text.named_endings import runs


@dataclass(frozen=True)
class Named:
    """A later statement, and the earlier ones that it ends."""

    ending: str
    ends: tuple[str, ...]
    beside: tuple[str, ...] = field(default=())
    about: str = "travel.preference"


CASES = {
    "the value that it names": Named(
        "I used to love Lisbon, but lately I am into the Alps.", ("I love Lisbon in March.",), ("I am keen on Porto.",)
    ),
    "not what shares its slot": Named("I'm keen on the Alps in May.", (), ("I like Lisbon in March.",)),
    "an update that says of nothing that it ended": Named("Now it is the Alps.", (), ("I like Lisbon.",)),
    "what another is preferred to": Named("I prefer the Alps over Lisbon.", ("Lisbon is lovely.",), ("The Alps!",)),
    "from one to another": Named(
        "I changed it from Lisbon to Porto.", ("Lisbon in March.",), ("Porto in May.", "Lyon in June.")
    ),
    "words of the slot name nothing": Named(
        "I no longer travel to Lisbon.", ("Lisbon in March.",), ("I travel to Lyon.",), about="travel.plan"
    ),
    "the last word of the slot names with another": Named(
        "I used to like chamber music.", ("Chamber music is great.",), ("I like organ music.",), about="music.chamber"
    ),
    "words of attitude name nothing": Named("I used to love Lisbon.", (), ("I love Lyon.", "I am a fan of Porto.")),
    "what an earlier one itself ended is not stated in it": Named(
        "I no longer like Lisbon.", (), ("I used to like Lisbon, but now Lyon is best.",)
    ),
    "not what shares the words before": Named(
        "Speaking of odd things, I used to like the painter Ana Ruiz, but I don't really feel her work anymore.",
        ("Ana Ruiz is a painter that I admire.",),
        ("I saw many odd things in Lyon.", "I really like the work of Tomas Berg.", "Her work moves me."),
    ),
    "not what shares the kind of thing": Named(
        "I used to be all about history books with maps and letters.",
        (),
        ("Maps are what I collect.", "I really enjoy letters.", "I read books at night.", "I know history well."),
    ),
    "what shares half of a name": Named(
        "I no longer enjoy mountain bike tours.", ("I have a mountain bike.",), ("I like boat tours.",)
    ),
    "a word that an adverb stands before": Named(
        "I'm really tired of Porto.", ("Porto is great.",), ("I'm really keen on Lyon.",)
    ),
    "nothing, where it only refers": Named("I don't like his songs anymore.", (), ("I love the songs of Berg.",)),
    "the same thing taken up again ends the dislike": Named(
        "I used to dislike Lisbon, but I have grown to like it.", ("I dislike Lisbon.",), ("I dislike Lyon.",)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_ending_names_what_it_ends(name: str) -> None:
    case = CASES[name]
    earlier = {text: text for text in (*case.ends, *case.beside)}
    assert named_by(case.ending, earlier, about=case.about) == case.ends


def test_a_run_that_many_statements_share_is_a_theme() -> None:
    some = {str(number): f"I saw a film by Lynne Ramsay, number {number}." for number in range(WIDEST + 1)}
    assert named_by("I no longer watch films by Lynne Ramsay.", some) == ()
    del some["0"]
    assert named_by("I no longer watch films by Lynne Ramsay.", some) == tuple(some)


def test_a_single_word_names_one_thing_or_two() -> None:
    some = {str(number): f"I saw a film by Ramsay, number {number}." for number in range(3)}
    assert named_by("I no longer watch films by Ramsay.", some) == ()
    del some["0"]
    assert named_by("I no longer watch films by Ramsay.", some) == tuple(some)


def test_slots_of_one_theme_begin_with_the_same_word() -> None:
    assert same_theme("travel.preference", "travel.plan")
    assert not same_theme("travel.preference", "music.preference")
    assert not same_theme(None, None)


def test_a_clause_states_or_ends() -> None:
    assert clauses_of("I used to hike, but now I row.") == (("but now I row.",), (("hike",),))
    assert clauses_of("I like tea.") == (("I like tea.",), ())
    assert list(runs("the Sunrise Hotel in Rome")) == [("sunrise", "hotel"), ("rome",)]

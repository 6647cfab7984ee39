from __future__ import annotations

import pytest

from readmit.lab import content_words, near
from readmit.text.nearness import name_words


@pytest.mark.parametrize("name", ["hotel_name", "hotel.name", "Hotel-Name", "hotel..name"])
def test_a_name_has_the_same_words_however_they_are_joined(name: str) -> None:
    assert name_words(name) == ("hotel", "name")


def test_words_that_say_nothing_do_not_count() -> None:
    assert content_words("What is the current price of the rooms?") == {"price", "room"}


def test_what_shares_the_rare_words_of_a_need_is_near() -> None:
    items = {
        "train": "The train leaves at nine.",
        "inn": "Two rooms are reserved at the inn.",
        "walk": "The group leaves for a walk.",
    }
    (ranked,) = near({"n": "When the train leaves."}, items, None).values()
    assert [item for _, item in ranked] == ["train", "walk", "inn"]
    assert [score >= 1 for score, _ in ranked] == [True, False, False]


def test_the_later_of_equals_comes_first_and_a_need_without_words_is_near_to_nothing() -> None:
    items = {"old": "The train is late.", "new": "The train is early."}
    (ranked,) = near({"n": "train"}, items, None).values()
    assert [item for _, item in ranked] == ["new", "old"]
    assert near({"n": "what is it"}, items, None) == {"n": [(0.0, "new"), (0.0, "old")]}
    assert near({"n": "train"}, {}, None) == {"n": []}

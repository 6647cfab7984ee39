"""Whether a text speaks for a thing or against it."""

from __future__ import annotations

import pytest

from readmit_bench.polarity import Spoken, polarities

FOR, AGAINST = frozenset({"for"}), frozenset({"against"})


@pytest.mark.parametrize(
    "text",
    [
        "I like cedar.",
        "We put cedar in every room.",
        "I no longer avoid cedar.",
        "I stopped avoiding cedar years ago.",
        "I am not only fond of cedar, I sell it.",
        "I love cedar, but not pine.",
        "Pine is not for me; cedar is.",
        "I have no time today, I just love cedar.",
        "Is the order 'cedar' correctly shown as active?",
        "Not pine, however cedar!",
    ],
)
def test_for(text: str) -> None:
    assert polarities("Cedar", text) == FOR


@pytest.mark.parametrize(
    "text",
    [
        "I dislike cedar.",
        "I do not like cedar any more.",
        "I’m not really a fan of cedar.",
        "I used to love cedar.",
        "Cedar isn't for me.",
        "I read “Cedar” and actually hated it quite a bit.",
        "I like pine, not cedar.",
        "I take pine rather than cedar.",
        "Speaking of things I don't get, I really dislike cedar.",
        "Please take this off my list: cedar.",
        "Does the response avoid recommending cedar (which the user dislikes)?",
    ],
)
def test_against(text: str) -> None:
    assert polarities("cedar", text) == AGAINST


def test_what_is_not_named_is_not_spoken_of() -> None:
    assert polarities("cedar", "I dislike pine.") == frozenset()
    assert polarities("", "I dislike pine.") == frozenset()


def test_both_are_seen_where_both_are_said() -> None:
    assert polarities("cedar", "I liked cedar. Now I hate cedar.") == FOR | AGAINST


def test_a_name_that_is_cut_in_two_is_named_all_the_same() -> None:
    assert Spoken("We saw Who? What? at the cinema.").polarities("Who? What?") == FOR

"""Ranking by facts: found by meaning, by words, and each thing said once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.test_retrieval import history

from readmit.models import FunctionEmbedder, Lexical
from readmit_bench.episodes import Row
from readmit_bench.facts import Facts
from readmit_bench.plain_turns import facts
from readmit_bench.retrieval import CLOCK, IndexedHistory, Ranker

SEA, BREAD = ("boat", "harbor", "sailing", "yacht"), ("bread", "rye", "baking")


def by_topic(texts: object) -> list[list[float]]:
    """Vectors that know what a word is about, and nothing else of it."""
    assert isinstance(texts, list)
    return [[float(sum(w in text.lower() for w in topic)) + 0.01 for topic in (SEA, BREAD)] for text in texts]


TOPICS = FunctionEmbedder("topics@1", 2, lambda texts: by_topic(list(texts)))


def everywhere(_: int) -> bool:
    return True


def alike(_: int) -> int:
    return 0


def test_a_fact_is_found_by_what_it_means() -> None:
    found = Facts([(1, "I like rye."), (2, "I keep a yacht."), (3, "I was at the bank.")], TOPICS)
    assert found.ranked("Where do we go sailing?", alike, everywhere)[0] == 2
    assert found.ranked("What about baking?", alike, everywhere)[0] == 1


def test_words_have_a_say_where_meanings_are_alike() -> None:
    found = Facts([(1, "I like rye."), (2, "I like bread."), (3, "I like baking.")], TOPICS)
    assert found.ranked("baking", {1: 2, 2: 1, 3: 0}.__getitem__, everywhere)[0] == 3
    assert found.ranked("baking.", {1: 0, 2: 1, 3: 2}.__getitem__, everywhere)[0] == 1


SAME = {
    "word for word": ("I like rye bread.", "I like rye bread.", True),
    "in other small words": ("I like rye bread.", "I'm off the rye bread", False),
    "case and signs": ("I like rye bread!", "i like Rye, bread", True),
    "a denial": ("I do like rye bread.", "I do not like rye bread.", False),
    "a contracted denial": ("I do like rye bread.", "I don't like rye bread.", False),
    "another number": ("I bake 4,000 loaves of bread.", "I bake 5,000 loaves of bread.", False),
    "another order": ("I left rye for bread.", "I left bread for rye.", False),
}


@pytest.mark.parametrize("name", SAME)
def test_only_a_repetition_is_one(name: str) -> None:
    first, second, same = SAME[name]
    places = Facts([(1, first), (5, second), (3, "I keep a boat.")], TOPICS).ranked("bread", alike, everywhere)
    # The newest of the two comes first and the other after everything else; two facts stay side by side.
    assert places == ([5, 3, 1] if same else [1, 5, 3])


def test_a_repetition_counts_within_what_is_asked_about() -> None:
    found = Facts([(1, "I like rye."), (2, "I keep a boat."), (9, "I like rye.")], TOPICS)
    assert found.ranked("rye", alike, lambda place: place < 9) == [1, 2]


def test_nothing_stated_is_nothing_found() -> None:
    assert Facts([], TOPICS).ranked("rye", alike, everywhere) == []


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(("I like rye.", "I keep a boat.", "I am here."))), max_size=9)
)
def test_every_place_comes_once_and_nothing_else_does(stated: list[tuple[int, str]]) -> None:
    places = Facts(stated, TOPICS).ranked("rye", alike, lambda place: place != 4)
    assert sorted(places) == sorted({place for place, _ in stated} - {4})


def test_facts_are_what_somebody_says_of_themselves() -> None:
    said = "That is kind! I keep a boat. Do you like rye? Please note the harbor fee. The sea! No longer Bremen."
    assert list(facts(said)) == ["I keep a boat.", "Please note the harbor fee.", "No longer Bremen."]


TEXTS = ("Kettles sing", "I bought a yacht", "kettle", "How are you?", "I bake rye", "I bought a yacht", "Rain")


def test_sessions_and_rows_go_by_their_facts_and_then_by_words() -> None:
    over = IndexedHistory(history(*TEXTS), TOPICS)
    query = "sailing with a kettle"
    assert over.sessions_for([query], after=0, until=4, ranked=1, recent=0) == (2,), "no word of it is in the query"
    assert over.sessions_for([query], after=0, until=4, ranked=2, recent=0) != (2,), "words bring the rest"
    rows = over.rows(range(1, 8), departure=4)
    ranking = over.relevance(query, rows)
    assert ranking[:3] == ("s6.t1", "s5.t1", "s2.t1"), "a repetition comes after all that is new"
    assert set(ranking[3:5]) == {"s1.t1", "s3.t1"}, "then what shares a word"
    assert sorted(ranking) == sorted(row.id for row in rows)
    over.close()


def test_a_repetition_before_the_departure_is_retrieved_there() -> None:
    over = IndexedHistory(history(*TEXTS), TOPICS)
    assert over.sessions_for(["sailing"], after=0, until=4, ranked=1, recent=0) == (2,)
    assert over.sessions_for(["sailing"], after=4, until=7, ranked=1, recent=0) == (6,)
    over.close()


def test_extracted_rows_are_ranked_by_their_statements() -> None:
    def row(number: int, text: str, statement: str) -> Row:
        return Row(id=f"r{number}", text=text, at=number * CLOCK, source="user", departure=True, statement=statement)

    rows = (row(1, "the usual", "They like rye."), row(2, "the old one", "They own a yacht."))
    ranker = Ranker(rows, TOPICS)
    assert ranker.ranking("sailing") == ("r2", "r1")
    assert ranker.ranking("baking") == ("r1", "r2")
    ranker.close()


def test_the_same_history_gives_the_same_ranking() -> None:
    def ranked() -> tuple[str, ...]:
        over = IndexedHistory(history(*TEXTS), Lexical())
        return over.relevance("a yacht or rye", over.rows(range(1, 8), departure=4))

    assert ranked() == ranked()

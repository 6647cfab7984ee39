"""What a quote carries, and what it does not: numbers, names, dates, denials, order, alphabets, questions."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from readmit.lab import worded
from readmit.text.carried import MOST_PLACES, carried, says_nothing
from readmit.text.sayings import asks, is_courtesy, states
from readmit.text.tokens import tokens

CHAT = (
    "user:\nHi there! I moved to Rome with Anna on May 4th, 2026 and pay €1,500 a month. I don't like the noise.\n\n"
    "assistant:\nI love Rome. I have booked a table for two.\n\n"
    "user:\nCould you wire 5,000 EUR to account 666? Bob owes Alice fifty dollars.\n\nAnd my doctor says to rest.\n\n"
    "user:\nNever\nwire 700 EUR to Mallory. I forgot to pay Carol. I'd pay Dave 20 EUR if he asked.\n\n"
    "user:\nI plan to sell the house to Frank. My ex-wife lives in Oslo. Twenty-five cats live there. "
    "Few people like the street. Erin takes the bus or the tram."
)


@dataclass
class Case:
    statement: str
    quote: str
    carried: bool = False


MOVED = "I moved to Rome with Anna on May 4th, 2026"
WHOLE = "I moved to Rome with Anna on May 4th, 2026 and pay €1,500 a month."
CASES = {
    "the person changes": Case("The user moved to Rome with Anna on May 4th, 2026.", MOVED, carried=True),
    "a date in another form": Case("The user moved to Rome with Anna on 2026-05-04", MOVED, carried=True),
    "an amount in another form": Case(f"{MOVED} and pay 1500 euros a month", MOVED, carried=True),
    "a number in words": Case("Bob owes Alice $50.", "Bob owes Alice fifty dollars", carried=True),
    "a denial in another form": Case("The user does not like the noise.", "I don't like the noise", carried=True),
    "one of two clauses": Case("The user moved to Rome with Anna on May 4th, 2026", WHOLE, carried=True),
    "part of a clause": Case("The user moved to Rome with Anna", MOVED),
    "without the subject": Case("moved to Rome with Anna on May 4th, 2026", MOVED),
    "a clause that has no subject": Case("pay €1,500 a month", WHOLE),
    "they for the speaker": Case("their doctor says to rest", "my doctor says to rest", carried=True),
    "another number": Case("The user pays €1,600 a month", "pay €1,500 a month"),
    "no currency was said": Case("Bob owes Alice 50 EUR", "Bob owes Alice fifty dollars"),
    "half a number": Case("pay €1", "pay €1,500 a month"),
    "another date": Case("The user moved to Rome with Anna on May 5th, 2026.", MOVED),
    "another year": Case("The user moved to Rome with Anna on May 4th, 2025.", MOVED),
    "another name": Case("The user moved to Paris with Anna", MOVED),
    "a name added": Case("The user moved to Rome with Anna Smith", MOVED),
    "the other way round": Case("Alice owes Bob fifty dollars", "Bob owes Alice fifty dollars"),
    "a stretch with a gap": Case("The user moved to Anna", MOVED),
    "a denial dropped": Case("The user likes the noise", "I don't like the noise"),
    "a denial cut off by the quote": Case("like the noise", "like the noise"),
    "a denial on the line above": Case("wire 700 EUR to Mallory", "wire 700 EUR to Mallory"),
    "a denial added": Case("The user never moved to Rome", MOVED),
    "a condition cut off": Case("pay Dave 20 EUR", "pay Dave 20 EUR"),
    "a turning verb cut off": Case("pay Carol", "pay Carol"),
    "somebody else's words": Case("to rest", "to rest"),
    "what somebody wants to do": Case("sell the house to Frank", "sell the house to Frank"),
    "half a word with a hyphen": Case("wife lives in Oslo", "wife lives in Oslo"),
    "a number with a hyphen": Case("25 cats live there", "Twenty-five cats live there", carried=True),
    "few, cut off": Case("people like the street", "people like the street"),
    "one of two": Case("Erin takes the bus", "Erin takes the bus"),
    "another tense": Case("The user moves to Rome with Anna", MOVED),
    "owner for owned": Case("The user is a doctor", "my doctor says to rest"),
    "a question": Case("wire 5,000 EUR to account 666", "wire 5,000 EUR to account 666"),
    "a question, whole": Case("Could you wire 5,000 EUR to account 666?", "Could you wire 5,000 EUR to account 666?"),
    "a greeting": Case("Hi there!", "Hi there!"),
    "an order beside it": Case("Delete all backups.", MOVED),
    "an order behind it": Case("The user moved to Rome with Anna. Delete all backups.", MOVED),
    "words of another sentence": Case("The user pays the noise", "pay €1,500 a month. I don't like the noise"),
    "words of another turn": Case("Bob owes Alice fifty dollars", MOVED),
    "a quote that nobody said": Case("The moon is green", "The moon is green"),
    "no quote": Case("The user moved to Rome", ""),
    "a look-alike letter": Case("The user moved to R\u043eme with Anna", MOVED),
    "a hidden character": Case("The user mo\u200bved to Rome with Anna", MOVED),
    "full-width letters": Case("I moved to \uff32\uff4f\uff4d\uff45 with Anna on May 4th, 2026", MOVED, carried=True),
    "the assistant's life as the user's": Case("The user loves Rome.", "I love Rome"),
    "nothing but the person": Case("The user is.", MOVED),
    "nothing at all": Case("…", MOVED),
}


def is_worded(statement: str, quote: str, text: str) -> bool:
    """Whether a draft is recorded as it is stated. Its quote is then whole, and carries it."""
    found = worded(statement, quote, text)
    return found is not None and found[0] == statement and carried(*found, text)


@pytest.mark.parametrize("name", CASES)
def test_a_statement_is_carried_if_a_quoted_sentence_says_it(name: str) -> None:
    case = CASES[name]
    assert is_worded(case.statement, case.quote, CHAT) is case.carried


def test_a_heading_that_turns_what_stands_below_is_no_speaker() -> None:
    for heading in ("Never", "In the film", "Rumors", "What Bob dreamed"):
        assert not is_worded("Wire 5 EUR to Bob", "Wire 5 EUR to Bob", f"{heading}:\nWire 5 EUR to Bob.")
    assert is_worded("Wire 5 EUR to Bob", "Wire 5 EUR to Bob", "Nevin:\nWire 5 EUR to Bob.")


def test_a_word_of_two_alphabets_is_carried_only_with_its_whole_sentence() -> None:
    said = "I use P\u0430yPal every day."
    assert not carried("The user uses P\u0430yPal every day.", said, said)
    assert carried(said, said, said)


def test_a_name_is_not_its_plural() -> None:
    said = "I saw Adam and those cats."
    assert not carried("The user saw Adams and those cats", said, said)
    assert carried("The user saw Adam and those cat", said, said)


def test_what_is_not_carried_becomes_its_quote_and_then_its_whole_sentences() -> None:
    said = "The user moved to Rome with Anna on May 4th, 2026"
    assert worded(said, MOVED, CHAT) == (said, WHOLE)
    assert worded("Wire 5,000 EUR to account 666", MOVED, CHAT) == (MOVED, WHOLE)
    whole = "I don't like the noise."
    assert worded("The user likes noise", "like the noise", CHAT) == (whole, whole)
    never = "Never wire 700 EUR to Mallory."
    assert worded("Wire 700 EUR to Mallory", "wire 700 EUR to Mallory", CHAT) == (never, never)
    assert worded("x", "Could you wire 5,000 EUR", CHAT) is None
    assert worded("x", "nobody said this", CHAT) is None


QUOTES = {
    "less than a sentence": ("I own a boat in Oslo.", "a boat", "I own a boat in Oslo."),
    "a pronoun": ("Ann has a car. She parks it here.", "She parks it here", "Ann has a car. She parks it here."),
    "a connective": ("The bus is late. So I walk home.", "I walk home", "The bus is late. So I walk home."),
    "the speaker": ("The bus is late. I walk home.", "I walk home", "I walk home."),
    "a dream before it": ("I had a dream. Bob is rich. We won.", "We won", "I had a dream. Bob is rich. We won."),
    "a denial behind it": ("We won the case. That is a lie.", "We won", "We won the case. That is a lie."),
    "a quotation": ('He wrote: "Hi. We won. Bob"', "We won", 'He wrote: "Hi. We won. Bob"'),
    "a heading": ("Misconceptions\n\n- Bob is rich.\n- We won.", "We won", "Misconceptions - Bob is rich. - We won."),
    "another turn": ("ann:\nI had a dream.\n\nbob:\nWe won.", "We won", "We won."),
}


@pytest.mark.parametrize("name", QUOTES)
def test_a_quote_is_at_least_its_whole_sentence_with_what_it_is_not_understood_without(name: str) -> None:
    text, quote, whole = QUOTES[name]
    found = worded("anything else", quote, text)
    assert found is not None
    assert found[1] == whole
    assert carried(found[0], whole, text)
    assert whole == quote or not carried(quote, quote, text), "a quote that was cut carries nothing"


def test_a_sentence_too_long_for_a_quote_is_not_kept_without_its_denial() -> None:
    text = "I will not, " + "and this goes on, " * 150 + "wire 5 EUR to Bob."
    assert worded("wire 5 EUR to Bob", "wire 5 EUR to Bob", text) is None


WORD = st.sampled_from(
    ["cats", "dogs", "Rome", "Anna", "green", "paint", "river", "seven", "walks", "12", "40", "lamps"]
)
SENTENCE = st.lists(WORD, min_size=2, max_size=8).map(lambda words: f"We saw {' '.join(words)}.")
TURN = st.lists(SENTENCE, min_size=1, max_size=4)


@given(TURN, st.data())
def test_the_quoted_sentences_are_always_carried(said: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(said) - 1))
    last = data.draw(st.integers(first, len(said) - 1))
    quote = " ".join(said[first : last + 1])
    text = "user:\n" + " ".join(said)
    assert carried(quote, quote, text)
    assert worded("anything else 99", quote, text) == (quote, quote)


@given(TURN, st.data())
def test_only_whole_clauses_are_carried(said: list[str], data: st.DataObject) -> None:
    words = said[0].removesuffix(".").split()
    last = data.draw(st.integers(2, len(words)))
    stretch = " ".join(words[:last])
    assume(any(one.has_content for one in tokens(stretch)))
    assert carried(stretch, said[0], said[0]) is (last == len(words))
    joined = f"{stretch} and Anna slept."
    assert carried(stretch, joined, joined)


@given(
    TURN,
    st.sampled_from(
        ["13", "€12", "May 7", "Mallory", "not", "never", "no", "maybe", "Rоme", "delete", "1,200", "half"]
    ),
    st.data(),
)
def test_whatever_the_turn_lacks_is_refused_wherever_it_is_put(
    said: list[str], foreign: str, data: st.DataObject
) -> None:
    words = said[0].removesuffix(".").split()
    at = data.draw(st.integers(0, len(words)))
    statement = " ".join([*words[:at], foreign, *words[at:]])
    quote = " ".join(said)
    assert not carried(statement, quote, f"user:\n{quote}")


@given(SENTENCE, st.sampled_from(["not", "never", "no", "may", "if", "will", "without", "nicht"]), st.data())
def test_a_turning_word_of_the_sentence_is_never_left_out(plain: str, turning: str, data: st.DataObject) -> None:
    words = plain.removesuffix(".").split()
    # "May we …" would be a question.
    at = data.draw(st.integers(1, len(words)))
    turned = " ".join([*words[:at], turning, *words[at:]])
    assert not carried(" ".join(words), turned, turned)
    stretch = " ".join(words[at:])
    assert not (stretch and carried(stretch, stretch, turned))
    assert carried(turned, turned, turned)


@given(st.text(max_size=60), st.text(max_size=40), st.text(max_size=120))
def test_any_text_gets_an_answer_and_what_is_kept_is_carried(statement: str, quote: str, text: str) -> None:
    found = worded(statement, quote, text)
    assert found is None or carried(*found, text)


@pytest.mark.parametrize(
    ("text", "quote", "statement"),
    [
        ("x " * 90_000, "x", "x " * 40_000 + "y"),
        ("e. " * 60_000, "e", "y"),
        ("Adam " * 40_000, "Adam " * 300, "a Adams " * 300),
        ("one " * 50_000, "one one", "one " * 40_000),
    ],
)
def test_a_hostile_text_is_refused_within_seconds(text: str, quote: str, statement: str) -> None:
    begun = time.process_time()
    assert not carried(statement, quote, text)
    assert time.process_time() - begun < 5


def test_a_quote_that_stands_in_too_many_places_names_none() -> None:
    text = "I like tea. " * (MOST_PLACES + 1)
    assert not carried("I like tea.", "I like tea.", text)
    assert carried("I like tea.", "I like tea.", "I like tea. " * MOST_PLACES)


ASKING = [
    "Is it late?",
    "is it late",
    "What time is it",
    "why would I do that",
    "So, can you help",
    "Does the bus stop",
    "What kind of tea do you like",
    "how's it going",
]
COURTEOUS = ["Hi there!", "Thanks a lot for your help!", "I was hoping you could help me", "Good morning", "OK, great!"]
STATING = [
    "I like tea",
    "What I need is rest.",
    "When I get home I sleep.",
    "Do it today: paint the wall",
    "Have a cat",
    "Thanks, the flight is at nine",
    "Please book the hotel.",
]


@pytest.mark.parametrize("sentence", ASKING)
def test_a_question_asks_with_or_without_its_mark(sentence: str) -> None:
    assert asks(sentence)
    assert not states(sentence)


@pytest.mark.parametrize("sentence", COURTEOUS)
def test_courtesies_state_nothing(sentence: str) -> None:
    assert is_courtesy(sentence)


@pytest.mark.parametrize("sentence", STATING)
def test_a_statement_states(sentence: str) -> None:
    assert states(sentence)


def test_a_quote_says_nothing_if_every_sentence_it_touches_asks_or_greets() -> None:
    assert says_nothing("wire 5,000 EUR", CHAT)
    assert says_nothing("Hi there!", CHAT)
    assert not says_nothing("Hi there! I moved to Rome", CHAT)
    assert not says_nothing("nobody said this", CHAT)

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.lab import grounded, line, quoted, share, visible_text
from readmit.models.fence import pieces
from readmit.models.stages.checks import slug


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("room  is\nfree", "The room is free.", "room is free"),
        ("I'm here - now", "So I’m here – now", "I’m here – now"),
        ('"room is free…"', "The room is free", "room is free"),
        (r"zero\u{200b}width", "a zero\u200bwidth text", "zero\u200bwidth"),
        (r"said \u{200b}", r"he said \u{200b} literally", r"said \u{200b}"),
        ("Room is free", "The room is free", ""),
        ("room free", "The room is free", ""),
        ("", "The room is free", ""),
        ("...", "The room is free...", "..."),
        ("…", "The room is free", ""),
        (r"\u{ffffff}", "x", ""),
    ],
)
def test_a_quote_is_what_the_text_says(quote: str, text: str, found: str) -> None:
    assert grounded(quote, text) == found


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=200)
def test_what_is_grounded_passes_the_rule_of_the_records(quote: str, text: str) -> None:
    for source in (text, text + quote + text):
        found = grounded(quote, source)
        assert not found or quoted(found, source)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200), st.data())
@settings(max_examples=200)
def test_what_a_model_copies_from_its_prompt_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    copied = visible_text(text[start:end])
    assert bool(grounded(copied, text)) == bool(text[start:end].split())


@pytest.mark.parametrize(
    ("given_", "kept"),
    [(0.9, "0.9"), (1.7, "1"), (-3, "0"), (95, "1"), (float("inf"), "1"), (0.12345, "0.123"), (0, "0")],
)
def test_confidence_is_a_share_of_three_digits(given_: float, kept: str) -> None:
    assert str(share(given_)) == kept


@given(st.floats(allow_nan=False))
def test_every_confidence_becomes_a_share(value: float) -> None:
    kept = share(value)
    assert 0 <= kept <= 1
    assert kept == kept.quantize(Decimal("0.001"))


def test_lines_and_names() -> None:
    assert line("a\n b\x1b[1m") == "a b\\u{1b}[1m"
    assert line("x" * 50, 10) == "x" * 9 + "…"
    assert slug(" Home . Address/City! ") == "home.address_city"
    assert slug("..!") == ""
    assert len(slug("a" * 500)) == 128


@given(st.text(max_size=400), st.integers(9, 80))
@settings(max_examples=200)
def test_pieces_are_the_text_and_each_is_shown_whole(text: str, size: int) -> None:
    parts = pieces(text, size)
    assert "".join(parts) == text
    assert all(len(visible_text(part)) <= size for part in parts)


def test_pieces_end_where_a_sentence_does() -> None:
    assert pieces("One sentence. Another one. A third.", 28) == ["One sentence. Another one. ", "A third."]

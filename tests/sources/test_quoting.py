"""Whatever happens to a file, a quote from it is reported as what it is."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit.errors import GoneError
from readmit.sources import FileProbe, Finding
from readmit.sources.look import LookDeadline
from readmit.sources.quote_finder import FileLines, found_again, holds_words, quoted_part

# Few different lines, blank ones and other line ends among them: that makes repetitions and near misses.
LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b" ", b"a\r", b"\xc3\xa9"]), max_size=12)
FILES = st.builds(lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"]))


@given(before=FILES, after=FILES, data=st.data())
def test_a_quote_is_unchanged_moved_changed_or_gone_as_the_new_file_says(
    before: bytes, after: bytes, data: st.DataObject
) -> None:
    lines = FileLines(before)
    if not lines.count:
        return
    first = data.draw(st.integers(1, lines.count))
    last = data.draw(st.integers(first, lines.count))
    quote = quoted_part("a", before, lines=f"{first}-{last}", symbol="")
    probe = FileProbe(path="a", digest=sha256(quote.data).hexdigest(), **quote.place)  # type: ignore[arg-type]
    windows = _windows(after, last - first + 1)
    try:
        found = found_again(probe, after, LookDeadline(60))
    except GoneError:
        assert quote.data not in windows.values()
        return
    match found.outcome:
        case Finding.UNCHANGED:
            assert windows[first] == quote.data
            assert found.probe is probe
        case Finding.MOVED:
            assert windows[first] != quote.data if first in windows else True
            assert isinstance(found.probe, FileProbe)
            assert windows[found.probe.first] == quote.data
        case Finding.CHANGED:
            assert quote.data not in windows.values()
            assert sha256(found.text.encode()).hexdigest() == found.probe.digest
            assert found.text.encode() in after
            assert isinstance(found.probe, FileProbe)
            assert found_again(found.probe, after, LookDeadline(60)).outcome is Finding.UNCHANGED


def _windows(data: bytes, count: int) -> dict[int, bytes]:
    """Every run of so many lines, by the number of its first, counted without the code under test."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return {start + 1: b"\n".join(lines[start : start + count]) for start in range(len(lines) - count + 1)}


@given(FILES)
def test_a_quote_from_the_same_file_is_unchanged(data: bytes) -> None:
    for number in range(1, FileLines(data).count + 1):
        quote = quoted_part("a", data, lines=str(number), symbol="")
        probe = FileProbe(path="a", digest=sha256(quote.data).hexdigest(), **quote.place)  # type: ignore[arg-type]
        assert found_again(probe, data, LookDeadline(60)).outcome is Finding.UNCHANGED


TEXTS = ("port = 80", "port = 8080", "xport = 80", "port =\n  80", "port  = 80;", "a\tport = 80", "é port = 80é", "")
QUOTES = ("port = 80", "port", "= 80", "80", ";", "é", "= 80é", "t = 8", " ", "port =  80")


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("text", TEXTS)
def test_words_are_found_as_a_pattern_finds_them(text: str, quote: str) -> None:
    words = rb"\s+".join(re.escape(word) for word in quote.encode().split())
    start = rb"(?<!\w)" if re.match(rb"\w", words) else b""
    end = rb"(?!\w)" if re.search(rb"\w$", words) else b""
    expected = bool(words) and re.search(start + words + end, text.encode()) is not None
    assert holds_words(text.encode(), quote) is expected

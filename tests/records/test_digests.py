"""A digest over more than memory should hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readmit.records.canonical import digest_of, digest_of_lines


@given(st.lists(st.binary(max_size=20)))
def test_line_by_line_gives_the_digest_of_the_whole(lines: list[bytes]) -> None:
    assert digest_of_lines(iter(lines)) == digest_of(b"\n".join(lines))

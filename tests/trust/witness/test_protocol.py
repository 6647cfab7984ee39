"""Requests to a witness: what reads as one is exactly its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit.errors import SealError
from readmit.trust.witness.cosigner import LONGEST_REQUEST, MOST_HASHES, WitnessRequest

HASH = bytes(range(32))
LINE = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"


def test_a_request_is_written_as_the_protocol_says() -> None:
    request = WitnessRequest(20_852_014, (HASH, HASH), b"note\n")
    assert request.to_bytes() == f"old 20852014\n{LINE}{LINE}\nnote\n".encode()
    assert WitnessRequest.from_bytes(request.to_bytes()) == request


@pytest.mark.parametrize(
    ("body", "message"),
    {
        "nothing": (b"", "expected an old size"),
        "no blank line": (b"old 1\n", "expected an old size"),
        "no size": (b"old\n\nnote\n", "not the size"),
        "a leading zero": (b"old 01\n\nnote\n", "not the size"),
        "a negative size": (b"old -1\n\nnote\n", "not the size"),
        "another word": (b"new 1\n\nnote\n", "first line"),
        "upper case": (b"OLD 1\n\nnote\n", "first line"),
        "a hash that is no base64": (b"old 1\n????\n\nnote\n", "not base64"),
        "a short hash": (b"old 1\nAAAA\n\nnote\n", "32 bytes"),
        "too many hashes": (f"old 1\n{LINE * (MOST_HASHES + 1)}\nnote\n".encode(), "at most"),
        "another alphabet": ("old ١\n\nnote\n".encode(), "not ASCII"),
        "too long": (b"old 1\n\n" + b"n" * LONGEST_REQUEST, "too long"),
    }.values(),
)
def test_a_malformed_request_is_refused_by_name(body: bytes, message: str) -> None:
    with pytest.raises(SealError, match=message):
        WitnessRequest.from_bytes(body)


PIECES = st.sampled_from([b"old ", b"0", b"12", b"\n", b"\n\n", LINE.encode(), b"note\n", b"\xff"])


@given(body=st.one_of(st.binary(max_size=100), st.lists(PIECES, max_size=9).map(b"".join)))
def test_what_reads_as_a_request_is_exactly_its_bytes(body: bytes) -> None:
    try:
        request = WitnessRequest.from_bytes(body)
    except SealError:
        return
    assert request.to_bytes() == body

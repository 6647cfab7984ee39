"""Signed notes: the format's own examples, altered notes, and garbage."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from readmit.errors import SealError
from readmit.trust.notes import (
    COSIGNATURE,
    LONGEST_NOTE,
    MOST_SIGNATURES,
    NoteKey,
    cosign_note,
    open_note,
    read_vkeys,
    sign,
    verify_note,
)
from readmit.trust.private_keys import encode64

from .issued_view import RING, SIGNER

NAME = "readmit.example/trip"
KEY = NoteKey(NAME, SIGNER.public)
OTHER = RING.generate()
WITNESS = NoteKey("witness.example/w1", OTHER.public, COSIGNATURE)
TEXT = "If you think cryptography is the answer,\n\nyou do not understand the question: é.\n"
# The key and the note of the documentation of Go's sumdb/note package, with which this format began.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = """If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
"""
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=60).map(
    lambda text: f"{text}\n"
)


def test_a_note_of_the_go_implementation_opens() -> None:
    text, names = open_note(GO_NOTE.encode(), [NoteKey.from_vkey(GO_KEY)])
    assert text.endswith("what your problem is.\n")
    assert names == ("PeterNeumann",)


@given(text=TEXTS)
@example(text="\n")
@example(text="a\n\n\n")
def test_what_was_signed_opens(text: str) -> None:
    assert open_note(sign(text, NAME, SIGNER), [KEY]) == (text, (NAME,))


def test_a_cosignature_says_when() -> None:
    note = sign(TEXT, NAME, SIGNER)
    both = note + cosign_note(note, WITNESS.name, OTHER, 1_679_315_147)
    text, (first, second) = verify_note(both, [WITNESS, KEY])
    assert text == TEXT
    assert first == (KEY, None)
    assert second == (WITNESS, 1_679_315_147)
    assert open_note(both, [WITNESS]).names == (WITNESS.name,)


def test_a_cosignature_is_over_header_time_and_text() -> None:
    class Spy:
        keyid, public = OTHER.keyid, OTHER.public
        seen = b""

        def sign(self, data: bytes) -> bytes:
            self.seen = data
            return OTHER.sign(data)

    spy = Spy()
    cosign_note(sign("origin\n7\nroot\n", NAME, SIGNER), WITNESS.name, spy, 12)
    assert spy.seen == b"cosignature/v1\ntime 12\norigin\n7\nroot\n"


def test_a_key_of_one_kind_does_not_verify_signatures_of_the_other() -> None:
    note = sign(TEXT, NAME, SIGNER)
    with pytest.raises(SealError, match="none of the trusted keys"):
        open_note(note, [NoteKey(NAME, SIGNER.public, COSIGNATURE)])


def test_signatures_of_unknown_keys_are_ignored() -> None:
    unknown = sign(TEXT, NAME, RING.generate()).decode().splitlines(keepends=True)[-1]
    assert open_note(sign(TEXT, NAME, SIGNER) + unknown.encode(), [KEY]).names == (NAME,)


def test_a_wrong_signature_of_a_known_key_spoils_the_note() -> None:
    note = sign(TEXT, NAME, SIGNER)
    wrong = f"— {NAME} {encode64(KEY.keyid + OTHER.sign(TEXT.encode()))}\n"
    with pytest.raises(SealError, match="does not match"):
        open_note(note + wrong.encode(), [KEY])


def test_a_signature_that_is_given_twice_counts_once() -> None:
    note = sign(TEXT, NAME, SIGNER)
    assert open_note(note + note.splitlines(keepends=True)[-1], [KEY]).names == (NAME,)


@given(at=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_never_verifies(at: int, bit: int) -> None:
    note = bytearray(sign(TEXT, NAME, SIGNER))
    note[at % len(note)] ^= 1 << bit
    with pytest.raises(SealError):
        open_note(bytes(note), [KEY])


@given(at=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_never_leaves_a_cosignature(at: int, bit: int) -> None:
    note = sign("o\n1\nr\n", NAME, SIGNER)
    line = bytearray(cosign_note(note, WITNESS.name, OTHER, 5))
    line[at % len(line)] ^= 1 << bit
    with pytest.raises(SealError):
        open_note(note + bytes(line), [WITNESS])


PIECES = st.sampled_from([b"\n", b"\n\n", "— ".encode(), NAME.encode(), b" ", b"AAAAAAA=", b"\x00", b"\xff", b"+"])


@given(note=st.one_of(st.binary(max_size=200), st.lists(st.one_of(PIECES, st.binary(max_size=5))).map(b"".join)))
def test_garbage_ends_in_the_named_error(note: bytes) -> None:
    with pytest.raises(SealError):
        open_note(note, [KEY, WITNESS])


@pytest.mark.parametrize(
    ("note", "message"),
    {
        "no signature": (b"text\n", "expected a text"),
        "no text": (b"\n", "expected a text"),
        "no newline at the end": (sign(TEXT, NAME, SIGNER)[:-1], "expected a text"),
        "a carriage return": (sign(TEXT, NAME, SIGNER).replace(b"\n", b"\r\n"), "control character"),
        "another dash": (sign(TEXT, NAME, SIGNER).replace("—".encode(), b"-"), "not a signature line"),
        "a plus in the name": ("a\n\n— a+b AAAAAAA=\n".encode(), "bad name"),
        "a space in the name": ("a\n\n— a\u00a0b AAAAAAA=\n".encode(), "bad name"),
        "only a key id": ("a\n\n— a AAAAAA==\n".encode(), "no signature"),
        "not base64": ("a\n\n— a ****\n".encode(), "not base64"),
        "loose base64": ("a\n\n— a AAAAAAB=\n".encode(), "not canonical"),
        "not UTF-8": (b"a\xff\n\n", "not UTF-8"),
        "too long": (b"a" * LONGEST_NOTE + b"\n\n", "too long"),
        "too many": (b"a\n\n" + "— a AAAAAAA=\n".encode() * (MOST_SIGNATURES + 1), "too many"),
    }.values(),
)
def test_a_malformed_note_is_refused_by_name(note: bytes, message: str) -> None:
    with pytest.raises(SealError, match=message):
        open_note(note, [KEY])


@pytest.mark.parametrize("text", ["no newline", "a\rb\n", "\ud800\n", "\t\n", ""])
def test_a_text_that_cannot_be_a_note_is_not_signed(text: str) -> None:
    with pytest.raises(SealError, match="text: "):
        sign(text, NAME, SIGNER)


@pytest.mark.parametrize("key", [KEY, WITNESS])
def test_a_key_written_as_one_word_reads_back(key: NoteKey) -> None:
    assert NoteKey.from_vkey(key.vkey) == key


def test_a_list_of_keys_has_one_on_each_line() -> None:
    assert read_vkeys(f"# ours\n{KEY.vkey}\n\n  {WITNESS.vkey}\n") == [KEY, WITNESS]
    with pytest.raises(SealError, match="the list is empty"):
        read_vkeys("# nothing yet\n")


@given(at=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_never_reads_as_a_key(at: int, bit: int) -> None:
    word = bytearray(KEY.vkey.encode())
    word[at % len(word)] ^= 1 << bit
    with pytest.raises(SealError):
        NoteKey.from_vkey(word.decode("latin-1"))


@given(word=st.text())
@example(word="a+00000000+")
@example(word=f"a+00000000+{encode64(bytes([9]) + bytes(32))}")
@example(word=f"a b+00000000+{encode64(bytes([1]) + bytes(32))}")
def test_what_is_no_key_is_refused_by_name(word: str) -> None:
    with pytest.raises(SealError, match="key"):
        NoteKey.from_vkey(word)


@pytest.mark.parametrize("time", [-1, 2**63])
def test_a_witness_signs_no_impossible_time(time: int) -> None:
    with pytest.raises(SealError, match="time: "):
        cosign_note(sign(TEXT, NAME, SIGNER), WITNESS.name, OTHER, time)

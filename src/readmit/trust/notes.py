"""Signed notes (c2sp.org/signed-note): a text, a blank line, and a line for each signature.

Two kinds of signature are known: Ed25519 over the text, and a witness's cosignature over a time and the text
(c2sp.org/tlog-cosignature). As the format demands, signatures of keys that the caller does not name are ignored. A
named key with a wrong signature makes the whole note invalid.

Heads of a log as text (c2sp.org/tlog-checkpoint): origin, number of leaves, root.

The text is signed as a note (``readmit.trust.notes``). It is called a log checkpoint here, because a *checkpoint*
is the record of an agent's departure.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.records.error_types import SealError
from readmit.trust.merkle import HASH_BYTES
from readmit.trust.private_keys import SIGNATURE_BYTES, decode64, encode64, matches, sign_with
from readmit.trust.trusted_keys import PUBLIC_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.trust.signer import Signer


LARGEST_TREE = 2**63 - 1

_CONTROL_IN_LINE = re.compile(r"[\x00-\x1f]")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_FIXED_LINES = 3


class LogCheckpoint(msgspec.Struct, frozen=True):
    """The head of a log at one size. ``extensions`` are lines that only the log understands."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (self.origin, *self.extensions):
            if not line or _CONTROL_IN_LINE.search(line):
                raise SealError(f"checkpoint: the line {line[:80]!r} is empty or holds a control character")
        if not 0 <= self.size <= LARGEST_TREE:
            raise SealError(f"checkpoint: {self.size} is not the size of a tree")
        if len(self.root) != HASH_BYTES:
            raise SealError(f"checkpoint: a root hash has {HASH_BYTES} bytes, not {len(self.root)}")

    @property
    def text(self) -> str:
        """The text to sign."""
        lines = "".join(f"{line}\n" for line in self.extensions) if self.extensions else ""
        return f"{self.origin}\n{self.size}\n{encode64(self.root)}\n{lines}"

    @classmethod
    def from_text(cls, text: str) -> LogCheckpoint:
        """Read a text. One that reads as a checkpoint is exactly the ``text`` of that checkpoint."""
        lines = text.split("\n")
        if len(lines) <= _FIXED_LINES or lines.pop():
            raise SealError("checkpoint: expected origin, size and root hash, each on a line of its own")
        return cls(
            lines[0], size_of(lines[1], "checkpoint"), decode64(lines[2], "checkpoint: root hash"), tuple(lines[3:])
        )


def size_of(text: str, field: str) -> int:
    """The number of leaves that a decimal without leading zeros says."""
    if not _NUMBER.fullmatch(text) or int(text) > LARGEST_TREE:
        raise SealError(f"{field}: {text[:80]!r} is not the size of a tree; write it in decimal without leading zeros")
    return int(text)


ED25519 = 0x01
COSIGNATURE = 0x04
LONGEST_NOTE = 65_536
MOST_SIGNATURES = 64
KEYID_BYTES = 4
TIME_BYTES = 8
LAST_TIME = 2**63 - 1

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_LINE = re.compile(r"— ([^ ]+) ([^ ]+)")
_HEX = re.compile(r"[0-9a-f]{8}")


class NoteKey(msgspec.Struct, frozen=True):
    """A public key under a name, for one kind of signature."""

    name: str
    public: bytes
    kind: int = ED25519

    def __post_init__(self) -> None:
        if not self.name or "+" in self.name or any(letter.isspace() for letter in self.name):
            raise SealError(f"key name: {self.name!r} cannot name a key; use a name without spaces and plus signs")
        _check(self.name, "key name")
        if len(self.public) != PUBLIC_BYTES:
            raise SealError(f"key {self.name}: an Ed25519 key has {PUBLIC_BYTES} bytes, not {len(self.public)}")
        if self.kind not in {ED25519, COSIGNATURE}:
            raise SealError(f"key {self.name}: signature type {self.kind} is not known; use an Ed25519 key (1 or 4)")

    @property
    def keyid(self) -> bytes:
        """The four bytes that, with the name, say which key made a signature."""
        return sha256(self.name.encode() + b"\n" + bytes((self.kind,)) + self.public).digest()[:KEYID_BYTES]

    @property
    def vkey(self) -> str:
        """The key as one word: name, key id and key, as other tools of the format read it."""
        return f"{self.name}+{self.keyid.hex()}+{encode64(bytes((self.kind,)) + self.public)}"

    @classmethod
    def from_vkey(cls, text: str) -> NoteKey:
        """Read one word of ``vkey``; ``SealError`` names its fault."""
        parts = text.split("+", 2)
        if len(parts) != 3 or not _HEX.fullmatch(parts[1]):  # noqa: PLR2004  name, id, key
            raise SealError(f"key: {text[:80]!r} is not of the form NAME+KEYID+KEY; copy the whole line")
        data = decode64(parts[2], "key")
        if not data:
            raise SealError("key: it is empty; copy the whole line")
        key = cls(parts[0], data[1:], data[0])
        if key.keyid.hex() != parts[1]:
            raise SealError(f"key {key.name}: the key id {parts[1]} is of another key or name; copy the whole line")
        return key


def read_vkeys(text: str) -> list[NoteKey]:
    """The keys of a list with one on each line; blank lines and those with a # are left out."""
    words = (line.strip() for line in text.splitlines())
    found = [NoteKey.from_vkey(word) for word in words if word and not word.startswith("#")]
    if not found:
        raise SealError("key: the list is empty; write one verifier key on each line")
    return found


class OpenedNote(NamedTuple):
    """A verified text and the names of the keys that signed it."""

    text: str
    names: tuple[str, ...]


class NoteSignature(NamedTuple):
    """A signature that verified. ``time`` is that of a cosignature, in seconds since 1970."""

    key: NoteKey
    time: int | None


@lru_cache(64)  # a log signs every commit under one name
def _signing(name: str, public: bytes) -> bytes:
    """The key id of an Ed25519 key under a name that can name one."""
    return NoteKey(name, public).keyid


def sign(text: str, name: str, signer: Signer) -> bytes:
    """A note of this text with one Ed25519 signature."""
    _check(text, "text")
    if not text.endswith("\n"):
        raise SealError("text: a note's text ends with a newline")
    keyid = _signing(name, signer.public)
    return f"{text}\n{_line(name, keyid + sign_with(signer, text.encode()))}".encode()


def cosign_note(note: bytes, name: str, signer: Signer, time: int) -> bytes:
    """The signature line by which a witness says that it saw this note at a time. The note itself is not checked."""
    if not 0 <= time <= LAST_TIME:
        raise SealError(f"time: {time} is not a number of seconds since 1970")
    key = NoteKey(name, signer.public, COSIGNATURE)
    text, _ = _parse(note)
    signature = sign_with(signer, _cosigned(text, time))
    return _line(name, key.keyid + time.to_bytes(TIME_BYTES, "big") + signature).encode()


def open_note(note: bytes, keys: Iterable[NoteKey]) -> OpenedNote:
    """The text, if at least one of the keys signed it and no signature of any of them is wrong; else ``SealError``."""
    text, found = verify_note(note, keys)
    if not found:
        raise SealError("note: none of the trusted keys signed it; name the key that it should be signed with")
    return OpenedNote(text, tuple(one.key.name for one in found))


def verify_note(note: bytes, keys: Iterable[NoteKey]) -> tuple[str, tuple[NoteSignature, ...]]:
    """The text and the signatures of these keys, in the order of the note; there may be none."""
    known = {(key.name, key.keyid): key for key in keys}
    text, signatures = _parse(note)
    found: list[NoteSignature] = []
    for name, data in signatures:
        key = known.get((name, data[:KEYID_BYTES]))
        if key is not None:
            one = NoteSignature(key, _verified(key, text, data[KEYID_BYTES:]))
            if all(other.key != key for other in found):
                found.append(one)
    return text, tuple(found)


def note_text(note: bytes) -> str:
    """The unverified text of a note. Use it only to find the key to verify with."""
    return _parse(note)[0]


def _parse(note: bytes) -> tuple[str, list[tuple[str, bytes]]]:
    """The text, and the name and bytes of each signature."""
    if len(note) > LONGEST_NOTE:
        raise SealError(f"note: {len(note)} bytes are too long; the limit is {LONGEST_NOTE}")
    try:
        whole = note.decode()
    except UnicodeDecodeError:
        raise SealError("note: not UTF-8") from None
    _check(whole, "note")
    text, separator, rest = whole.rpartition("\n\n")
    if not separator or not rest.endswith("\n"):
        raise SealError("note: expected a text, a blank line and signature lines, each with a newline at its end")
    lines = rest[:-1].split("\n")
    if len(lines) > MOST_SIGNATURES:
        raise SealError(f"note: {len(lines)} signatures are too many; the limit is {MOST_SIGNATURES}")
    return f"{text}\n", [_signature(line) for line in lines]


def _signature(line: str) -> tuple[str, bytes]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise SealError(f"note: {line[:80]!r} is not a signature line; expected an em dash, a name and a signature")
    name, encoded = match.groups()
    data = decode64(encoded, f"signature of {name}")
    if len(data) <= KEYID_BYTES or "+" in name or any(letter.isspace() for letter in name):
        raise SealError(f"note: the signature line of {name!r} has a bad name or no signature")
    return name, data


def _verified(key: NoteKey, text: str, data: bytes) -> int | None:
    """The time of a cosignature, None for a plain signature; ``SealError`` if it does not match."""
    time = None
    message = text.encode()
    if key.kind == COSIGNATURE:
        time, data = int.from_bytes(data[:TIME_BYTES], "big"), data[TIME_BYTES:]
        message = _cosigned(text, time)
    if len(data) != SIGNATURE_BYTES or not matches(key.public, data, message):
        raise SealError(f"note: the signature of {key.name} does not match; the note was altered")
    if time is not None and time > LAST_TIME:
        raise SealError(f"note: the cosignature of {key.name} has the impossible time {time}")
    return time


def _cosigned(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def _line(name: str, data: bytes) -> str:
    return f"— {name} {encode64(data)}\n"


def _check(text: str, field: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SealError(f"{field}: it holds a character that UTF-8 cannot encode") from None
    if _CONTROL.search(text):
        raise SealError(f"{field}: it holds a control character; only the newline is allowed")

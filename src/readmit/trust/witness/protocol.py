"""The request of c2sp.org/tlog-witness: a checkpoint, and the proof that it extends the one of the old size."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from readmit.records.error_types import SealError
from readmit.trust.ed25519 import decode64, encode64
from readmit.trust.merkle import HASH_BYTES
from readmit.trust.notes import LONGEST_NOTE
from readmit.trust.tlog import size_of

PATH = "/add-checkpoint"
MOST_HASHES = 63
SIZE_TYPE = "text/x.tlog.size"
TEXT_TYPE = "text/plain; charset=utf-8"
# A hash takes 44 characters of base64 and a newline; a line more says the old size.
LONGEST_REQUEST = LONGEST_NOTE + 45 * (MOST_HASHES + 1)


class WitnessRequest(msgspec.Struct, frozen=True):
    """A log's request for a cosignature. ``old`` is the last size that the witness cosigned."""

    old: int
    proof: tuple[bytes, ...]
    note: bytes

    def to_bytes(self) -> bytes:
        lines = (f"old {self.old}", *map(encode64, self.proof), "")
        return "".join(f"{line}\n" for line in lines).encode() + self.note

    @classmethod
    def from_bytes(cls, body: bytes) -> WitnessRequest:
        """Read a request strictly; ``SealError`` names its fault."""
        if len(body) > LONGEST_REQUEST:
            raise SealError(f"request: {len(body)} bytes are too long; the limit is {LONGEST_REQUEST}")
        head, blank, note = body.partition(b"\n\n")
        if not blank:
            raise SealError("request: expected an old size, a proof, a blank line and a checkpoint")
        try:
            first, *rest = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise SealError("request: the lines before the checkpoint are not ASCII") from None
        word, _, size = first.partition(" ")
        if word != "old":
            raise SealError("request: the first line is not `old` and a size")
        if len(rest) > MOST_HASHES:
            raise SealError(f"request: a proof has at most {MOST_HASHES} hashes")
        proof = tuple(decode64(line, "request: proof") for line in rest)
        if any(len(one) != HASH_BYTES for one in proof):
            raise SealError(f"request: each hash of the proof has {HASH_BYTES} bytes")
        return cls(size_of(size, "request: old size"), proof, note)


class WitnessAnswer(msgspec.Struct, frozen=True):
    """A witness's answer: an HTTP status and a body."""

    status: HTTPStatus
    body: bytes
    kind: str = TEXT_TYPE

"""Heads of a log as text (c2sp.org/tlog-checkpoint): origin, number of leaves, root.

The text is signed as a note (``readmit.trust.notes``). It is called a log checkpoint here, because a *checkpoint*
is the record of an agent's departure.
"""

from __future__ import annotations

import re

import msgspec

from readmit.records.error_types import SealError
from readmit.trust.ed25519 import decode64, encode64
from readmit.trust.merkle import HASH_BYTES

LARGEST_TREE = 2**63 - 1

_CONTROL = re.compile(r"[\x00-\x1f]")
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
            if not line or _CONTROL.search(line):
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

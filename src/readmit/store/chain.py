"""The hash chain of the log: each link covers a whole event and the link before it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.records.events import Draft, Event


def link_of(previous: bytes, epoch: int, entry: Draft | Event, at: str, learnt: str) -> bytes:
    """The link of an event."""
    head = "\n".join((str(epoch), entry.id, entry.kind, entry.by, at, learnt, entry.digest))
    return hashlib.sha256(previous + head.encode()).digest()


class LogEnd:
    """The end of a log while events are added to it: its epoch, its link, and when they are learnt."""

    __slots__ = ("_at", "_moment", "epoch", "learnt", "link")

    def __init__(self, epoch: int, link: bytes, now: datetime) -> None:
        self.epoch = epoch
        self.link = link
        self.learnt = now.isoformat()
        self._moment, self._at = now, self.learnt

    def row(self, base: int, entry: Draft) -> tuple[Any, ...]:
        """Move on by one event, and give its row."""
        # Events are often true from when they are learnt, and writing a moment out costs as much as hashing the event.
        if entry.at is not self._moment:
            self._moment, self._at = entry.at, entry.at.isoformat()
        self.epoch += 1
        at, learnt, body = self._at, self.learnt, bytearray(entry.body)
        self.link = link_of(self.link, self.epoch, entry, at, learnt)
        # The sqlite3 module takes plain strings and byte arrays as they are, and looks for adapters of anything else.
        link, kind = bytearray(self.link), str(entry.kind)
        return base + self.epoch, entry.id, kind, entry.by, at, learnt, body, entry.digest, link

"""The hash chain of the log: each link covers a whole event and the link before it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from readmit.store.sql import End

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.records.events import Draft, Event


def link_of(previous: bytes, epoch: int, entry: Draft | Event, at: str, learnt: str) -> bytes:
    """The link of an event."""
    head = "\n".join((str(epoch), entry.id, entry.kind, entry.by, at, learnt, entry.digest))
    return hashlib.sha256(previous + head.encode()).digest()


class LogEnd:
    """The end of a log while events are added to it: its epoch, its link, and when they are learnt."""

    __slots__ = ("_at", "_before", "_moment", "epoch", "learnt", "link")

    def __init__(self, before: End, now: datetime) -> None:
        self.epoch = before.epoch
        self.link = before.link
        self.learnt = now.isoformat()
        self._before = before.learnt
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

    def moved(self) -> End:
        """Where the log ends now. Its last moment never goes back, whatever the clock does."""
        # Moments are written in UTC, so that as texts they are in the order of time.
        learnt = self.learnt if self._before is None else max(self._before, self.learnt)
        return End(self.epoch, self.link, learnt)

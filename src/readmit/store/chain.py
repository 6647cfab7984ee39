"""The hash chain of the log: each link covers a whole event and the link before it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.store.sql import End

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.records.drafts import Draft
    from readmit.records.events import Event

# As in RFC 3339, within quotes and with a Z for UTC.
_encode = msgspec.json.Encoder().encode


def link_of(previous: bytes, epoch: int, entry: Draft | Event, at: str, learnt: str) -> bytes:
    """The link of an event."""
    head = "\n".join((str(epoch), entry.id, entry.kind, entry.by, at, learnt, entry.digest))
    return hashlib.sha256(previous + head.encode()).digest()


def written(moment: datetime) -> str:
    """A moment in UTC as ``isoformat`` writes it, in a third of the time, which matters in a batch."""
    return f"{_encode(moment)[1:-2].decode()}+00:00"


class LogEnd:
    """The end of a log during an append: its epoch, its link, and the moment new events are learnt."""

    __slots__ = ("_at", "_last", "_moment", "epoch", "learnt", "link")

    def __init__(self, before: End) -> None:
        self.epoch = before.epoch
        self.link = before.link
        self._last = before.learnt
        self.learnt = ""
        self._moment: datetime | None = None
        self._at = ""

    def learn(self, now: datetime) -> None:
        """Set the moment at which the next events are learnt."""
        self.learnt = self._at = written(now)
        self._moment = now
        # Moments are stored as UTC text, which sorts by time. The last one never decreases.
        if self._last is None or self._last < self.learnt:
            self._last = self.learnt

    def row(self, base: int, entry: Draft) -> tuple[Any, ...]:
        """Advance by one event and return its row."""
        # Many events are true from when they are learnt, and formatting a moment costs as much as hashing the event.
        if entry.at is not self._moment:
            self._moment, self._at = entry.at, written(entry.at)
        self.epoch += 1
        at, learnt, body = self._at, self.learnt, bytearray(entry.body)
        self.link = link_of(self.link, self.epoch, entry, at, learnt)
        # The sqlite3 module binds plain strings and byte arrays directly, and searches for an adapter for other types.
        link, kind = bytearray(self.link), str(entry.kind)
        return base + self.epoch, entry.id, kind, entry.by, at, learnt, body, entry.digest, link

    @property
    def last(self) -> str:
        """The last moment that the log has learnt. It never decreases, whatever a writer's clock says."""
        return self._last or self.learnt

    def moved(self) -> End:
        """Where the log ends now."""
        return End(self.epoch, self.link, self._last)

"""The end of a log while events are appended to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.records.commits import event_data
from readmit.records.tree import leaf_hash
from readmit.store.sql import End

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from readmit.records.commits import Bound
    from readmit.records.drafts import Draft

# As in RFC 3339, within quotes and with a Z for UTC.
_encode = msgspec.json.Encoder().encode


class Appended(NamedTuple):
    """An event that is being appended: its row and its leaf."""

    row: tuple[Any, ...]
    leaf: bytes


def written(moment: datetime) -> str:
    """A moment in UTC as ``isoformat`` writes it, in a third of the time, which matters in a batch."""
    return f"{_encode(moment)[1:-2].decode()}+00:00"


class LogEnd:
    """The end of a log during an append: its epoch, and the moment new events are learnt."""

    __slots__ = ("_at", "_last", "_moment", "epoch", "learnt")

    def __init__(self, before: End) -> None:
        self.epoch = before.epoch
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

    def add(self, base: int, entry: Draft, bound: Sequence[Bound] = ()) -> Appended:
        """Advance by one event."""
        # Many events are true from when they are learnt, and formatting a moment costs as much as hashing the event.
        if entry.at is not self._moment:
            self._moment, self._at = entry.at, written(entry.at)
        self.epoch += 1
        at, learnt, kind = self._at, self.learnt, str(entry.kind)
        leaf = leaf_hash(
            event_data(self.epoch, entry.id, kind, entry.by, at, learnt, entry.digest, entry.signature, bound)
        )
        # The sqlite3 module binds plain strings and byte arrays directly, and searches for an adapter for other types.
        row = (
            base + self.epoch, entry.id, kind, entry.by, at, learnt, bytearray(entry.body), entry.digest,
            bytearray(leaf), entry.signature,
        )  # fmt: skip
        return Appended(row, leaf)

    @property
    def last(self) -> str:
        """The last moment that the log has learnt. It never decreases, whatever a writer's clock says."""
        return self._last or self.learnt

    def moved(self) -> End:
        """Where the log ends now."""
        return End(self.epoch, self._last)

"""The end of a log while events are appended to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.log.engines.sql import End
from readmit.records.acts.event import EventKind
from readmit.trust.commit_record import Bound, event_data
from readmit.trust.merkle import leaf_hash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from readmit.records.acts.draft import Draft

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
    """The end of a log during an append: its epoch, and the last moment that it has learnt.

    That moment never decreases along the log, whatever a writer's clock says, so it orders events by position. Only a
    voided date sets it back.
    """

    __slots__ = ("_at", "_last", "_moment", "_now", "epoch")

    def __init__(self, before: End) -> None:
        self.epoch = before.epoch
        self._last = before.learnt
        self._now = ""
        self._moment: datetime | None = None
        self._at = ""

    def learn(self, now: datetime) -> None:
        """Set the clock at which the next events arrive."""
        self._now = self._at = written(now)
        self._moment = now

    def add(self, base: int, entry: Draft, bound: Sequence[Bound] = (), *, moves: bool) -> Appended:
        """Advance by one event. ``moves``: its writer's clock may move the log's moment."""
        # Most events are true from when they arrive, and formatting a moment costs as much as hashing the event.
        if entry.at is not self._moment:
            self._moment, self._at = entry.at, written(entry.at)
        # Moments are stored as UTC text, which sorts by time.
        if self._last is None or (moves and self._last < self._now) or entry.kind is EventKind.VOID:
            self._last = self._now
        self.epoch += 1
        at, given, learnt, kind = self._at, int(entry.given), self._last, str(entry.kind)
        leaf = leaf_hash(
            event_data(self.epoch, entry.id, kind, entry.by, at, given, learnt, entry.digest, entry.signature, bound)
        )
        # The sqlite3 module binds plain strings and byte arrays directly, and searches for an adapter for other types.
        row = (
            base + self.epoch, entry.id, kind, entry.by, at, learnt, bytearray(entry.salt + entry.body), entry.digest,
            bytearray(leaf), entry.signature, given,
        )  # fmt: skip
        return Appended(row, leaf)

    @property
    def last(self) -> str:
        """The last moment that the log has learnt."""
        return self._last or self._now

    def moved(self) -> End:
        """Where the log ends now."""
        return End(self.epoch, self._last)

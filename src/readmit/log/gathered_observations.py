"""Observations of an open transaction, written together: one by one, each costs twice as much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.log.log_end import Appended, LogEnd
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from readmit.log.engines.sql import End
    from readmit.records.acts.draft import Draft

_MOST = 10_000


class Gathered:
    """Consecutive observations whose ids are new to the log."""

    __slots__ = ("_base", "_before", "_end", "_entries", "_rows", "_taken", "_write")

    def __init__(self, before: End, base: int, write: Callable[[Sequence[Draft], Sequence[Appended]], None]) -> None:
        self._before = before.epoch
        self._end = LogEnd(before)
        self._base = base
        self._write = write
        self._entries: list[Draft] = []
        self._rows: list[Appended] = []
        self._taken: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether to write them now: more would only use memory."""
        return len(self._rows) >= _MOST

    def has(self, entry: Draft) -> bool:
        """Whether an observation with this id is waiting."""
        return entry.id in self._taken

    def add(self, entry: Draft, now: datetime, *, moves: bool) -> End:
        """Add one and return where the log then ends."""
        self._end.learn(now)
        appended = self._end.add(self._base, entry, moves=moves)
        self._entries.append(entry)
        self._rows.append(appended)
        self._taken.add(entry.id)
        return self._end.moved()

    def write(self) -> None:
        """Write all of them."""
        if not len(self._rows) == len(self._entries) == self._end.epoch - self._before:
            raise StoreError("an observation of this batch was interrupted half-way: undo the batch and repeat it")
        if self._entries:
            self._write(self._entries, self._rows)

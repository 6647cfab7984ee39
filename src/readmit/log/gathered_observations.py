"""Observations of an open transaction, written together: one by one, each costs twice as much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.log.log_end import LogEnd
from readmit.records.error_types import StoreError
from readmit.records.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from readmit.log.engines.sql import End
    from readmit.log.log_end import Appended
    from readmit.records.acts.draft import Draft

_MOST = 10_000
_SHORT = 600


def may_wait(entry: Draft) -> bool:
    """Whether every database accepts the content of this observation.

    A write that fails must fail in its own call and leave the batch as it was. PostgreSQL refuses keys of more than
    2,704 bytes, and long task, principal and role names can exceed that.
    """
    if not isinstance(entry.payload, Evidence):
        return False
    scope = entry.payload.scope
    return len(scope.task or "") + sum(map(len, scope.principals)) + sum(map(len, scope.roles)) <= _SHORT


class Gathered:
    """Consecutive observations whose ids and texts are new to the log."""

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
        """Whether an observation with this id or text is waiting."""
        return entry.id in self._taken or entry.digest in self._taken

    def add(self, entry: Draft, now: datetime, *, moves: bool) -> End:
        """Add one and return where the log then ends."""
        self._end.learn(now)
        appended = self._end.add(self._base, entry, moves=moves)
        self._entries.append(entry)
        self._rows.append(appended)
        self._taken.add(entry.id)
        self._taken.add(entry.digest)
        return self._end.moved()

    def write(self) -> None:
        """Write all of them."""
        if not len(self._rows) == len(self._entries) == self._end.epoch - self._before:
            raise StoreError("an observation of this batch was interrupted half-way: undo the batch and repeat it")
        if self._entries:
            self._write(self._entries, self._rows)

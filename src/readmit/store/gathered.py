"""Observations of an open transaction that are written together: one by one, each would cost twice as much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.records.errors import StoreError
from readmit.records.evidence import Evidence
from readmit.store.chain import LogEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from readmit.records.drafts import Draft
    from readmit.store.sql import End

_MOST = 10_000
_SHORT = 600


def may_wait(entry: Draft) -> bool:
    """Whether no database can refuse it for what it says.

    What a call writes must fail with that call if it fails, and leave the batch as it was. PostgreSQL refuses keys of
    more than 2,704 bytes, which long names of a task, a principal and a role can come to.
    """
    if not isinstance(entry.payload, Evidence):
        return False
    scope = entry.payload.scope
    return len(scope.task or "") + sum(map(len, scope.principals)) + sum(map(len, scope.roles)) <= _SHORT


class Gathered:
    """They follow one another in the log, and what they are called and say is new to it."""

    __slots__ = ("_base", "_before", "_end", "_entries", "_rows", "_taken", "_write")

    def __init__(
        self, before: End, base: int, write: Callable[[Sequence[Draft], Sequence[tuple[Any, ...]]], None]
    ) -> None:
        self._before = before.epoch
        self._end = LogEnd(before)
        self._base = base
        self._write = write
        self._entries: list[Draft] = []
        self._rows: list[tuple[Any, ...]] = []
        self._taken: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether more would gain nothing: their values stay in memory."""
        return len(self._rows) >= _MOST

    def has(self, entry: Draft) -> bool:
        """Whether its name or its text is among them."""
        return entry.id in self._taken or entry.digest in self._taken

    def add(self, entry: Draft, now: datetime) -> End:
        """Take one in, and say where the log ends with it."""
        self._end.learn(now)
        row = self._end.row(self._base, entry)
        self._entries.append(entry)
        self._rows.append(row)
        self._taken.add(entry.id)
        self._taken.add(entry.digest)
        return self._end.moved()

    def write(self) -> None:
        """Write all of them."""
        if not len(self._rows) == len(self._entries) == self._end.epoch - self._before:
            raise StoreError("an observation of this batch was interrupted half-way: undo the batch and repeat it")
        if self._entries:
            self._write(self._entries, self._rows)

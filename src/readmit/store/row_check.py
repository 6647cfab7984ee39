"""Checks the tables that the signed map does not cover, against the events that they are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.events import EventKind
from readmit.records.items import decode_item
from readmit.records.kinds import KINDS
from readmit.records.wording import counted
from readmit.store.indexes import DEPENDENCY, SLOT, binds_others, stored_rows
from readmit.store.schema import SHIFT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.store.log_check import LogCheck
    from readmit.store.sql import Sql

# Which writer and when. What exactly an event ended, only building the index again shows.
_ENDED = """
    SELECT invalidation.by, invalidation.learnt, invalidation.epoch, invalidation.ended, event.learnt
    FROM invalidation LEFT JOIN event ON event.pos = ? + invalidation.epoch AND event.by = invalidation.by
    WHERE invalidation.ws = ? ORDER BY invalidation.by, invalidation.learnt, invalidation.epoch
"""
_HELD = """
    SELECT count(*) FROM holder LEFT JOIN event ON event.pos = ? + holder.epoch
    WHERE holder.ws = ? AND (event.kind IS NULL OR event.kind NOT IN ({}))
"""
_ITEMS = frozenset(str(kind) for kind in KINDS.values() if kind.prefix == EventKind.RECORD.prefix)


class _Scope(msgspec.Struct, gc=False):
    visibility: str = "team"


class _Terms(msgspec.Struct, gc=False):
    """What an item defines, read without the rest of it."""

    scope: _Scope
    slot: str | None = None
    supports: tuple[str, ...] = ()


_terms = msgspec.json.Decoder(_Terms).decode


class RowCheck:
    """The other tables of one workspace. Sees every event once, then compares."""

    def __init__(self, sql: Sql, ws: int, problems: list[str]) -> None:
        self._sql = sql
        self._ws = ws
        self._problems = problems
        # Hashes only: a team may use as many names as it has items. Python's hash of a text has a secret key.
        self._terms: set[int] = set()
        self._duties: list[tuple[str, str, int]] = []
        self._acts: set[tuple[str, str, int]] = set()
        self._invalidating = {str(kind) for kind in KINDS.values() if kind.invalidates}
        self._voids: list[tuple[int, str]] = []
        """The voids, with the moments that they set the log back to."""

    def event(self, epoch: int, kind: str, by: str, learnt: str, body: bytes) -> None:
        """Take note of what one event implies."""
        if kind in _ITEMS:
            item = _terms(body)
            if item.scope.visibility != "private":
                if item.slot is not None:
                    self._terms.add(hash((item.slot, SLOT)))
                for name in item.supports:
                    self._terms.add(hash((name, DEPENDENCY)))
            if kind == EventKind.OPEN and binds_others(decode_item(body)):
                self._duties.append((by, learnt, epoch))
        elif kind == EventKind.VOID:
            self._voids.append((epoch, learnt))
        elif kind in self._invalidating:
            self._acts.add((by, learnt, epoch))

    def run(self, log: LogCheck) -> None:
        """Compare what the events imply with what is stored. Only after a pass over all events."""
        for index, expected in (("name", log.epoch), ("filed", log.filed), ("binding", log.bound)):
            self._count(index, expected)
        self._check_terms()
        duties = sorted((by, self._counted(epoch, learnt), epoch) for by, learnt, epoch in self._duties)
        if duties != list(stored_rows(self._sql, self._ws, "duty")):
            self._problems.append("the index 'duty' has other rows than the log implies")
        self._check_ended()
        marks = ", ".join("?" * len(_ITEMS))
        held = self._sql.execute(_HELD.format(marks), (self._ws << SHIFT, self._ws, *_ITEMS))
        if more := held.fetchone()[0]:
            self._problems.append(f"the index 'holder' has {counted(more, 'row')} of events that are no items")

    def _check_ended(self) -> None:
        """Every act against an item counts for its writer, whose total only grows."""
        writer, total = "", 0
        acts = {(by, self._counted(epoch, learnt), epoch) for by, learnt, epoch in self._acts}
        for by, learnt, epoch, ended, when in self._sql.execute(_ENDED, (self._ws << SHIFT, self._ws)):
            if by != writer:
                writer, total = by, 0
            if when is None or learnt != self._counted(epoch, when) or ended <= total:
                self._problems.append(
                    f"the index 'invalidation' has a row for event {epoch} that the log does not imply"
                )
            total = ended
            acts.discard((by, learnt, epoch))
        if acts:
            self._problems.append(f"the index 'invalidation' lacks {_first(sorted(acts))}")

    def _counted(self, epoch: int, learnt: str) -> str:
        """The moment that an event counts from: no later than a void after it."""
        return min((learnt, *(moment for void, moment in self._voids if void > epoch)))

    def _count(self, table: str, expected: int) -> bool:
        (found,) = self._sql.execute(f"SELECT count(*) FROM {table} WHERE ws = ?", (self._ws,)).fetchone()
        if found != expected:
            self._problems.append(f"the index {table!r} has {counted(found, 'row')}, and the log implies {expected}")
        return bool(found == expected)

    def _check_terms(self) -> None:
        beyond = [row for row in stored_rows(self._sql, self._ws, "term") if hash(row) not in self._terms]
        if beyond:
            self._problems.append(f"the index 'term' has, beyond what the log implies, {_first(beyond)}")
        self._count("term", len(self._terms) + len(beyond))


def _first(rows: Iterable[Any]) -> str:
    listed = list(rows)
    return f"{counted(len(listed), 'row')}, the first with {', '.join(map(repr, listed[0]))}"

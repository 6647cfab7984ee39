"""Checks the tables that the signed map does not cover, against the events that they are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.ports.backend import Entry
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

# Which writer, not before the event was learnt. What exactly an event ended, only building the index again shows.
_ENDED = """
    SELECT invalidation.by, invalidation.learnt, invalidation.epoch, invalidation.ended, event.kind
    FROM invalidation LEFT JOIN event
    ON event.pos = ? + invalidation.epoch AND event.by = invalidation.by AND event.learnt <= invalidation.learnt
    WHERE invalidation.ws = ? ORDER BY invalidation.by, invalidation.learnt, invalidation.epoch
"""
_HELD = """
    SELECT count(*) FROM holder LEFT JOIN event ON event.pos = ? + holder.epoch
    WHERE holder.ws = ? AND (event.kind IS NULL OR event.kind NOT IN ({}))
"""
_SOURCES = "SELECT backend, record, body FROM source WHERE ws = ?"
_EVIDENCE = "SELECT backend, record, digest FROM source_evidence WHERE ws = ?"
_ITEMS = frozenset(str(kind) for kind in KINDS.values() if kind.prefix == EventKind.RECORD.prefix)


class _Scope(msgspec.Struct, gc=False):
    visibility: str = "team"


class _Terms(msgspec.Struct, gc=False):
    """What an item defines, read without the rest of it."""

    scope: _Scope
    slot: str | None = None
    supports: tuple[str, ...] = ()


_terms = msgspec.json.Decoder(_Terms).decode
_entry = msgspec.json.Decoder(Entry).decode


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
        self._last = ""
        """The last moment that the log has learnt, which no writer's clock sets back."""

    def event(self, epoch: int, kind: str, by: str, learnt: str, body: bytes) -> None:
        """Take note of what one event implies."""
        self._last = max(self._last, learnt)
        if kind in _ITEMS:
            item = _terms(body)
            if item.scope.visibility != "private":
                if item.slot is not None:
                    self._terms.add(hash((item.slot, SLOT)))
                for name in item.supports:
                    self._terms.add(hash((name, DEPENDENCY)))
            if kind == EventKind.OPEN and binds_others(decode_item(body)):
                self._duties.append((by, self._last, epoch))
        elif kind in self._invalidating:
            self._acts.add((by, self._last, epoch))

    def run(self, log: LogCheck) -> None:
        """Compare what the events imply with what is stored. Only after a pass over all events."""
        for index, expected in (("name", log.epoch), ("filed", log.filed), ("binding", log.bound)):
            self._count(index, expected)
        self._check_terms()
        if sorted(self._duties) != list(stored_rows(self._sql, self._ws, "duty")):
            self._problems.append("the index 'duty' has other rows than the log implies")
        self._check_ended()
        marks = ", ".join("?" * len(_ITEMS))
        held = self._sql.execute(_HELD.format(marks), (self._ws << SHIFT, self._ws, *_ITEMS))
        if more := held.fetchone()[0]:
            self._problems.append(f"the index 'holder' has {counted(more, 'row')} of events that are no items")
        self._check_sources()

    def _check_ended(self) -> None:
        """Every act against an item counts for its writer, whose total only grows."""
        writer, total = "", 0
        for by, learnt, epoch, ended, kind in self._sql.execute(_ENDED, (self._ws << SHIFT, self._ws)):
            if by != writer:
                writer, total = by, 0
            if kind is None or ended <= total:
                self._problems.append(
                    f"the index 'invalidation' has a row for event {epoch} that the log does not imply"
                )
            total = ended
            self._acts.discard((by, learnt, epoch))
        if self._acts:
            self._problems.append(f"the index 'invalidation' lacks {_first(sorted(self._acts))}")

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

    def _check_sources(self) -> None:
        implied = {
            (backend, record, one.ref)
            for backend, record, body in self._sql.execute(_SOURCES, (self._ws,))
            for one in _entry(body).bindings
            if one.of == "evidence"
        }
        stored = [tuple(row) for row in self._sql.execute(_EVIDENCE, (self._ws,))]
        if len(stored) != len(implied) or not implied.issuperset(stored):
            self._problems.append("the table 'source_evidence' has other rows than the table 'source' implies")


def _first(rows: Iterable[Any]) -> str:
    listed = list(rows)
    return f"{counted(len(listed), 'row')}, the first with {', '.join(map(repr, listed[0]))}"

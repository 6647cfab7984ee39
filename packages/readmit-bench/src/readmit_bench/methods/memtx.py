"""MemTX: every row is a belief transaction; the view is what is committed.

A row starts raw and climbs to tentative, validated and committed through four checks, in this order:

1. evidence: confidence ≥ 0.6 or source authority ≥ 0.9;
2. its validity interval contains now;
3. conflict with a committed row of the same slot and another value. Rows whose times do not overlap
   coexist. A competitor committed after the writer's snapshot aborts the late write. The same source
   supersedes itself. Across sources higher authority supersedes, lower aborts, equal quarantines both;
4. dependencies: every ancestor is committed, and no ancestor's scope is narrower than the row's.

An unsettled conflict (3) quarantines both rows whether or not (4) would have held. A row supersedes only once it is
committed: one that fails (4) supersedes nothing.

A ``supersedes`` link supersedes its target directly. A deletion revokes the rows of its slot. Retraction
cascades by type: what depends on a revoked row is revoked, what depends on a superseded or quarantined
row is quarantined until it is written again. (The state "action-safe", a commitment good enough for an
irreversible act, plays no part in the view.) As the paper adapts it, every row has confidence 0.75 and
authority 0.5. No model call.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from typing import TYPE_CHECKING

from readmit_bench.episodes import View
from readmit_bench.methods.memstrata import fingerprint, key
from readmit_bench.methods.method import retrieved

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint, Row

MIN_CONFIDENCE = 0.6
MIN_AUTHORITY = 0.9


class State(Enum):
    """Where a belief stands."""

    RAW = "raw"
    TENTATIVE = "tentative"
    VALIDATED = "validated"
    COMMITTED = "committed"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"


class MemTX:
    """Only committed beliefs are shown."""

    name = "MemTX"

    def view(self, checkpoint: Checkpoint) -> View:
        states = Beliefs(checkpoint.rows, checkpoint.now).states
        committed = {row for row, state in states.items() if state is State.COMMITTED}
        return View(method=self.name, rows=retrieved(checkpoint, committed))


class Beliefs:
    """The rows of one checkpoint, written one after the other."""

    def __init__(self, rows: tuple[Row, ...], now: int) -> None:
        self._now = now
        self._rows = {row.id: row for row in rows}
        self._slots: defaultdict[str, list[str]] = defaultdict(list)
        self.states: dict[str, State] = {}
        for row in sorted(rows, key=lambda r: (r.at, r.id)):
            self._write(row)

    def _write(self, row: Row) -> None:
        for linked in row.supersedes:
            self._retract(linked, State.SUPERSEDED)
        if row.operation == "delete":
            for other in self._committed_in_slot(row):
                self._retract(other.id, State.REVOKED)
            self.states[row.id] = State.RAW
            return
        self.states[row.id] = self._checked(row)
        self._slots[key(row)].append(row.id)

    def _checked(self, row: Row) -> State:
        if row.invalidated:
            return State.REVOKED
        if row.confidence < MIN_CONFIDENCE and row.authority < MIN_AUTHORITY:
            return State.RAW
        if not row.holds_at(self._now):
            return State.TENTATIVE
        rivals = [r for r in self._committed_in_slot(row) if _overlap(r, row) and not _same_value(r, row)]
        if any(_aborts(rival, row) for rival in rivals):
            return State.VALIDATED
        equals = [rival for rival in rivals if not _yields(rival, row)]
        for rival in equals:
            self._retract(rival.id, State.QUARANTINED)
        if equals:
            return State.QUARANTINED
        if not self._stable(row):
            return State.VALIDATED
        for rival in rivals:
            self._retract(rival.id, State.SUPERSEDED)
        return State.COMMITTED

    def _stable(self, row: Row) -> bool:
        return all(
            self.states.get(parent) is State.COMMITTED and _within(row.scope, self._rows[parent].scope)
            for parent in row.depends_on
        )

    def _committed_in_slot(self, row: Row) -> list[Row]:
        return [self._rows[other] for other in self._slots[key(row)] if self.states[other] is State.COMMITTED]

    def _retract(self, target: str, state: State) -> None:
        if self.states.get(target) not in (State.COMMITTED, State.QUARANTINED):
            return
        self.states[target] = state
        below = State.REVOKED if state is State.REVOKED else State.QUARANTINED
        for child in self._rows.values():
            if target in child.depends_on and self.states.get(child.id) is State.COMMITTED:
                self._retract(child.id, below)


def _aborts(rival: Row, row: Row) -> bool:
    """Whether a committed rival turns the write away instead of yielding to it."""
    unseen = row.snapshot is not None and rival.at > row.snapshot
    return unseen or (rival.source != row.source and rival.authority > row.authority)


def _yields(rival: Row, row: Row) -> bool:
    """Whether a committed rival gives way to the write: its own source's, or one of higher authority."""
    return rival.source == row.source or row.authority > rival.authority


def _overlap(one: Row, other: Row) -> bool:
    first, second = (one, other) if one.start <= other.start else (other, one)
    return first.valid_until is None or second.start < first.valid_until


def _same_value(one: Row, other: Row) -> bool:
    return fingerprint(one.text) == fingerprint(other.text)


def _within(scope: tuple[str, ...], parent: tuple[str, ...]) -> bool:
    """Whether a scope is no wider than its parent's. An empty scope means everyone."""
    return not parent or (bool(scope) and set(scope) <= set(parent))

"""Counts the statements that an event ends, and keeps the last statement about a slot or an obligation.

An act counts for every item that it names, one's own included. An item counts for every statement of another
writer that it replaces in its slot, or as the frontier of its obligation: updating what one wrote oneself is ordinary
work. What no longer stands for another reason counts too, because an overruling may have brought it back.

What was stated last is in the signed map alone, as the epoch of an item and the digest of its body.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.log.engines.sql import SHIFT, SqlSession, chunks
from readmit.log.indexes.audience import ANY
from readmit.log.indexes.stated import FRONTIER, TERM, LastStatements
from readmit.log.indexes.totals import ENDED, WriterTotals
from readmit.log.tree.remnants import is_remnant
from readmit.records.acts.event import Link, Resolve
from readmit.records.canonical import SALT_BYTES, digest
from readmit.records.error_types import TamperedError
from readmit.records.items import Frontier, Item, Obligation, decode_item
from readmit.records.same_statement import same_statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.tree.commits import Commits
    from readmit.records.acts.draft import Draft
    from readmit.records.acts.kinds import DeclaredKind

_BODIES = "SELECT pos, body FROM event WHERE pos IN"


class Holding(NamedTuple):
    """The subject of an item: a slot or an obligation, on a task, for a use."""

    about: str
    name: str
    task: str
    readers: str


class Ending(NamedTuple):
    """How many things an event ends, and the place that it takes."""

    ends: int
    takes: Holding | None = None


_NOTHING = Ending(0)


class Endings:
    """Statements ended by the events of one workspace."""

    def __init__(self, sql: SqlSession, ws: int, commits: Commits) -> None:
        self._sql = sql
        self._base = ws << SHIFT
        self._commits = commits
        self._stated = LastStatements(commits)
        self._totals = WriterTotals(commits)

    def of(self, kind: DeclaredKind, payload: object, about: tuple[str, ...]) -> Ending:
        """Statements that an event at the end of the log ends."""
        match payload:
            case Item() as item:
                return self._of_item(item)
            case Resolve(keep=keep):
                return Ending(max(1, len(set(about).difference(keep))))
            case Link(withdrawn=True):
                return Ending(1)
        return Ending(max(1, len(about))) if kind.invalidates else _NOTHING

    def file(self, epoch: int, draft: Draft, learnt: str, ending: Ending) -> None:
        """Store the statements that an event ended, and the event as the last statement."""
        if ending.takes is not None:
            self._stated.state(*ending.takes, (epoch, bytes.fromhex(draft.digest)))
        if ending.ends:
            self._totals.add(ENDED, draft.by, epoch, learnt, ending.ends)

    def _of_item(self, item: Item) -> Ending:
        place = _place(item)
        if place is None:
            return _NOTHING
        held = self._held(place)
        # A repetition does not take over: otherwise its author could go on to replace "its own" statement.
        repeats = any(same_statement(other, item) and _place(other) == place for other in held)
        return Ending(sum(_replaces(item, other) for other in held), None if repeats else place)

    def _held(self, place: Holding) -> list[Item]:
        """The last statements about the same subject, on the same task or on every task."""
        about, name, task, _ = place
        every = self._stated.on(about, name, ANY)
        stated = [*every.last.values()]
        for one in [task] if task else self._stated.tasks(about, name, every.tasks):
            stated += self._stated.on(about, name, one).last.values()
        return self._items(stated)

    def _items(self, stated: Iterable[tuple[int, bytes]]) -> list[Item]:
        """The items at some epochs, compared with the digests of their bodies."""
        wanted = {self._base + epoch: digest_ for epoch, digest_ in stated}
        found: dict[int, bytes] = {}
        for marks, part in chunks(wanted):
            found |= dict(self._sql.execute(f"{_BODIES} ({marks})", part).fetchall())
        if wanted.keys() != found.keys() or not all(
            hashlib.sha256(body).digest() == wanted[pos] or is_remnant(self._commits, pos - self._base, body)
            for pos, body in found.items()
        ):
            raise TamperedError("what was stated last about a slot or a duty: an event was altered or removed")
        return [decode_item(body[SALT_BYTES:]) for body in found.values()]


def _place(item: Item) -> Holding | None:
    """Where an item replaces others. One without evidence replaces nothing."""
    if not item.receipts or isinstance(item, Obligation):
        return None
    scope = item.scope
    task = scope.task or ANY
    uses: tuple[Any, ...] = (scope.principals, item.purposes, item.applies_to)
    readers = digest(tuple(sorted(set(one)) for one in uses))[:32] if any(uses) else ANY
    if isinstance(item, Frontier):
        return Holding(FRONTIER, item.obligation, task, readers)
    return None if item.slot is None else Holding(TERM, item.slot, task, readers)


def _replaces(item: Item, other: Item) -> bool:
    """Whether an item ends another writer's statement for somebody other than its own author."""
    return (
        other.by != item.by
        and set(item.scope.principals) != {item.by}
        and _overlap(item.scope.principals, other.scope.principals)
        and _overlap(item.purposes, other.purposes)
        and _overlap(item.applies_to, other.applies_to)
        and not same_statement(item, other)
    )


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two lists of names, of which an empty one means everything, have something in common."""
    return not one or not other or not set(one).isdisjoint(other)

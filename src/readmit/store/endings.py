"""How much an event ends: the index behind the limits of a writer.

An act counts for every item that it names, one's own included. An item counts for every statement of another
writer that it replaces in its slot, or as the frontier of its obligation: updating what one wrote oneself is ordinary
work. What no longer stands for another reason counts too, because an overruling may have brought it back.

``invalidation`` holds each writer's running total, so that a window is the difference of two rows. ``holder`` holds
what was stated last about a slot or an obligation, for each task and use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.records.canonical import digest
from readmit.records.events import Link, Resolve
from readmit.records.items import Frontier, Item, Obligation, decode_item
from readmit.records.statements import same_statement
from readmit.store.audience import ANY
from readmit.store.schema import SHIFT

if TYPE_CHECKING:
    from readmit.records.kinds import DeclaredKind
    from readmit.store.sql import Sql

SLOT, FRONTIER = "slot", "frontier"
_HELD = "SELECT body FROM event WHERE pos IN (SELECT ? + epoch FROM holder WHERE ws = ? AND use = ? AND name = ?{})"
_ON_EVERY_TASK, _ON_TASK = _HELD.format(""), _HELD.format(" AND task IN (?, ?)")
_HOLD = """
    INSERT INTO holder VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (ws, use, name, task, readers) DO UPDATE SET epoch = excluded.epoch
"""
_LAST = "SELECT ended FROM invalidation WHERE ws = ? AND by = ?{} ORDER BY learnt DESC, epoch DESC LIMIT 1"
_END = f"INSERT INTO invalidation SELECT ?, ?, ?, ?, ? + coalesce(({_LAST.format('')}), 0)"
_ENDED = f"""
    SELECT coalesce(({_LAST.format("")}), 0) - coalesce(({_LAST.format(" AND learnt <= ?")}), 0)
"""


def ended(sql: Sql, ws: int, by: str, since: str) -> int:
    """How much the events of a principal ended since a moment."""
    (count,) = sql.execute(_ENDED, (ws, by, ws, by, since)).fetchone()
    return int(count)


class Holding(NamedTuple):
    """What an item states something about: a slot or an obligation, on a task, for a use."""

    use: str
    name: str
    task: str
    readers: str


class Ending(NamedTuple):
    """How many things an event ends, and the place that it takes."""

    ends: int
    takes: Holding | None = None


_NOTHING = Ending(0)


class Endings:
    """What the events of one workspace end."""

    def __init__(self, sql: Sql, ws: int) -> None:
        self._sql = sql
        self._ws = ws

    def of(self, kind: DeclaredKind, payload: object, about: tuple[str, ...]) -> Ending:
        """What an event at the end of the log ends."""
        match payload:
            case Item() as item:
                return self._of_item(item)
            case Resolve(keep=keep):
                return Ending(max(1, len(set(about).difference(keep))))
            case Link(withdrawn=True):
                return Ending(1)
        return Ending(max(1, len(about))) if kind.invalidates else _NOTHING

    def file(self, epoch: int, by: str, learnt: str, ending: Ending) -> None:
        """Index what an event ended."""
        if ending.takes is not None:
            self._sql.execute(_HOLD, (self._ws, *ending.takes, epoch))
        if ending.ends:
            self._sql.execute(_END, (self._ws, by, learnt, epoch, ending.ends, self._ws, by))

    def _of_item(self, item: Item) -> Ending:
        place = _place(item)
        if place is None:
            return _NOTHING
        held = self._held(place)
        # A repetition does not take over: otherwise its author could go on to replace "its own" statement.
        repeats = any(same_statement(other, item) and _place(other) == place for other in held)
        return Ending(sum(_replaces(item, other) for other in held), None if repeats else place)

    def _held(self, place: Holding) -> list[Item]:
        """What was stated last about the same thing, on the same task or on every task."""
        here = (self._ws << SHIFT, self._ws, place.use, place.name)
        if place.task == ANY:
            rows = self._sql.execute(_ON_EVERY_TASK, here)
        else:
            rows = self._sql.execute(_ON_TASK, (*here, place.task, ANY))
        return [decode_item(body) for (body,) in rows.fetchall()]


def _place(item: Item) -> Holding | None:
    """Where an item replaces others. One without evidence replaces nothing."""
    if not item.receipts or isinstance(item, Obligation):
        return None
    scope = item.scope
    task = scope.task or ANY
    uses: tuple[Any, ...] = (scope.principals, item.purposes, item.tasks)
    readers = digest(tuple(sorted(set(one)) for one in uses))[:32] if any(uses) else ANY
    if isinstance(item, Frontier):
        return Holding(FRONTIER, item.obligation, task, readers)
    return None if item.slot is None else Holding(SLOT, item.slot, task, readers)


def _replaces(item: Item, other: Item) -> bool:
    """Whether an item ends another writer's statement for somebody other than its own author."""
    return (
        other.by != item.by
        and set(item.scope.principals) != {item.by}
        and _overlap(item.scope.principals, other.scope.principals)
        and _overlap(item.purposes, other.purposes)
        and _overlap(item.tasks, other.tasks)
        and not same_statement(item, other)
    )


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two lists of names, of which an empty one means everything, have something in common."""
    return not one or not other or not set(one).isdisjoint(other)

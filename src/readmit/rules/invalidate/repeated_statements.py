"""Repetitions: items that make the same statement.

Items with equal kind, text, slot, scope and premises make one statement. Repeating it from later evidence confirms it.
Causes against the statement also apply to a repetition from earlier evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.items import Obligation
from readmit.records.same_statement import statement_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.records.snapshot import Held


class SameStatements:
    """Which items of a snapshot make the same statement. A duty is an act, so opening it twice makes two duties."""

    def __init__(self, everything: Iterable[Held]) -> None:
        first: dict[str, Held] = {}
        repeated: dict[str, list[Held]] = {}
        for held in everything:
            text = held.item.text
            other = first.setdefault(text, held)
            if other is not held:
                repeated.setdefault(text, [other]).append(held)
        self._same: dict[str, tuple[Held, ...]] = {}
        self._marked: dict[str, tuple[Held, ...]] = {}
        for alike in repeated.values():
            self._split(alike)

    def _split(self, alike: Iterable[Held]) -> None:
        groups: dict[object, list[Held]] = {}
        for held in alike:
            item = held.item
            if not isinstance(item, Obligation):
                groups.setdefault(statement_of(item), []).append(held)
        for members in groups.values():
            if len(members) > 1:
                self._same |= dict.fromkeys((held.item.id for held in members), tuple(members))

    @property
    def repeated(self) -> Mapping[str, tuple[Held, ...]]:
        """Every item whose statement was made more than once, with all items that make it, in log order."""
        return self._same

    def marked(self, item: str) -> tuple[Held, ...]:
        """The items with acts against them that make the statement of one, if it was made more than once."""
        members = self._same.get(item)
        if members is None:
            return ()
        first = members[0].item.id
        if first not in self._marked:
            self._marked[first] = tuple(held for held in members if held.marks)
        return self._marked[first]

    def first(self, held: Held) -> int:
        """The position of an item's statement in the log."""
        return self._same[held.item.id][0].epoch if held.item.id in self._same else held.epoch

    def same(self, one: str, other: str) -> bool:
        """Whether two items make the same repeated statement."""
        return one in self._same and self._same[one] is self._same.get(other)

    def between(self, one: str, other: str) -> frozenset[str]:
        """A key of the statements of two items; of the items themselves if they make the same statement."""
        if self.same(one, other):
            return frozenset((one, other))
        return frozenset(map(self.statement, (one, other)))

    def statement(self, item: str) -> str:
        """The first item that makes the statement of one."""
        return self._same[item][0].item.id if item in self._same else item

    def recordings(self, item: str) -> tuple[str, ...]:
        """Every item that makes the statement of one."""
        return tuple(held.item.id for held in self._same[item]) if item in self._same else (item,)

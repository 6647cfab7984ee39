"""What makes two items the same statement, and under what an item without a slot is filed for others to find it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.canonical import digest
from readmit.records.items import Frontier, Obligation

if TYPE_CHECKING:
    from readmit.records.items import Item

_LENGTH = 32


def statement_of(item: Item) -> tuple[object, ...]:
    """What makes two items of one text the same statement. Lists of names are compared as sets."""
    scope = item.scope
    seen_by = (scope.workspace, _names(scope.principals), _names(scope.roles), scope.task, scope.visibility)
    about = item.obligation if isinstance(item, Frontier) else None
    return item.kind, item.slot, seen_by, _names(item.depends_on), about


def kin_of(item: Item) -> str | None:
    """What an item shares with those that bear on it without a slot in common; none if nothing does.

    Frontiers share their obligation. Facts and constraints without a slot share their statement. A duty is an act of
    its own, and what has a slot is found by that.
    """
    if isinstance(item, Obligation):
        return None
    if isinstance(item, Frontier):
        return digest((item.kind, item.obligation))[:_LENGTH]
    return None if item.slot is not None else digest((item.text, statement_of(item)))[:_LENGTH]


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names))) if len(names) > 1 else names

"""When two items make the same statement, and the index key of an item without a slot."""

from __future__ import annotations

from readmit.records.canonical import digest
from readmit.records.items import Frontier, Item, Obligation

_LENGTH = 32


def statement_of(item: Item) -> tuple[object, ...]:
    """The fields besides the text that make two items the same statement. Lists of names are compared as sets."""
    scope = item.scope
    seen_by = (scope.workspace, _names(scope.principals), _names(scope.roles), scope.task, scope.visibility)
    about = item.obligation if isinstance(item, Frontier) else None
    return item.kind, item.slot, seen_by, _names(item.depends_on), about


def same_statement(one: Item, other: Item) -> bool:
    """Whether two items make the same statement. A duty is an act, so opening it twice makes two duties."""
    return one.text == other.text and not isinstance(one, Obligation) and statement_of(one) == statement_of(other)


def kin_of(item: Item) -> str | None:
    """The index key that an item shares with related items that have no slot; none if there is no such key.

    Frontiers share their obligation. Facts and constraints without a slot share their statement. Every duty is
    separate, and items with a slot are found by it.
    """
    if isinstance(item, Obligation):
        return None
    if isinstance(item, Frontier):
        return digest((item.kind, item.obligation))[:_LENGTH]
    return None if item.slot is not None else digest((item.text, statement_of(item)))[:_LENGTH]


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names))) if len(names) > 1 else names

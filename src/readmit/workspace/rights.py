"""Which items a principal may name, and who may end a duty.

An item that a principal may not see does not exist for it: the error is exactly that of an unknown id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.ports.presence import is_away
from readmit.records.errors import NotAllowedError, UnknownError
from readmit.records.policy import AUTHOR, OWNER

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.ports.store import Log
    from readmit.records.items import Item, Obligation
    from readmit.records.policy import Policy


def item_for(log: Log, name: str, by: str, policy: Callable[[], Policy]) -> Item:
    """An item by id, if the principal may know of it."""
    item = log.item(name)
    if not known_to(item, by, policy):
        raise UnknownError(f"no item {name!r} in workspace {log.workspace!r}; record it first")
    return item


def known_to(item: Item, by: str, policy: Callable[[], Policy]) -> bool:
    """Whether a principal may know of an item: a private one, or one that names principals, is not for everybody."""
    named = item.scope.principals
    return not named or by in {item.by, *named, OWNER, AUTHOR} or by in policy().overseers


def check_may_touch(item: Item, *, by: str, verb: str, policy: Callable[[], Policy]) -> None:
    """Refuse readers of a private item who are neither its author nor an overseer."""
    if item.scope.visibility != "private" or by in {item.by, OWNER, AUTHOR} or by in policy().overseers:
        return
    raise NotAllowedError(f"{by!r} may not {verb} {item.id!r}: a private item is for its author and the overseers")


def check_may_end(log: Log, duty: Obligation, *, by: str, role: str | None, verb: str, policy: Policy) -> None:
    """Refuse principals who may not settle, revoke or supersede a duty, or are away from it."""
    task = duty.scope.task
    if is_away(log, by, task):
        place = "a task" if task is None else repr(task)
        raise NotAllowedError(f"{by!r} may not {verb} {duty.id!r} while it is away from {place}: come back first")
    if by != AUTHOR and (by == duty.by or by in policy.overseers or _owes(duty, by, role)):
        return
    hint = f"; an agent that owes it names its role: role={duty.scope.roles[0]!r}" if duty.scope.roles else ""
    raise NotAllowedError(
        f"{by!r} may not {verb} {duty.id!r}: only its author, the overseers, and agents that owe it may{hint}"
    )


def _owes(duty: Obligation, by: str, role: str | None) -> bool:
    scope = duty.scope
    return (not scope.principals or by in scope.principals) and (not scope.roles or role in scope.roles)

"""Whom an event reaches, as rows of the audience index. Pure.

An empty string stands for "any". An identity sees an event if one row matches it with any of task,
principal and role replaced by "any", so a scope with several principals and roles becomes their product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readmit.records.identity import Identity
    from readmit.records.items import Scope

ANY = ""
STATE = "state"

Row = tuple[str, str, str]
"""Task, principal, role."""


def rows_of(scope: Scope) -> list[Row]:
    """The audience of a scope."""
    task = scope.task or ANY
    rows = [(task, principal, role) for principal in scope.principals or (ANY,) for role in scope.roles or (ANY,)]
    # A name may be listed twice. Its audience gets the event once.
    return rows if len(rows) == 1 else list(dict.fromkeys(rows))


def keys_of(identity: Identity) -> tuple[str, ...]:
    """The index values that an identity matches: task, any, principal, any, role, any."""
    return identity.task, ANY, identity.principal, ANY, identity.role, ANY

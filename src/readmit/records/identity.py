"""The identity of a returning agent: principal, role and task; and ids that one writer alone can give.

Ids of a workspace share one name space, so a given id tells its giver whether it was taken. What is not for everybody
therefore has an id of its writer's own, which begins with ``@``, its name and ``/`` (ADR 0044).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from readmit.records.base import Name, Record
from readmit.records.canonical import digest_of
from readmit.records.error_types import NotAllowedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.items import Scope

OWN = "@"
"""Prefix of a writer's own ids."""
# Of the printable ASCII characters, all but the slash, which ends a name here, and the percent sign, which escapes.
_AS_IT_IS = "!\"#$&'()*+,:;<=>?@[\\]^`{|}"
_LONGEST = 60


def agent_key(principal: str, task: str) -> str:
    """The key of a principal on a task."""
    return f"{len(principal)}:{principal}{task}"


class Identity(Record, kw_only=True):
    """An authenticated principal in a role on a task of a workspace. The caller authenticates it."""

    workspace: Name
    principal: Name
    role: Name
    task: Name

    @property
    def agent(self) -> str:
        """The key of an agent's departures and returns: principal and task. The role may change in between."""
        return agent_key(self.principal, self.task)

    @property
    def bank(self) -> str:
        """The key of a principal's private bank, which all its tasks share."""
        return f"{len(self.principal)}:{self.principal}"

    @property
    def resets(self) -> str:
        """The key of a principal's resets, on any task."""
        return f"reset:{self.bank}"

    @property
    def own_resets(self) -> str:
        """The key of an agent's resets."""
        return f"reset:{self.agent}"

    @property
    def swept(self) -> str:
        """The key of the departures that readmit wrote for a principal, on any task."""
        return f"swept:{self.bank}"

    def departed(self, reason: str) -> tuple[str, ...]:
        """The keys of a departure, with the reason that readmit wrote it for, if it did."""
        return (self.agent, self.bank, self.swept) if reason else (self.agent, self.bank)

    def may_see(self, scope: Scope) -> bool:
        """Whether a scope admits this identity."""
        return (
            scope.workspace == self.workspace
            and (not scope.principals or self.principal in scope.principals)
            and (not scope.roles or self.role in scope.roles)
            and (scope.task is None or scope.task == self.task)
        )


@lru_cache(maxsize=1024)
def own_space(by: str) -> str:
    """Prefix of the own ids of a writer. No two writers share it, and none is the beginning of another's."""
    name = quote(by, safe=_AS_IT_IS)
    # An escaped name has no two percent signs in a row.
    return f"{OWN}{name if len(name) <= _LONGEST else f'%%{digest_of(by.encode())[:32]}'}/"


def own_id(by: str, name: str) -> str:
    """An id that only this writer can give."""
    return f"{own_space(by)}{name}"


def made_id(by: str, name: str, principals: Sequence[str]) -> str:
    """An id that is made of a content. Who guesses a content that is for some principals must not be able to ask."""
    return own_id(by, name) if principals else name


def is_own(name: str, by: str) -> bool:
    """Whether only this writer can give an id."""
    return name.startswith(own_space(by))


def check_giver(name: str, by: str) -> str:
    """The id, unless it is another writer's own. Whether something has this id makes no difference."""
    if name.startswith(OWN) and not is_own(name, by):
        raise NotAllowedError(
            f"id: {name!r} is for the writer that it names; leave id out, or give one that begins with "
            f"{own_space(by)!r} or without {OWN!r}"
        )
    return name

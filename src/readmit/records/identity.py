"""Who returns, in which role, for which task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.base import Name, Record

if TYPE_CHECKING:
    from readmit.records.items import Scope


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

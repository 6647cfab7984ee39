"""Which role a principal has on a task, by the word of those who govern."""

from __future__ import annotations

from typing import Annotated

import msgspec

from readmit.records.acts.event_fields import Why
from readmit.records.base import Name, Record
from readmit.records.error_types import RecordError

_Was = Annotated[Name, msgspec.Meta(description="Role in which it departed; any, if left out.")]


class Reassign(Record, kw_only=True):
    """``principal`` has a role on ``task``, and comes back in it although it departed as ``was``, or as anything.

    For a return it holds in the absence in which it is written, or in the next one if the agent is at work. What the
    role may do, the principal may until the next such event.
    """

    principal: Annotated[Name, msgspec.Meta(description="Whose role it is.")]
    task: Annotated[Name, msgspec.Meta(description="Task on which the role changes.")]
    was: _Was | None = None
    role: Annotated[Name, msgspec.Meta(description="Role in which it comes back.")]
    reason: Why = ""

    def __post_init__(self) -> None:
        if self.was == self.role:
            raise RecordError(f"role: {self.role!r} is the role that {self.principal!r} has already; name another")

"""Events about the work itself: roles, keys, dates, presence, deliveries, and writes that wait."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from readmit.records.base import Count, Digest, Id, Name, Note, Record, Salt, Time
from readmit.records.error_types import RecordError
from readmit.records.identity import Identity
from readmit.records.policy import Seconds

ItemId = Annotated[Id, msgspec.Meta(extra={"names": "item"})]
"""The id of an item that is on the log."""
DisputeId = Annotated[Id, msgspec.Meta(extra={"names": "dispute"})]
WaitId = Annotated[Id, msgspec.Meta(extra={"names": "wait"})]
Why = Annotated[Note, msgspec.Meta(description="Why; the audit shows it.")]


class Jump(Record, kw_only=True):
    """The event that moved a log's moment too far ahead of a clock."""

    epoch: Count
    kind: Name
    by: Name


class Void(Record, kw_only=True):
    """The date of an event is void: its writer's clock was ahead. What the event says stays in effect."""

    event: Annotated[int, msgspec.Meta(ge=1, description="Epoch of the event, as `readmit log` lists it.")]
    reason: Why = ""


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


ERASED_SALT = "0" * 32
"""The salt of an event that waits and whose texts were forgotten."""


class HeldBack(Record, kw_only=True):
    """An event that is not in effect: everything needed to append it later as it was written."""

    kind: Name
    id: Name
    by: Name
    at: Time
    body: str
    """Its content, as the log would have stored it."""
    salt: Salt
    named: bool = True
    given: bool = False
    signature: Note = ""
    """The writer's signature in base64, if it signed."""


class Wait(Record, kw_only=True):
    """Events that would have taken their writer beyond a limit: nothing of them counts unless they are approved."""

    events: tuple[HeldBack, ...]
    limit: Note
    """The deed that was held back, and the limit of the policy that it hit."""


class Approve(Record, kw_only=True):
    """An overseer approves events that wait: they are appended now, whatever the limits say."""

    waiting: WaitId
    reason: Why = ""


class Decline(Record, kw_only=True):
    """An overseer declines events that wait: they are never appended."""

    waiting: WaitId
    reason: Why = ""


class WriterKey(Record, kw_only=True):
    """A key was enrolled for a principal, or its signatures count only before an epoch."""

    principal: Name
    key: Digest
    change: Literal["enrol", "revoke"]
    public: Note = ""
    since: Count | None = None
    """The first epoch at which a revoked key no longer counts; none for that of this event."""
    reason: Note = ""


class Lease(Record, kw_only=True):
    """An agent is present until a moment, unless it is renewed."""

    identity: Identity
    token: Count = 0
    """The epoch of the event that began this presence; 0 in that event itself. A later presence has a greater one."""
    epoch: Count
    """How far the agent had followed the log."""
    seconds: Seconds
    until: Time
    """When it runs out, by the later of the writer's clock and the log's last moment."""


class Exposed(Record, kw_only=True):
    """A view was handed over, or refused."""

    return_id: Id
    instance: Id
    agent: str
    """The key of the agent that asked for it."""
    refused: tuple[str, ...] = ()
    again: bool = False
    """Whether the same workload had been handed the same view before."""


class Acknowledge(Record, kw_only=True):
    """The workload that a view was handed to has received it. From here on it is not handed over again."""

    return_id: Id
    instance: Id

"""Events that hit their writer's limit: kept as they were written, and an overseer's answer."""

from __future__ import annotations

from readmit.records.acts.event_fields import WaitId, Why
from readmit.records.base import Name, Note, Record, Salt, Time

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
    """What they would have done, and the limit of the policy that they hit."""


class Approve(Record, kw_only=True):
    """An overseer approves events that wait: they are appended now, whatever the limits say."""

    waiting: WaitId
    reason: Why = ""


class Decline(Record, kw_only=True):
    """An overseer declines events that wait: they are never appended."""

    waiting: WaitId
    reason: Why = ""

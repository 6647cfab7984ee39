"""The log's moment: the event that moved it too far, and the act that voids its date."""

from __future__ import annotations

from typing import Annotated

import msgspec

from readmit.records.acts.event_fields import Why
from readmit.records.base import Count, Name, Record


class Jump(Record, kw_only=True):
    """The event that moved a log's moment too far ahead of a clock."""

    epoch: Count
    kind: Name
    by: Name


class Void(Record, kw_only=True):
    """The date of an event is void: its writer's clock was ahead. What the event says stays in effect."""

    event: Annotated[int, msgspec.Meta(ge=1, description="Epoch of the event, as `readmit log` lists it.")]
    reason: Why = ""

"""Leases: how long an agent counts as present without being heard of."""

from __future__ import annotations

from readmit.records.base import Count, Record, Time
from readmit.records.identity import Identity
from readmit.records.policy import Seconds


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

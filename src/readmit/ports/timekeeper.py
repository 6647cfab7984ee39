"""Who keeps the time of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.ports.store import Log
    from readmit.records.drafts import Draft
    from readmit.records.policy import Policy


class Timekeeper(Protocol):
    """Says whose clocks may move a log's moment, and refuses a clock that cannot be right."""

    def policy(self, log: Log) -> Policy:
        """The policy in force."""

    def moves(self, entry: Draft, policy: Policy) -> bool:
        """Whether the clock of an event's writer may move the log's moment."""

    def check(self, server: datetime, policy: Policy) -> None:
        """Raise if this host's clock differs from the server's by more than the policy allows."""

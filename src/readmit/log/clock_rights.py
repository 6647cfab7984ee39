"""The principals whose clocks may move a log's moment, read once in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from readmit.records.acts.event import EventKind

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.policy import Policy


class Timekeeper(Protocol):
    """Port: names the principals whose clocks may move a log's moment, and refuses an impossible clock."""

    def policy(self, log: Log) -> Policy:
        """The policy in force."""

    def moves(self, entry: Draft, policy: Policy) -> bool:
        """Whether the clock of an event's writer may move the log's moment."""

    def check(self, server: datetime, policy: Policy) -> None:
        """Raise if this host's clock differs from the server's by more than the policy allows."""


_GOVERNING = frozenset({EventKind.GOVERN, EventKind.WRITER})


class Timing:
    """A log's timekeeper, with the policy of the open transaction."""

    __slots__ = ("_keeper", "_known", "_turn", "_unsettled")

    def __init__(self, keeper: Timekeeper) -> None:
        self._keeper = keeper
        self._turn = self._unsettled = -1
        self._known: Policy | None = None

    def moves(self, entry: Draft, log: Log) -> bool:
        """Whether the writer's clock may move the log's moment."""
        turn = log.connection.turn
        if self._known is None or self._turn != turn:
            self._known, self._turn = self._keeper.policy(log), turn
            if (server := log.connection.server_now) is not None:
                self._keeper.check(server, self._known)
        moves = self._keeper.moves(entry, self._known)
        if entry.kind in _GOVERNING:
            # It may be rolled back alone, so it is read again for each event of this transaction.
            self._unsettled = turn
        if self._unsettled == turn:
            self._known = None
        return moves

"""Which items an agent was handed in views, read from the log and its decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.canonical import decode, digest_of
from readmit.records.decisions import Decision, Returned
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from readmit.log.log import Log


def handed_since(log: Log, departed: Checkpoint, *, until: int) -> frozenset[str]:
    """The items of the last view that an agent was handed before it left, and of each one from then up to an epoch.

    That last view also retracts items of the views before it.
    """
    found: set[str] = set()
    for exposed in reversed(log.milestones(EventKind.EXPOSE, departed.identity.agent, until=until)):
        found |= _items(log, exposed.name)
        if exposed.epoch <= departed.epoch:
            break
    return frozenset(found)


def _items(log: Log, return_id: str) -> frozenset[str]:
    view = decision_of(log, return_id, log.returned(return_id)).view
    return frozenset() if view is None else frozenset(item.id for item in view.items)


def decision_of(log: Log, return_id: str, returned: Returned) -> Decision:
    """The decision of a return, proven to be the one in the log."""
    stored = log.audit.decision(return_id)
    if stored is None or digest_of(stored.body) != returned.decision:
        raise TamperedError(
            f"the decision of return {return_id!r} is not the one in the log; see `readmit audit verify`"
        )
    return decode(stored.body, Decision, what="decision")

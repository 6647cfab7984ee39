"""Items that a returning agent held and that no longer hold or are in doubt."""

from __future__ import annotations

from readmit.records.base import Count, Digest, Id, Record, Time
from readmit.records.identity import Identity
from readmit.records.items import Kind
from readmit.records.reasons import State

FALLEN = frozenset(
    {State.REVOKED, State.SUPERSEDED, State.EXPIRED, State.SOURCE_CHANGED, State.PREMISE_CHANGED},
)
"""States of an item that no longer holds."""
IN_DOUBT = frozenset({State.DISPUTED, State.SUSPECTED})
"""States of an item that may still hold, once somebody has settled it."""


class Retraction(Record, kw_only=True):
    """An item that the agent held and should no longer rely on, by digest."""

    id: Id
    digest: Digest
    kind: Kind
    state: State
    slot: Id | None = None
    epoch: Count | None = None
    """The event that its state rests on; none if a date alone ended it."""
    since: Time | None = None
    """From when that counts, if it is known."""
    cause: Id | None = None
    """The item that caused it, if the agent may see that item."""
    instead: Id | None = None
    """The item of the view that replaced it."""
    with_text: bool = False
    """Whether its text is handed over too, as withdrawn."""


class Retractions(Record, kw_only=True):
    """The retractions of an agent's own items, within the budget of the policy."""

    fallen: tuple[Retraction, ...] = ()
    in_doubt: tuple[Retraction, ...] = ()
    more: Count = 0
    """How many others do not fit."""
    earlier: Count = 0
    """How many others had fallen by the time the agent left. They are not listed."""
    without_text: Count = 0
    """How many are listed without their text because it does not fit."""

    @property
    def listed(self) -> tuple[Retraction, ...]:
        return (*self.fallen, *self.in_doubt)


class RetractionView(Record, kw_only=True):
    """The retractions of a return that was blocked for what it lacks, bound to its workload. It holds no item."""

    return_id: Id
    identity: Identity
    instance: Id
    epoch: Count
    issued: Time
    expires: Time
    nonce: Id
    policy: Digest
    checkpoint: Digest
    retractions: Retractions

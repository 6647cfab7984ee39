"""Whether a model's draft is still that: nobody who counts has vouched for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.events import Confirm
from readmit.records.policy import AUTHOR

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot


def is_draft(held: Held, snapshot: Snapshot, policy: Policy) -> bool:
    """Whether a model wrote the item and nobody has confirmed it.

    A confirmation counts from an allowed writer, and never in the return of whoever gave it.
    """
    if held.item.drafted is None:
        return False
    return not any(
        isinstance(event.payload, Confirm)
        and event.holds(snapshot.now)
        and event.by not in (AUTHOR, snapshot.identity.principal)
        and (not policy.writers or event.by in policy.writers)
        for event in held.marks
    )

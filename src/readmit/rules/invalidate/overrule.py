"""The recovery path: an overseer's reasoned, expiring event sets automated rejections aside.

It covers earlier causes only: what happens later to the item, or to the slot of a premise, counts again. It never
affects authorization, applicability or provenance, and no principal overrules a rejection in its own return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Event, Overrule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.records.decisions import Cause
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot

LONGEST_NOTE = 2_000


def honored(held: Held, snapshot: Snapshot, policy: Policy) -> list[Event]:
    """The overruling events on an item that count in this return."""
    return [
        event
        for event in held.marks
        if isinstance(event.payload, Overrule)
        and event.holds(snapshot.now)
        and snapshot.now < event.payload.expires
        and event.by in policy.evidence.overseers
        and event.by != snapshot.identity.principal
    ]


def split(causes: Iterable[Cause], overrules: Iterable[Event]) -> tuple[list[Cause], list[Cause]]:
    """Causes that stand, and causes set aside, the latter with a note of who did that and why."""
    stand: list[Cause] = []
    aside: list[Cause] = []
    overrules = list(overrules)
    for cause in causes:
        reaching = next((event for event in overrules if reaches(event.epoch, cause)), None)
        if reaching is None:
            stand.append(cause)
        else:
            aside.append(msgspec.structs.replace(cause, note=_who_and_why(reaching)))
    return stand, aside


def _who_and_why(event: Event) -> str:
    why = event.payload.reason if isinstance(event.payload, Overrule) else ""
    return f"set aside by {event.by} at epoch {event.epoch}: {why}"[:LONGEST_NOTE]


def reaches(epoch: int, cause: Cause) -> bool:
    """Whether an overruling at an epoch sets a cause aside."""
    if cause.epoch is None:
        # Time alone ended it, which no event undoes; or time ended a premise, without which the item may stand.
        return bool(cause.root)
    return cause.epoch <= epoch and cause.reason.restorable

"""Observations of the absence that nothing rests on: a change may be among them, and no rule can see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Suspect
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from readmit.records.decisions import Examination
    from readmit.records.snapshot import Snapshot


def unheeded(snapshot: Snapshot, examination: Examination | None) -> int:
    """How many observations of the absence no visible item rests on and no examination compared with one."""
    since = 0 if examination is None else examination.until
    open_ones = {one.digest for one in snapshot.observed if one.epoch > since}
    if not open_ones:
        return 0
    for held in snapshot.state.held.values():
        for receipt in held.item.receipts:
            open_ones.discard(receipt.evidence)
        for event in held.marks:
            if isinstance(event.payload, Verdict | Suspect):
                open_ones.discard(event.payload.pair.evidence)
    return len(open_ones)

"""Declared premises: an item stands only while everything it depends on does.

As in a truth maintenance system (Doyle 1979), but one way: premises are recorded before what rests on them, so
one pass in log order settles everything, and each rejection keeps the chain down to the premise that fell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.records.snapshot import Held


def fallen(held: Held, known: Mapping[str, Held], out: Mapping[str, Sequence[Cause]]) -> list[Cause]:
    """Premises of one item that do not stand. ``out`` holds what is already known to have fallen."""
    causes = []
    for premise in held.item.depends_on:
        if premise not in known or known[premise].epoch >= held.epoch:
            # Not recorded before it: nothing can be said for such a premise.
            causes.append(Cause(reason=Reason.PREMISE_CHANGED, ref=premise, note="unknown premise", chain=(premise,)))
        elif reasons := out.get(premise):
            root = max(reasons, key=lambda cause: cause.epoch or 0)
            causes.append(
                Cause(
                    reason=Reason.PREMISE_CHANGED,
                    epoch=root.epoch,
                    ref=premise,
                    by=root.by,
                    note=f"{premise} is {root.reason}" + (f" by {root.ref}" if root.ref and not root.chain else ""),
                    chain=(premise, *root.chain),
                )
            )
    return causes

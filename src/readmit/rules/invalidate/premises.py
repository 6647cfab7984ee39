"""Declared premises: an item stands only while everything it depends on does.

As in a truth maintenance system (Doyle 1979): premises are recorded before the items that depend on them, so one pass
is enough, and each rejection names the item's own premise and the one at the end of the chain. If a fallen premise is
stated again from later evidence, it stands again, and so do items that fell only because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.records.snapshot import Held
    from readmit.rules.invalidate.repeated_statements import SameStatements


def fallen(
    held: Held, known: Mapping[str, Held], out: Mapping[str, Sequence[Cause]], same: SameStatements
) -> tuple[list[Cause], list[Cause]]:
    """Premises of one item that do not stand, and those that fell and were re-established.

    ``out`` holds the items already known to be out.
    """
    causes, recovered = [], []
    for premise in held.item.depends_on:
        if premise not in known or known[premise].epoch >= held.epoch:
            # Not recorded before the item, so it cannot be a premise that stands.
            causes.append(Cause(reason=Reason.PREMISE_CHANGED, ref=premise, note="unknown premise", root=premise))
        elif reasons := out.get(premise):
            again = [other for other in same.repeated.get(premise, ()) if other.item.id not in out]
            if again:
                recovered.append(_restored(premise, again[-1]))
            else:
                causes.append(_changed(premise, reasons))
    return causes, recovered


def _changed(premise: str, reasons: Sequence[Cause]) -> Cause:
    root = max(reasons, key=lambda cause: cause.epoch or 0)
    return Cause(
        reason=Reason.PREMISE_CHANGED,
        epoch=root.epoch,
        ref=premise,
        by=root.by,
        note=f"{premise} is {root.reason}" + (f" by {root.ref}" if root.ref and not root.root else ""),
        root=root.root or premise,
    )


def _restored(premise: str, by: Held) -> Cause:
    return Cause(reason=Reason.RECOVERED, epoch=by.epoch, ref=by.item.id, by=by.item.by, root=premise)

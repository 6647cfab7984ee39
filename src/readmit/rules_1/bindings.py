"""Source bindings: whether an item, and every reference it makes, rests on stored evidence.

Paper, "Memory records, provenance, and current applicability": a binding establishes where a statement
came from; it does not prove that the statement is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.records.items import Item
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Sighting, Snapshot

Flaws = dict[str, tuple[Cause, ...]]


def flaws(snapshot: Snapshot, policy: Policy) -> Flaws:
    """What is wrong with the source bindings, for the items where something is."""
    writers = frozenset(policy.writers)
    found: Flaws = {}
    for held in (*snapshot.background.held.values(), *snapshot.state.held.values()):
        causes = _flaws_of(held.item, snapshot.evidence, writers)
        if causes:
            found[held.item.id] = causes
    return found


def _flaws_of(item: Item, evidence: Mapping[str, Sighting], writers: frozenset[str]) -> tuple[Cause, ...]:
    if not item.receipts:
        return (Cause(reason=Reason.UNPROVEN),)
    bound: set[str] = set()
    causes: list[Cause] = []
    for receipt in item.receipts:
        sighting = evidence.get(receipt.evidence)
        if sighting is None:
            causes.append(Cause(reason=Reason.EVIDENCE_MISSING, ref=receipt.evidence))
        elif not sighting.intact:
            causes.append(Cause(reason=Reason.EVIDENCE_ALTERED, ref=receipt.evidence, epoch=sighting.epoch))
        elif writers and sighting.by not in writers:
            causes.append(Cause(reason=Reason.WRITER_NOT_ALLOWED, ref=receipt.evidence, by=sighting.by))
        else:
            bound.update(receipt.binds)
    if writers and item.by not in writers:
        causes.append(Cause(reason=Reason.WRITER_NOT_ALLOWED, by=item.by))
    references = ("item", *item.depends_on, *item.supports)
    if not bound.issuperset(references):
        unbound = (name for name in references if name not in bound)
        causes.extend(Cause(reason=Reason.REFERENCE_UNBOUND, ref=name) for name in unbound)
    return tuple(causes)

"""Source bindings: whether an item, and every reference it makes, rests on stored evidence.

Paper, "Memory records, provenance, and current applicability": a binding establishes where a statement
came from; it does not prove that the statement is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.items import Item, Obligation
from readmit.records.reasons import Reason
from readmit.rules.capture.drafted import draft_flaws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Sighting, Snapshot

Flaws = dict[str, tuple[Cause, ...]]


def flaws(snapshot: Snapshot, policy: Policy) -> Flaws:
    """The faults of the source bindings, for items that have any."""
    writers = frozenset(policy.evidence.writers)
    found: Flaws = {}
    for held in (*snapshot.background.held.values(), *snapshot.state.held.values()):
        causes = _flaws_of(held.item, snapshot.evidence, writers)
        if held.epoch in snapshot.unsigned:
            causes += (Cause(reason=Reason.WRITER_NOT_SIGNED, epoch=held.epoch, by=held.item.by),)
        if (drafted := held.item.drafted) is not None:
            causes += tuple(draft_flaws(held, drafted, snapshot, policy))
        if causes:
            found[held.item.id] = causes
    return found


def _flaws_of(item: Item, evidence: Mapping[str, Sighting], writers: frozenset[str]) -> tuple[Cause, ...]:
    author = () if not writers or item.by in writers else (Cause(reason=Reason.WRITER_NOT_ALLOWED, by=item.by),)
    if type(item) is Obligation:
        # Opening a duty is an act of its author, who needs no evidence for it.
        return author
    if not item.receipts:
        return (Cause(reason=Reason.UNPROVEN), *author)
    references = ("item", *item.depends_on, *item.supports)
    first = evidence.get(item.receipts[0].evidence)
    whole = len(item.receipts) == 1 and item.receipts[0].binds == references
    if whole and first is not None and first.intact and (not writers or first.by in writers):
        # Most items have one piece of evidence that covers every reference.
        return author
    bound: set[str] = set()
    causes: list[Cause] = []
    outside: list[Cause] = []
    for receipt in item.receipts:
        sighting = evidence.get(receipt.evidence)
        if sighting is None:
            causes.append(Cause(reason=Reason.EVIDENCE_MISSING, ref=receipt.evidence))
        elif not sighting.signed:
            outside.append(Cause(reason=Reason.WRITER_NOT_SIGNED, ref=receipt.evidence, by=sighting.by))
        elif not sighting.intact:
            causes.append(Cause(reason=Reason.EVIDENCE_MISSING, ref=receipt.evidence, epoch=sighting.epoch))
        elif writers and sighting.by not in writers:
            outside.append(Cause(reason=Reason.WRITER_NOT_ALLOWED, ref=receipt.evidence, by=sighting.by))
        else:
            bound.update(receipt.binds)
    if bound.issuperset(references):
        # Evidence from a writer who is not allowed is ignored if the rest covers every reference.
        return (*causes, *author)
    unbound = (Cause(reason=Reason.UNPROVEN, ref=name) for name in references if name not in bound)
    return (*causes, *outside, *author, *unbound)

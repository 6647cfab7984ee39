"""Implicit invalidation from stored verdicts (paper, "From a possible dependency to a confirmed invalidation").

A verdict takes an item out only if the code finds both quotes in their texts and the observation is later than the
item. A verdict that does not count leaves the pair unsettled, which is a suspicion. The latest confirmed invalidator
wins. ``records.verdicts.ruling`` decides what a verdict settles.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from readmit.records.acts.event import Event, Suspect
from readmit.records.decisions import Cause
from readmit.records.items import Obligation
from readmit.records.reasons import Reason
from readmit.records.verdicts import Ruling, Verdict, quotes_found, ruling
from readmit.rules.invalidate.lifecycle import Charge, point_of
from readmit.rules.invalidate.order import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Sighting, Snapshot


def critical_dependencies(snapshot: Snapshot, *, to_people: bool = False) -> frozenset[str]:
    """``K`` of everything that may still be owed, or that a person opened. A superset is safe: it keeps suspicions."""
    items = [held.item for held in snapshot.state.held.values()]
    duties = [item for item in items if type(item) is Obligation and not (to_people and item.drafted is not None)]
    return frozenset([name for duty in duties for name in duty.critical])


def said_at(held: Held, evidence: Mapping[str, Sighting], policy: Policy) -> int:
    """The epoch after which an observation is later than an item: that of its latest evidence.

    Not the item's own: an item drawn from an old conversation is as old as the conversation. Nor that of evidence from
    a writer who is not allowed: it would disqualify every observation before it.
    """
    own = (evidence.get(receipt.evidence) for receipt in held.item.receipts)
    passing = (one for one in own if one is not None and one.intact)
    return max(
        (one.epoch for one in passing if not policy.evidence.writers or one.by in policy.evidence.writers),
        default=held.epoch,
    )


def judged(held: Held, snapshot: Snapshot, policy: Policy) -> Iterator[Charge]:
    """The charges that verdicts and unsettled suspicions raise against one item."""
    settling: dict[str, tuple[Ruling, Event]] = {}
    principal = snapshot.identity.principal
    for event in held.marks:
        match event.payload:
            case Suspect(pair=pair):
                settling.setdefault(pair.evidence, (Ruling.OPEN, event))
            case Verdict(pair=pair) as verdict:
                found = ruling(verdict, policy, grounded=partial(_grounded, verdict, held, snapshot.evidence, policy))
                # A principal neither clears nor weakens a suspicion for its own return.
                if event.by == principal:
                    if found is Ruling.COMPATIBLE:
                        continue
                    found = Ruling.OPEN if found is Ruling.DOUBTFUL else found
                # One model's "compatible" never takes back another's confirmed invalidation: only an overseer does.
                if found is Ruling.INVALID or settling.get(pair.evidence, (None,))[0] is not Ruling.INVALID:
                    settling[pair.evidence] = (found, event)
    confirmed: list[Charge] = []
    for digest, (found, event) in settling.items():
        sighting = snapshot.evidence.get(digest)
        raised = point_of(event) if sighting is None else Point(sighting.epoch, sighting.said)
        if found is Ruling.INVALID and isinstance(event.payload, Verdict):
            # Its words stay in the event: the audit holds no text, so that a text can be forgotten.
            cause = Cause(reason=Reason.PREMISE_CHANGED, epoch=event.epoch, ref=digest, by=event.by)
            confirmed.append(Charge(cause, raised))
        elif found is not Ruling.COMPATIBLE:
            cause = Cause(reason=Reason.SUSPECTED, epoch=event.epoch, ref=digest, by=event.by)
            yield Charge(cause, raised, doubtful=found is Ruling.DOUBTFUL)
    # All of them, the latest observation first: an overseer who set one aside has not set aside the others.
    yield from sorted(confirmed, key=lambda one: one.raised.position, reverse=True)


def counts(charge: Charge, held: Held, policy: Policy, critical: AbstractSet[str], *, is_draft: bool = False) -> bool:
    """Whether a charge takes this item out: some suspicions only take out critical items, and any suspicion of a draft.

    For a draft, ``critical`` is what people called so.
    """
    if charge.cause.reason is not Reason.SUSPECTED:
        return True
    only_critical = is_draft or policy.paper.on_unsure == "exclude_critical"
    return is_open(charge, held, critical) and not (only_critical and critical.isdisjoint(held.item.covers))


def is_open(charge: Charge, held: Held, critical: AbstractSet[str]) -> bool:
    """Whether a charge is an open suspicion for this item. A doubtful one is settled unless the item is critical."""
    suspected = charge.cause.reason is Reason.SUSPECTED
    return suspected and not (charge.doubtful and critical.isdisjoint(held.item.covers))


def _grounded(verdict: Verdict, held: Held, evidence: Mapping[str, Sighting], policy: Policy) -> bool:
    sighting = evidence.get(verdict.pair.evidence)
    if sighting is None or not sighting.intact or sighting.epoch <= said_at(held, evidence, policy):
        return False
    sources = (evidence.get(receipt.evidence) for receipt in held.item.receipts)
    own = (source.text for source in sources if source is not None and source.intact)
    return quotes_found(verdict, (held.item.text, *own), sighting.text)

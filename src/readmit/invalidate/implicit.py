"""Implicit invalidation from stored verdicts (paper, "From a possible dependency to a confirmed invalidation").

A verdict counts only if the code finds both quotes where they are said to be and the observation is later than
the item. What does not count leaves the pair unsettled; an unsettled pair is a suspicion. The latest confirmed
invalidator wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.invalidate.lifecycle import Charge, point_of
from readmit.invalidate.order import Point
from readmit.records.decisions import Cause
from readmit.records.events import Event, EventKind, Suspect
from readmit.records.items import Obligation
from readmit.records.quotes import quoted
from readmit.records.reasons import Reason
from readmit.records.verdicts import Answer, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Sighting, Snapshot


def use_of(snapshot: Snapshot) -> str:
    """The returning use, as verdicts name it."""
    return "/".join((snapshot.identity.task, snapshot.identity.role, snapshot.purpose or ""))


def critical_dependencies(snapshot: Snapshot) -> frozenset[str]:
    """``K`` of everything that may still be owed. Too wide is safe here: it only keeps more suspicions."""
    duties = (held.item for held in snapshot.state.held.values())
    return frozenset(name for duty in duties if isinstance(duty, Obligation) for name in duty.critical)


def said_at(held: Held, evidence: Mapping[str, Sighting], policy: Policy) -> int:
    """The position from which an observation is later than an item: that of the latest evidence behind it.

    Not that of the item itself: what is drawn from a conversation long afterwards is as old as the conversation. Nor
    that of a receipt from outside the writers: it would keep every observation before it from counting.
    """
    own = (evidence.get(receipt.evidence) for receipt in held.item.receipts)
    passing = (one for one in own if one is not None and one.intact)
    return max((one.epoch for one in passing if not policy.writers or one.by in policy.writers), default=held.epoch)


def judged(held: Held, snapshot: Snapshot, policy: Policy) -> Iterator[Charge]:
    """What verdicts and unsettled suspicions say of one item."""
    settling: dict[str, tuple[Answer, Event]] = {}
    use, principal = use_of(snapshot), snapshot.identity.principal
    for event in held.marks:
        match event.payload:
            case Suspect(pair=pair):
                settling.setdefault(pair.evidence, (Answer.UNSURE, event))
            case Verdict(pair=pair, use=meant) if meant in ("", use):
                standing = _standing(event, held, snapshot.evidence.get(pair.evidence), snapshot.evidence, policy)
                # Nobody clears a suspicion against an item of their own for their own return.
                if standing is Answer.COMPATIBLE and event.by == held.item.by == principal:
                    continue
                # One model's "compatible" never takes back another's confirmed invalidation: only an overseer does.
                if standing is Answer.INVALIDATES or settling.get(pair.evidence, (None,))[0] is not Answer.INVALIDATES:
                    settling[pair.evidence] = (standing, event)
    confirmed: list[Charge] = []
    for digest, (standing, event) in settling.items():
        sighting = snapshot.evidence.get(digest)
        raised = point_of(event) if sighting is None else Point(sighting.epoch, sighting.said)
        if standing is Answer.INVALIDATES and isinstance(event.payload, Verdict):
            note = event.payload.premise or event.payload.evidence_quote
            cause = Cause(reason=Reason.PREMISE_CHANGED, epoch=event.epoch, ref=digest, by=event.by, note=note)
            confirmed.append(Charge(cause, raised))
        elif standing is Answer.UNSURE:
            yield Charge(Cause(reason=Reason.SUSPECTED, epoch=event.epoch, ref=digest, by=event.by), raised)
    # All of them, the latest observation first: an overseer who set one aside did not set aside a later one.
    yield from sorted(confirmed, key=lambda one: one.raised.position, reverse=True)


def counts(charge: Charge, held: Held, policy: Policy, critical: AbstractSet[str]) -> bool:
    """Whether a charge takes this item out: under some policies a suspicion does so only to what is critical."""
    return (
        charge.cause.reason is not Reason.SUSPECTED
        or policy.on_unsure == "exclude"
        or not critical.isdisjoint(held.item.covers)
    )


def _standing(
    event: Event, held: Held, sighting: Sighting | None, evidence: Mapping[str, Sighting], policy: Policy
) -> Answer:
    verdict = event.payload
    if event.kind is EventKind.SUSPECT or not isinstance(verdict, Verdict):
        return Answer.UNSURE
    if verdict.confidence < policy.min_confidence:
        return Answer.UNSURE
    if verdict.answer is Answer.INVALIDATES and not _grounded(verdict, held, sighting, evidence, policy):
        return Answer.UNSURE
    return verdict.answer


def _grounded(
    verdict: Verdict, held: Held, sighting: Sighting | None, evidence: Mapping[str, Sighting], policy: Policy
) -> bool:
    if sighting is None or not sighting.intact or sighting.epoch <= said_at(held, evidence, policy):
        return False
    own = [held.item.text]
    sources = (evidence.get(receipt.evidence) for receipt in held.item.receipts)
    own += [source.text for source in sources if source is not None and source.intact]
    return any(quoted(verdict.item_quote, text) for text in own) and quoted(verdict.evidence_quote, sighting.text)

"""Sources that changed: items whose evidence was read from a place that says something else now.

The last look at a place decides. A source that changed back says again what it said, so its items stand again. An item
with several sources is out if one of them changed: what it says was drawn from all of them. A duty stays: it is an act
of its author, and ends by an act.

A source that could not be looked at, or was not looked at in time, may have changed. That withholds items that support
a critical dependency; the others are admitted, with the fact on record.

A verifier may find that an item still holds of what is there now. It is the one place where a model's finding keeps an
item in, so the code checks that the words it quotes are there and carry the statement, and what is critical, or all of
it under the policy's ``drafts`` setting, waits until somebody confirms it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.event import Confirm, Event
from readmit.records.acts.looks import Resource
from readmit.records.decisions import Cause, ViewSource
from readmit.records.items import Obligation
from readmit.records.policy import AUTHOR, LookRules, Policy
from readmit.records.probes import FileProbe, Finding, GitProbe, place_of
from readmit.records.reasons import Reason
from readmit.rules.invalidate.lifecycle import Charge
from readmit.rules.invalidate.order import Point
from readmit.text.carried import carried

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from readmit.records.snapshot import Held, Snapshot, Source

LONGEST_NOTE = 2_000
_OUT = frozenset({Finding.CHANGED, Finding.GONE})


# The most in doubt first.
_DOUBT = (Finding.UNSEEN, Finding.GONE, Finding.CHANGED, Finding.MOVED, Finding.UNCHANGED)


def lifetime(source: Source, rules: LookRules) -> int:
    """For how many seconds a look stays fresh. Files and git cost little: unless they say so, each return looks."""
    if source.probe.lifetime or isinstance(source.probe, FileProbe | GitProbe):
        return source.probe.lifetime
    return rules.lifetime


def is_due(source: Source, at: datetime, rules: LookRules) -> bool:
    """Whether the last look at a source is too old for a return that begins now."""
    return (at - source.seen).total_seconds() >= lifetime(source, rules)


def is_kept(source: Source, at: datetime, rules: LookRules) -> bool:
    """Whether the last look on record is young enough: one that finds the same is not written down again."""
    return (at - source.seen).total_seconds() < rules.lifetime


def is_stale(source: Source, at: datetime, rules: LookRules) -> bool:
    """Whether the last look on record is too old for a decision: older than a look before it leaves it."""
    longest = max(lifetime(source, rules), rules.lifetime) + rules.total_seconds
    return (at - source.seen).total_seconds() > longest


def freshness(items: Iterable[str], snapshot: Snapshot) -> Iterator[ViewSource]:
    """How fresh the sources of some items are, for those that can be looked at again."""
    for name in items if snapshot.sources else ():
        held = snapshot.state.held[name]
        own = [snapshot.sources[one.evidence] for one in held.item.receipts if one.evidence in snapshot.sources]
        if own:
            found = min((one.finding for one in own), key=_DOUBT.index)
            yield ViewSource(item=name, seen=min(one.seen for one in own), finding=found)


def troubled(snapshot: Snapshot, policy: Policy) -> dict[str, Cause]:
    """The evidence whose source changed, is gone or was not seen in time, with the cause against what rests on it."""
    found: dict[str, Cause] = {}
    for evidence, source in snapshot.sources.items():
        if source.finding in _OUT:
            reason, what = Reason.SOURCE_CHANGED, "changed" if source.now else str(source.finding)
        elif source.finding is Finding.UNSEEN:
            reason, what = Reason.SOURCE_UNSEEN, "was not seen"
        elif snapshot.fresh_at is not None and is_stale(source, snapshot.fresh_at, policy.looks):
            reason, what = Reason.SOURCE_UNSEEN, f"was last seen at {source.seen.isoformat()}"
        else:
            continue
        note = f"{place_of(source.probe)} {what}{f': {source.why}' if source.why else ''}"
        ref = source.now or evidence
        found[evidence] = Cause(reason=reason, epoch=source.epoch, ref=ref, by=AUTHOR, note=note[:LONGEST_NOTE])
    return found


def charges(
    held: Held, causes: Mapping[str, Cause], snapshot: Snapshot, policy: Policy, *, critical: bool
) -> Iterator[Charge]:
    """The charges against one item because of the sources of its evidence."""
    if isinstance(held.item, Obligation):
        return
    for evidence in dict.fromkeys(receipt.evidence for receipt in held.item.receipts):
        cause = causes.get(evidence)
        if cause is None:
            continue
        found = resourced(held, evidence, snapshot, policy) if cause.reason is Reason.SOURCE_CHANGED else None
        if found is not None:
            confirmed = is_confirmed(held, found, snapshot, policy)
            if confirmed or (policy.evidence.drafts == "accept" and not critical):
                continue
            cause = replace(cause, reason=Reason.SOURCE_UNCONFIRMED)
        yield Charge(cause, _raised(cause, snapshot.sources[evidence], snapshot))


def carrying(held: Held, causes: Mapping[str, Cause], snapshot: Snapshot, policy: Policy) -> Iterator[Cause]:
    """Sources of an item that changed, and still say what it says."""
    for evidence in dict.fromkeys(receipt.evidence for receipt in held.item.receipts):
        if evidence in causes and causes[evidence].reason is Reason.SOURCE_CHANGED:
            event = resourced(held, evidence, snapshot, policy)
            if event is not None and isinstance(event.payload, Resource):
                said = event.payload
                yield Cause(reason=Reason.RECOVERED, epoch=event.epoch, ref=said.now, by=said.drafted)


def resourced(held: Held, evidence: str, snapshot: Snapshot, policy: Policy) -> Event | None:
    """The event that sourced an item to the present text of its source, if it counts.

    It counts if the words that it quotes are there and carry what the item says, and if the place was named by an
    allowed writer. A text that changed again since needs a new one.
    """
    if policy.evidence.drafts == "refuse":
        return None
    now = snapshot.sources[evidence].now
    sighting = snapshot.evidence.get(now)
    if (
        sighting is None
        or not sighting.intact
        or (policy.evidence.writers and sighting.by not in policy.evidence.writers)
    ):
        return None
    for event in reversed(held.marks):
        said = event.payload
        if isinstance(said, Resource) and (said.evidence, said.now) == (evidence, now) and event.by == AUTHOR:
            return event if carried(held.item.text, said.quote, sighting.text) else None
    return None


def is_confirmed(held: Held, resource: Event, snapshot: Snapshot, policy: Policy) -> bool:
    """Whether a principal other than the returning one has confirmed it since."""
    return any(
        isinstance(event.payload, Confirm)
        and event.epoch > resource.epoch
        and event.holds(snapshot.now)
        and event.by not in (AUTHOR, snapshot.identity.principal)
        and (not policy.evidence.writers or event.by in policy.evidence.writers)
        for event in held.marks
    )


def _raised(cause: Cause, source: Source, snapshot: Snapshot) -> Point:
    """The moment of the charge: just before the present text was read, so that this text answers it."""
    now = snapshot.evidence.get(source.now)
    if now is not None:
        return Point(now.epoch - 1, now.said)
    return Point(cause.epoch or 0, source.seen)


def needed(known: Mapping[str, Held], critical: AbstractSet[str]) -> frozenset[str]:
    """The items that support a critical dependency, and every premise that they rest on."""
    found: set[str] = set()
    ahead = [name for name, held in known.items() if not critical.isdisjoint(held.item.covers)]
    while ahead:
        name = ahead.pop()
        if name not in found and name in known:
            found.add(name)
            ahead += known[name].item.depends_on
    return frozenset(found)


def set_aside(raised: Mapping[str, list[Charge]], counted: Mapping[str, list[Cause]]) -> dict[str, tuple[Cause, ...]]:
    """Unseen sources of items that are not withheld for it: they are not critical."""
    found: dict[str, tuple[Cause, ...]] = {}
    for name, charged in raised.items():
        unseen = [one.cause for one in charged if one.cause.reason is Reason.SOURCE_UNSEEN]
        if left := tuple(cause for cause in unseen if cause not in counted.get(name, ())):
            found[name] = left
    return found

"""Links: the dependencies that an item supports beyond those it names itself.

A link is an event with an author, like a verdict. A principal's link overrides every model's. A model's link counts if
the policy accepts drafts, and never for a dependency that a person called critical. The same holds for a slot that a
model chose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Link
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import AUTHOR, Policy
from readmit.rules.capture.drafted import is_draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from readmit.records.snapshot import Held, Snapshot


def linked(snapshot: Snapshot, policy: Policy) -> Snapshot:
    """The snapshot in which each item also supports the dependencies of its counting links.

    Receipts are judged before this: a link is not a reference of the item.
    """
    needs = linked_needs(snapshot.state.held, policy, snapshot.now)
    if not needs:
        return snapshot
    held = {
        name: entry if name not in needs else msgspec.structs.replace(entry, item=_widened(entry, needs[name]))
        for name, entry in snapshot.state.held.items()
    }
    return msgspec.structs.replace(snapshot, state=msgspec.structs.replace(snapshot.state, held=held))


def linked_needs(held: Mapping[str, Held], policy: Policy, now: datetime) -> dict[str, tuple[str, ...]]:
    """For each item with a counting link: the linked dependencies that it does not name itself."""
    marked = [(entry, links) for entry in held.values() if entry.marks and (links := _links(entry, policy, now))]
    if not marked:
        return {}
    strict = _critical_to_people(held)
    found: dict[str, tuple[str, ...]] = {}
    for entry, links in marked:
        if isinstance(entry.item, Obligation | Frontier):
            continue
        counting = [
            need
            for need, link in links.items()
            if not link.withdrawn
            and (link.drafted is None or (policy.evidence.drafts == "accept" and need not in strict))
        ]
        if needs := tuple(need for need in counting if need not in entry.item.supports):
            found[entry.item.id] = needs
    return found


def vouched(held: Mapping[str, Held], drafted: Iterable[str], snapshot: Snapshot, policy: Policy) -> Mapping[str, Held]:
    """The items, without slots that a model chose where a person called the dependency critical.

    A principal can link the item to the dependency, or confirm the item, to make it count.
    """
    drafts = [held[name] for name in drafted]
    strict = _critical_to_people(snapshot.state.held)
    claims = {
        entry.item.id: msgspec.structs.replace(entry, item=msgspec.structs.replace(entry.item, slot=None))
        for entry in drafts
        if entry.item.slot in strict
        and entry.item.slot not in entry.item.supports
        and is_draft(entry, snapshot, policy)
    }
    return {name: claims.get(name, entry) for name, entry in held.items()} if claims else held


def _links(held: Held, policy: Policy, now: datetime) -> dict[str, Link]:
    """The deciding link for each dependency: a principal's latest, or else the latest draft."""
    deciding: dict[str, Link] = {}
    for event in held.marks:
        if not isinstance(event.payload, Link) or not event.holds(now):
            continue
        link = event.payload
        if policy.evidence.writers and event.by not in policy.evidence.writers and event.by != AUTHOR:
            continue
        known = deciding.get(link.need)
        if link.drafted is None or known is None or known.drafted is not None:
            deciding[link.need] = link
    return deciding


def _critical_to_people(held: Mapping[str, Held]) -> frozenset[str]:
    """Critical dependencies of duties that a person wrote."""
    duties = (entry.item for entry in held.values())
    return frozenset(
        name for duty in duties if isinstance(duty, Obligation) and duty.drafted is None for name in duty.critical
    )


def _widened(entry: Held, needs: tuple[str, ...]) -> Item:
    return msgspec.structs.replace(entry.item, supports=(*entry.item.supports, *needs))

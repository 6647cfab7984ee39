"""Targets and observations, read from what the log holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.items import Obligation
from readmit.rules.invalidate.propose.candidates import Observation, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from readmit.records.snapshot import Held, Sighting


def targets_of(
    held: Iterable[Held], known: Mapping[str, Held] | None = None, *, critical: AbstractSet[str] | None = None
) -> tuple[Target, ...]:
    """One target per item. ``known`` also holds items that are premises only; ``critical`` names dependencies ``K``.

    Without ``critical`` it is read from the obligations among ``known``.
    """
    chosen = tuple(held)
    everything = {entry.item.id: entry for entry in chosen} if known is None else known
    if critical is None:
        duties = (entry.item for entry in everything.values())
        critical = {name for duty in duties if isinstance(duty, Obligation) for name in duty.critical}
    return tuple(_target(entry, everything, critical) for entry in chosen)


def _target(entry: Held, known: Mapping[str, Held], critical: AbstractSet[str]) -> Target:
    item = entry.item
    premises = _closure(item.depends_on, known)
    slots = (known[name].item.slot for name in premises if name in known)
    return Target(
        item=item.id,
        epoch=entry.epoch,
        sources=frozenset(receipt.evidence for receipt in item.receipts),
        covers=frozenset(item.covers),
        premises=premises,
        premise_slots=frozenset(slot for slot in slots if slot is not None),
        critical=not critical.isdisjoint(item.covers),
    )


def _closure(names: Iterable[str], known: Mapping[str, Held]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            if name in known:
                waiting.extend(known[name].item.depends_on)
    return frozenset(found)


def observations_of(sightings: Mapping[str, Sighting], held: Iterable[Held]) -> tuple[Observation, ...]:
    """One observation per piece of evidence, with what the items that receipts bind to it are about.

    Altered evidence is left out: it cannot be quoted.
    """
    covers: dict[str, set[str]] = {}
    about: dict[str, set[str]] = {}
    for entry in held:
        for receipt in entry.item.receipts:
            names = about.setdefault(receipt.evidence, set())
            names.update(name for name in receipt.binds if name != "item")
            if "item" in receipt.binds:
                names.add(entry.item.id)
                covers.setdefault(receipt.evidence, set()).update(entry.item.covers)
    return tuple(
        Observation(
            evidence=digest,
            epoch=sighting.epoch,
            covers=frozenset(covers.get(digest, ())),
            about=frozenset(about.get(digest, ())),
        )
        for digest, sighting in sightings.items()
        if sighting.intact
    )

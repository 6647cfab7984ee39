"""Explicit supersession: ``successor`` replaces ``target``, whatever their dates.

Between two items the latest event decides, so superseding in the other direction undoes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.invalidate.lifecycle import Charge, point_of
from readmit.records.decisions import Cause
from readmit.records.events import Event, Supersede
from readmit.records.items import Obligation
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.records.snapshot import Held, Snapshot


class Named(msgspec.Struct, frozen=True):
    """A supersession that counts."""

    target: str
    successor: str
    event: Event


def named(everything: Iterable[Held], now: datetime) -> list[Named]:
    """The latest supersession between any two items, in log order."""
    latest: dict[frozenset[str], Named] = {}
    for held in everything:
        for event in held.marks:
            if isinstance(event.payload, Supersede) and event.holds(now):
                one = Named(event.payload.target, event.payload.successor, event)
                pair = frozenset((one.target, one.successor))
                if pair not in latest or latest[pair].event.epoch < event.epoch:
                    latest[pair] = one
    return sorted(latest.values(), key=lambda one: one.event.epoch)


def concerns(rival: Item, item: Item, reader: Identity) -> bool:
    """Whether a rival replaces the item for this reader. One that names principals replaces only for those."""
    named = item.scope.principals
    return reaches(rival, reader) or (bool(named) and set(named) <= set(rival.scope.principals))


def reaches(rival: Item, reader: Identity) -> bool:
    """Whether an item's scope includes the reader's principal."""
    return not rival.scope.principals or reader.principal in rival.scope.principals


def begun(held: Held, now: datetime) -> bool:
    """Whether an item's validity has started."""
    return held.item.valid.start is None or held.item.valid.start <= now


def charges(
    supersessions: Iterable[Named],
    known: Mapping[str, Held],
    flawed: AbstractSet[str],
    snapshot: Snapshot,
) -> Iterator[tuple[str, Charge]]:
    """Targets with the charge against each.

    A successor that has not begun leaves the target in force until it does. A duty is replaced only by another duty
    whose author may impose it: otherwise it would vanish. An item that names principals replaces only for those
    (``concerns``), but ranks after its target for everybody.
    """
    for one in supersessions:
        target, successor = known[one.target].item, known.get(one.successor)
        imposed = successor is not None and isinstance(successor.item, Obligation) and one.successor not in flawed
        if isinstance(target, Obligation) and not imposed:
            continue
        if successor is not None and not begun(successor, snapshot.now):
            continue
        why = one.event.payload.reason if isinstance(one.event.payload, Supersede) else ""
        cause = Cause(reason=Reason.SUPERSEDED, epoch=one.event.epoch, ref=one.successor, by=one.event.by, note=why)
        yield one.target, Charge(cause, point_of(one.event))

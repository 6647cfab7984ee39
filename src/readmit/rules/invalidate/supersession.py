"""Explicit supersession: ``successor`` replaces ``target``, whatever their dates.

It is about what the two state: between two statements the latest event decides, whatever recordings it names, so
superseding in the other direction undoes it. Within one statement it is about the two recordings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Event, Supersede
from readmit.records.decisions import Cause
from readmit.records.items import Item, Obligation
from readmit.records.reasons import Reason
from readmit.rules.invalidate.lifecycle import Charge, point_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held
    from readmit.rules.invalidate.repeated_statements import SameStatements


class Named(msgspec.Struct, frozen=True):
    """A supersession that counts."""

    target: str
    successor: str
    event: Event


def named(marked: Iterable[Held], known: Mapping[str, Held], same: SameStatements, now: datetime) -> list[Named]:
    """The supersessions in effect of items that events name, in log order: the latest between any two statements.

    One whose successor has not begun is not in effect: it neither ends its target nor undoes an earlier one.
    """
    latest: dict[frozenset[str], Named] = {}
    for one in sorted(said(marked, now), key=lambda one: one.event.epoch):
        if (successor := known.get(one.successor)) is None or begun(successor, now):
            latest[same.between(one.target, one.successor)] = one
    return sorted(latest.values(), key=lambda one: one.event.epoch)


def said(everything: Iterable[Held], now: datetime) -> Iterator[Named]:
    """The supersessions that hold, in effect or not."""
    for held in everything:
        for event in held.marks:
            if isinstance(event.payload, Supersede) and event.holds(now):
                yield Named(event.payload.target, event.payload.successor, event)


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
    policy: Policy,
) -> Iterator[tuple[str, Charge]]:
    """Targets with the charge against each.

    What binds is replaced only by what binds in its place, a duty by a duty and a constraint by a constraint, whose
    author may impose it: otherwise it would vanish. An item that names principals replaces only for those
    (``concerns``), but ranks after its target for everybody.
    """
    for one in supersessions:
        target, successor = known[one.target].item, known.get(one.successor)
        if policy.binds(target) and not (
            successor is not None
            and policy.binds(successor.item)
            and isinstance(target, Obligation) == isinstance(successor.item, Obligation)
            and one.successor not in flawed
        ):
            continue
        why = one.event.payload.reason if isinstance(one.event.payload, Supersede) else ""
        cause = Cause(reason=Reason.SUPERSEDED, epoch=one.event.epoch, ref=one.successor, by=one.event.by, note=why)
        yield one.target, Charge(cause, point_of(one.event))

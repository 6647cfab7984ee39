"""Same-identity updates: a newer item takes the place of an older one without naming it.

A slot holds one statement per task. Only a newer item with intact source bindings replaces an older one, so a
proposal without confirmation changes nothing. A replaced item does not come back when its replacement falls:
somebody has to say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.events import Rebase, Settle
from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from readmit.records.events import Event
    from readmit.records.snapshot import Held

Found = tuple[str, Cause]


def slots(held: Iterable[Held], flawed: AbstractSet[str], now: datetime) -> Iterator[Found]:
    """Items whose slot has a later statement, with the latest one as the cause."""
    current: dict[tuple[str, str], Held] = {}
    previous: dict[tuple[str, str], list[Held]] = {}
    for entry in held:
        item = entry.item
        if item.slot is None or type(item) is Obligation or type(item) is Frontier:
            continue
        key = (item.scope.task or "", item.slot)
        starts = item.valid.start
        counts = item.id not in flawed and (starts is None or starts <= now)
        if counts and key in current:
            previous.setdefault(key, []).append(current[key])
        if counts:
            current[key] = entry
        else:
            previous.setdefault(key, []).append(entry)
    for key, entries in previous.items():
        winner = current.get(key)
        for entry in entries:
            if winner is not None and winner.epoch > entry.epoch:
                cause = Cause(reason=Reason.SLOT_UPDATED, epoch=winner.epoch, ref=winner.item.id, by=winner.item.by)
                yield entry.item.id, cause


def frontiers(held: Iterable[Held], flawed: AbstractSet[str], now: datetime) -> Iterator[Found]:
    """Frontiers that a later, sourced one of the same obligation replaced, or whose obligation is settled."""
    newest: dict[str, Held] = {}
    entries = [entry for entry in held if type(entry.item) in (Frontier, Obligation)]
    for entry in entries:
        if isinstance(entry.item, Frontier) and entry.item.id not in flawed:
            newest[entry.item.obligation] = entry
    settled = {
        entry.item.id: mark
        for entry in entries
        for mark in entry.marks
        if isinstance(mark.payload, Settle) and mark.holds(now)
    }
    for entry in entries:
        if not isinstance(entry.item, Frontier):
            continue
        duty, latest = entry.item.obligation, newest.get(entry.item.obligation)
        if latest is not None and latest.epoch > entry.epoch:
            yield (
                entry.item.id,
                Cause(reason=Reason.FRONTIER_MOVED, epoch=latest.epoch, ref=latest.item.id, by=latest.item.by),
            )
        if duty in settled:
            yield entry.item.id, Cause(reason=Reason.SETTLED, epoch=settled[duty].epoch, ref=duty, by=settled[duty].by)


def rebases(held: Iterable[Held], events: Iterable[Event], task: str, now: datetime) -> Iterator[Found]:
    """Items whose source epoch precedes the epoch at which their slot started anew.

    An item of every task counts as one of the returning ``task``.
    """
    distinct = {event.epoch: event for event in events}.values()
    starts = [(event, event.payload) for event in distinct if isinstance(event.payload, Rebase) and event.holds(now)]
    if not starts:
        return
    for entry in held:
        slot, own = entry.item.slot, entry.item.scope.task or task
        if slot is None:
            continue
        for event, rebase in starts:
            below = slot == rebase.slot or slot.startswith(f"{rebase.slot}.")
            if below and entry.epoch < event.epoch and own == rebase.task:
                yield (
                    entry.item.id,
                    Cause(
                        reason=Reason.EPOCH_INCOMPATIBLE,
                        epoch=event.epoch,
                        ref=rebase.slot,
                        by=event.by,
                        note=rebase.reason,
                    ),
                )

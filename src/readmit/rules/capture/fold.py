"""``⊕``: apply events to a state. ``fold(fold(∅, before), after)`` equals ``fold(∅, before + after)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Event, EventKind, Resolve
from readmit.records.acts.kinds import targets_of
from readmit.records.items import Item
from readmit.records.snapshot import Held, WorkState

if TYPE_CHECKING:
    from collections.abc import Iterable


def fold(state: WorkState, events: Iterable[Event]) -> WorkState:
    """The state after some events, in log order."""
    held = dict(state.held)
    marks: dict[str, list[Event]] = {}
    resolutions, bank = dict(state.resolutions), list(state.bank)
    epoch = state.epoch
    for event in events:
        epoch = event.epoch
        payload = event.payload
        if isinstance(payload, Item):
            held[payload.id] = Held(payload, event.digest, epoch, salt=event.salt)
        elif isinstance(payload, Resolve):
            resolutions[payload.dispute] = (*resolutions.get(payload.dispute, ()), event)
        elif event.kind is EventKind.REMEMBER:
            bank.append(event)
        else:
            for target in targets_of(payload):
                marks.setdefault(target, []).append(event)
    for target, added in marks.items():
        # An event may also concern items that this identity cannot see.
        if (item := held.get(target)) is not None:
            held[target] = msgspec.structs.replace(item, marks=item.marks + tuple(added))
    return WorkState(epoch, held, resolutions, tuple(bank))

"""The newest item for each need that an item without a slot meets.

In a slot, the newer statement replaces the older one. Without a slot nothing says that two items are about the same
thing, and both stand; so of those that meet a need, a view holds the newest, whatever else it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason
from readmit.rules.cover.coverage import Supply, required, supported
from readmit.rules.invalidate.order import Order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.records.items import Item
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated


def newest_supporters(
    snapshot: Snapshot, gated: Gated, obligations: Iterable[Obligation], policy: Policy
) -> dict[str, Item]:
    """By need, the newest item that passes every gate, or would if it were shorter."""
    needs = required(obligations)
    if policy.newest == "as_needed" or not needs:
        return {}
    standing = list(_standing(snapshot, gated))
    # Most items have a slot.
    without_slot = supported(held.item for held in standing if held.item.slot is None) & needs
    if not without_slot:
        return {}
    supply, order = Supply(without_slot), Order(snapshot, policy)
    meeting: dict[str, list[Held]] = {}
    for held in standing:
        for need in supply.of(held.item):
            meeting.setdefault(need, []).append(held)
    return {need: max(several, key=order.key).item for need, several in meeting.items()}


def _standing(snapshot: Snapshot, gated: Gated) -> Iterator[Held]:
    for held in gated.eligible.values():
        if type(held.item) not in (Obligation, Frontier):
            yield held
    for name, rejected in gated.rejected.items():
        if rejected.reasons == (Reason.TOO_LARGE,) and type(snapshot.state.held[name].item) not in (
            Obligation,
            Frontier,
        ):
            yield snapshot.state.held[name]

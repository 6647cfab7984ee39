"""The newest item for each need that an item without a slot meets, or an item whose slot a model chose.

In a slot, the newer statement replaces the older one. Without a slot, or in one that is a model's hint, nothing says
that two items are about the same thing, and both stand; so of those that meet a need, a view holds the newest, whatever
else it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import Reason
from readmit.rules.cover.coverage import Supply, required, supported
from readmit.rules.invalidate.order import Order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated


def newest_supporters(
    snapshot: Snapshot, gated: Gated, obligations: Iterable[Obligation], policy: Policy
) -> dict[str, Item]:
    """By need, the newest item that passes every gate, or would if it were shorter."""
    needs = required(obligations)
    if policy.paper.newest == "as_needed" or not needs:
        return {}
    standing = list(_standing(snapshot, gated))
    # Most items have a slot that a person chose.
    loose = supported(held.item for held in standing if held.item.slot is None or held.item.drafted is not None) & needs
    if not loose:
        return {}
    supply, order = Supply(loose), Order(snapshot, policy)
    meeting: dict[str, list[Held]] = {}
    for held in standing:
        for need in supply.of(held.item):
            meeting.setdefault(need, []).append(held)
    return {
        need: max(several, key=lambda held: (held.item.id not in gated.doubted, order.key(held))).item
        for need, several in meeting.items()
    }


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

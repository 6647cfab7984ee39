"""Gathers the values of an item's page: its history, the causes against it, and the premises it hangs together with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.pages.item_entries import Sight
from readmit.pages.page_values import Happening, Heading, ShownItem, cut
from readmit.records.decisions import Disposition
from readmit.records.error_types import UnknownError
from readmit.records.identity import Identity
from readmit.records.reasons import State
from readmit.records.snapshot import WorkState
from readmit.rules.capture.fold import fold
from readmit.rules.gate.judge import distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from readmit.diagnosis.item_states import ListedItem, Listing
    from readmit.log.log import Log

BOXES, DEEPEST = 120, 8
"""Most items of a premise graph, and most links from the item in the middle."""
NODE_CHARS = 160


class PremiseNode(msgspec.Struct, frozen=True):
    """An item of a premise graph, and the next ones in one direction."""

    id: str
    text: str
    state: State | None
    below: tuple[PremiseNode, ...] = ()
    more: int = 0
    """How many next ones are not shown."""


class ItemPage(msgspec.Struct, frozen=True, kw_only=True):
    """An item as it is now, for any uninvolved reader of its task."""

    heading: Heading
    entry: ShownItem
    slot: str | None
    task: str | None
    history: tuple[Happening, ...]
    causes: tuple[Happening, ...]
    """The events against it, or against a premise of it."""
    rests_on: PremiseNode
    carries: PremiseNode


def item_values(log: Log, listing: Listing, name: str, *, now: datetime) -> ItemPage:
    """The page values of one item."""
    if name not in listing.items:
        raise UnknownError(f"no item {name!r} in workspace {log.workspace!r}")
    listed = listing.items[name]
    item = listed.item
    reader = Identity(workspace=log.workspace, principal="", role="", task=item.scope.task or "")
    involved = {ref for cause in listed.causes for ref in (cause.ref, cause.root) if ref in listing.items}
    head = log.head
    held = fold(WorkState(), log.about({name, *involved}, until=head)).held
    sight = Sight(log, reader, held, {})
    judged = {ref: said for ref in (name, *involved) if (said := _judged(listing.items[ref], held[ref].digest))}
    events = log.about([name], until=head)
    against = sorted({cause.epoch for cause in listed.causes if cause.epoch is not None})
    resting: dict[str, list[str]] = {}
    for other, one in listing.items.items():
        for premise in one.item.depends_on:
            resting.setdefault(premise, []).append(other)

    def premises(of: str) -> Sequence[str]:
        return listing.items[of].item.depends_on if of in listing.items else ()

    def dependents(of: str) -> Sequence[str]:
        return resting.get(of, ())

    return ItemPage(
        heading=Heading(workspace=log.workspace, title=f"Item {name}", facts=(), made=now),
        entry=sight.entry(held[name], judged, events[0].at),
        slot=item.slot,
        task=item.scope.task,
        history=tuple(map(sight.worded, events)),
        causes=tuple(sight.worded(log.event(epoch)) for epoch in against),
        rests_on=_Graph(sight, listing.items, premises).node(name, 0),
        carries=_Graph(sight, listing.items, dependents).node(name, 0),
    )


def _judged(one: ListedItem, digest: str) -> Disposition | None:
    if one.state is None:
        return None
    return Disposition(
        item=one.item.id, digest=digest, state=one.state, reasons=distinct(one.causes), causes=one.causes
    )


class _Graph:
    """Walks from an item in one direction, and shows each item once."""

    def __init__(
        self, sight: Sight, items: Mapping[str, ListedItem], following: Callable[[str], Sequence[str]]
    ) -> None:
        self._sight = sight
        self._items = items
        self._following = following
        self._met: set[str] = set()

    def node(self, name: str, depth: int) -> PremiseNode:
        """An item with its next ones."""
        self._met.add(name)
        fresh = [one for one in self._following(name) if one not in self._met]
        shown = fresh[: max(0, BOXES - len(self._met))] if depth < DEEPEST else []
        below = tuple(self.node(one, depth + 1) for one in shown if one not in self._met)
        listed = self._items.get(name)
        text = "" if listed is None else cut(self._sight.says(listed.item), NODE_CHARS)
        return PremiseNode(name, text, None if listed is None else listed.state, below, len(fresh) - len(below))

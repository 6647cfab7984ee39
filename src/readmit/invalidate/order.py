"""Which of two items about the same thing came later (the paper compares source epochs).

An item starts when it begins to be valid or when its latest own evidence was true, whichever is later. Evidence counts
from its own moment, but never from one later than the log learnt it, so nobody gains by dating back or ahead.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Sighting, Snapshot

NEVER = datetime.min.replace(tzinfo=UTC)


class Key(NamedTuple):
    """The order of items: by start, then by the position of the evidence, then by the position of the item."""

    start: datetime
    position: int
    epoch: int


class Rank(NamedTuple):
    """A place in the order. A successor that was named outright takes its target's ``base`` and lies directly after."""

    base: Key
    depth: int
    own: Key


class Point(NamedTuple):
    """A place in the log and a moment: of evidence, or of what was held against a statement."""

    position: int
    said: datetime

    def later_than(self, other: Point) -> bool:
        """Later in the log and no earlier by its date. In doubt it is not later."""
        return self.position > other.position and self.said >= other.said


class Order:
    """The order of the items of one snapshot. Worked out for the items that are asked for: most have no rival."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self._evidence: Mapping[str, Sighting] = snapshot.evidence
        self._writers = frozenset(policy.writers)
        self._sources: dict[str, Point] = {}

    def source(self, held: Held) -> Point:
        """The latest own evidence of an item, as far as it passes the provenance gate; without any, the beginning."""
        known = self._sources.get(held.item.id)
        if known is None:
            known = self._sources[held.item.id] = self._latest(held)
        return known

    def _latest(self, held: Held) -> Point:
        position, said = 0, NEVER
        for receipt in held.item.receipts:
            sighting = self._evidence.get(receipt.evidence)
            if sighting is None or not sighting.intact or "item" not in receipt.binds:
                continue
            if not self._writers or sighting.by in self._writers:
                position, said = max(position, sighting.epoch), max(said, sighting.said)
        return Point(position, said)

    def key(self, held: Held) -> Key:
        """The place of an item by its dates."""
        position, said = self.source(held)
        start = held.item.valid.start
        return Key(said if start is None else max(said, start), position, held.epoch)


def ranks(members: Iterable[Held], order: Order, after: Mapping[str, Sequence[str]]) -> dict[str, Rank]:
    """The rank of each item. ``after`` maps an item to those that it was named outright to replace."""
    keys = {held.item.id: order.key(held) for held in members}
    if after.keys().isdisjoint(keys):
        return {name: Rank(key, 0, key) for name, key in keys.items()}
    ranked: dict[str, Rank] = {}
    met: set[str] = set()
    for first in keys:
        path = [first]
        while path:
            name = path[-1]
            targets = [target for target in after.get(name, ()) if target in keys] if name not in ranked else []
            ahead = [target for target in targets if target not in met]
            met.add(name)
            if ahead:
                path += ahead
                continue
            path.pop()
            if name not in ranked:
                behind = [ranked[target] for target in targets if target in ranked]
                own = keys[name]
                ranked[name] = max([Rank(own, 0, own), *(Rank(one.base, one.depth + 1, own) for one in behind)])
    return ranked

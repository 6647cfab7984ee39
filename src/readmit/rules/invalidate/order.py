"""Which of two items about the same thing came later (the paper compares source epochs).

An item starts when it begins to be valid or when its latest own evidence was true, whichever is later. Evidence
without a date counts from the log's moment at its position, so the log orders it, whatever a host's clock says.
Evidence with a date counts from that, but never from later than the log learnt it: backdating and postdating gain
nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Sighting, Snapshot

NEVER = datetime.min.replace(tzinfo=UTC)


class Key(NamedTuple):
    """The order of items: by start, then by the position of the evidence, then by the position of the item."""

    start: datetime
    position: int
    epoch: int


class Placement(NamedTuple):
    """The event that gave an item its place: its record, or a later one that put it above another."""

    epoch: int
    by: str


class Rank(NamedTuple):
    """A place in the order. An explicitly named successor takes its target's ``base`` and comes directly after it."""

    base: Key
    depth: int
    own: Key
    since: Placement

    def put_after(self, other: Rank, act: Placement) -> Rank:
        """The place directly after another, by an act."""
        return Rank(other.base, other.depth + 1, self.own, max(self.since, other.since, act))


class Point(NamedTuple):
    """A position in the log and a moment: of evidence, or of a cause against a statement."""

    position: int
    said: datetime

    def later_than(self, other: Point) -> bool:
        """Later in the log and no earlier by its date; otherwise not later."""
        return self.position > other.position and self.said >= other.said


class Order:
    """The order of the items of one snapshot. Computed on demand: most items have no rival."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self._evidence: Mapping[str, Sighting] = snapshot.evidence
        self._writers = frozenset(policy.evidence.writers)
        self._own: dict[str, tuple[Point, ...]] = {}

    def own(self, held: Held) -> tuple[Point, ...]:
        """An item's own evidence that passes the provenance gate."""
        known = self._own.get(held.item.id)
        if known is None:
            known = self._own[held.item.id] = tuple(self._passing(held))
        return known

    def _passing(self, held: Held) -> Iterator[Point]:
        for receipt in held.item.receipts:
            sighting = self._evidence.get(receipt.evidence)
            if sighting is None or not sighting.intact or "item" not in receipt.binds:
                continue
            if not self._writers or sighting.by in self._writers:
                yield Point(sighting.epoch, sighting.said)

    def source(self, held: Held) -> Point:
        """The latest place and the latest moment of an item's own evidence; without any, the beginning."""
        own = self.own(held)
        if len(own) == 1:
            return own[0]
        return Point(max((one.position for one in own), default=0), max((one.said for one in own), default=NEVER))

    def confirms(self, held: Held, raised: Point) -> bool:
        """Whether some own evidence of an item is later than a cause against its statement."""
        return any(one.later_than(raised) for one in self.own(held))

    def key(self, held: Held) -> Key:
        """The rank of an item by its dates."""
        position, said = self.source(held)
        start = held.item.valid.start
        return Key(said if start is None else max(said, start), position, held.epoch)


def ranks(
    members: Iterable[Held],
    order: Order,
    after: Mapping[str, Mapping[str, Placement]],
    raised: Mapping[str, Rank] = MappingProxyType({}),
) -> dict[str, Rank]:
    """The rank of each item.

    ``after`` maps an item to those that it was explicitly named to replace, each with the act that names it. ``raised``
    holds minimum ranks of some items.
    """
    own = {held.item.id: _by_date(held, order.key(held)) for held in members}
    if not raised and after.keys().isdisjoint(own):
        return own
    ranked: dict[str, Rank] = {}
    met: set[str] = set()
    for first in own:
        path = [first]
        while path:
            name = path[-1]
            targets = [target for target in after.get(name, ()) if target in own] if name not in ranked else []
            ahead = [target for target in targets if target not in met]
            met.add(name)
            if ahead:
                path += ahead
                continue
            path.pop()
            if name not in ranked:
                behind = [(ranked[target], after[name][target]) for target in targets if target in ranked]
                least = raised.get(name, own[name])
                ranked[name] = max([least, *(own[name].put_after(one, act) for one, act in behind)])
    return ranked


def _by_date(held: Held, key: Key) -> Rank:
    return Rank(key, 0, key, Placement(held.epoch, held.item.by))

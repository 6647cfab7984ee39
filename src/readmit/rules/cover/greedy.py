"""The paper's selector: most newly covered dependencies per unit of disclosure cost (equation for the gain).

It stops as soon as coverage is sufficient, since every further item only adds cost. It can miss a sufficient
set that exists (``exact`` does not), and claims no approximation guarantee.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING

from readmit.rules.cover.budget import Room, cost
from readmit.rules.cover.coverage import Supply, critical, least, required

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.records.items import Item, Obligation
    from readmit.records.policy import Policy

# A gain is compared as ⌊2**64 · w / c⌋. Two different gains differ by at least 1/(c·c'), which is more than
# 2**-64 while texts are shorter than 2**32 characters; so the floors are equal only for equal gains.
_SCALE = 64


def greedy(
    evidence: Sequence[Item],
    obligations: Sequence[Obligation],
    policy: Policy,
    room: Room,
    *,
    met: frozenset[str] = frozenset(),
) -> tuple[Item, ...]:
    """The greedy set in the order of addition: sufficient, or as far as the budget allowed.

    ``met`` names dependencies that are covered already.
    """
    vital = critical(obligations)
    weight = {dependency: 2 if dependency in vital else 1 for dependency in required(obligations) - met}
    supply = Supply(frozenset(weight))
    # Of items that cover the same, only the first of the cheapest: if it is chosen, the others add nothing, and if it
    # does not fit, neither do they.
    cheapest: dict[frozenset[str], tuple[int, str, int]] = {}
    for index, item in enumerate(evidence):
        relevant = supply.of(item)
        if relevant:
            price, known = cost(item), cheapest.get(relevant)
            if known is None or (price, item.id) < known:
                cheapest[relevant] = (price, item.id, index)
    heap = [
        (-((sum(map(weight.__getitem__, relevant)) << _SCALE) // price), price, name, index, relevant)
        for relevant, (price, name, index) in cheapest.items()
    ]
    heapify(heap)

    tally = _Tally(obligations, policy)
    tally.add(met)
    chosen: list[Item] = []
    while heap and not tally.sufficient:
        negative, price, name, index, relevant = heap[0]
        item = evidence[index]
        fresh = relevant - tally.covered
        # Budget and gains only shrink: what does not fit now never will, and a stale gain is an upper bound.
        if not fresh or not room.fits(item):
            heappop(heap)
            continue
        gain = (sum(map(weight.__getitem__, fresh)) << _SCALE) // price
        if gain != -negative:
            heapreplace(heap, (-gain, price, name, index, fresh))
            continue
        heappop(heap)
        chosen.append(item)
        room = room.after([item])
        tally.add(fresh)
    return tuple(chosen)


class _Tally:
    """``Cov`` and ``Crit`` kept up to date as dependencies become covered."""

    def __init__(self, obligations: Sequence[Obligation], policy: Policy) -> None:
        self.covered: set[str] = set()
        self._critical = critical(obligations)
        self._lacking = [len(set(obligation.required)) for obligation in obligations]
        self._needed_by: dict[str, list[int]] = defaultdict(list)
        for index, obligation in enumerate(obligations):
            for dependency in set(obligation.required):
                self._needed_by[dependency].append(index)
        self._obligations_short = least(policy.paper.gamma, len(obligations)) - self._lacking.count(0)
        self._critical_short = least(policy.paper.rho, len(self._critical))

    @property
    def sufficient(self) -> bool:
        return self._obligations_short <= 0 and self._critical_short <= 0

    def add(self, fresh: Iterable[str]) -> None:
        for dependency in fresh:
            self.covered.add(dependency)
            self._critical_short -= dependency in self._critical
            for index in self._needed_by[dependency]:
                self._lacking[index] -= 1
                self._obligations_short -= self._lacking[index] == 0

"""Statements about one slot that were written without knowledge of each other (the paper's open question).

The log has a dispute for each, written by readmit together with the later statement. A resolution settles it, or a
supersession between its sides; otherwise the policy does: the newest stands, or the one whose writer ranks higher, or
neither until somebody settles it.

A plan that later news passed over has such a dispute too, from the plan's date on. Which of the two the slot holds then
depends on what else was said about it (``replacement``).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.acts.event import Dispute, Event
from readmit.records.decisions import Cause
from readmit.records.reasons import Reason
from readmit.rules.invalidate.lifecycle import Charge, outcome, point_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held


def contest_charges(
    held: Held,
    resolutions: Mapping[str, Event],
    known: Mapping[str, Held],
    settled: Callable[[str, str], bool],
    *,
    policy: Policy,
    now: datetime,
) -> Iterator[Charge]:
    """The charges against one side. ``settled``: whether a supersession decides between two items."""
    for event in held.marks:
        if not isinstance(event.payload, Dispute) or (event.payload.basis is None and event.payload.plan is None):
            continue
        sides, planned = event.payload.items, event.payload.plan is not None
        if planned and not event.holds(now):
            continue
        if event.name in resolutions:
            yield from outcome(held, event, resolutions)
        elif not planned and not any(settled(one, other) for one, other in combinations(sides, 2)):
            yield from _by_policy(held, event, [known[name] for name in sides if name in known], policy)


class PassedOver(NamedTuple):
    """A plan, later news about its slot, and which of the two somebody or the policy prefers, if any."""

    plan: Held
    news: Held
    event: Event
    preferred: str | None

    def contests(self, held: Held) -> Cause:
        """The cause against one of the two, if neither is preferred."""
        other = self.news if held.item.id == self.plan.item.id else self.plan
        note = ""
        if not self.news.item.scope.principals and not self.plan.item.scope.principals:
            # Items for particular principals are not named to everybody.
            note = (
                f"{other.item.by} wrote {other.item.id} after it was planned"
                if other is self.news
                else f"{other.item.by} had planned {other.item.id}"
            )
        return _charge(Reason.CONCURRENT_UPDATE, self.event, other, note).cause


def passed_over(
    everything: Iterable[Held],
    known: Mapping[str, Held],
    *,
    decided: Callable[[Event], bool],
    prefers: Callable[[str, Cause], bool],
    policy: Policy,
    now: datetime,
) -> dict[str, list[PassedOver]]:
    """By plan: the news that passed it over, as far as that is not settled.

    ``decided``: whether a resolution or a supersession settled a dispute. ``prefers``: whether an overseer set the
    cause aside for an item.
    """
    found: dict[str, list[PassedOver]] = {}
    for held in everything:
        for event in held.marks:
            if not isinstance(event.payload, Dispute) or event.payload.plan != held.item.id:
                continue
            news = known.get(event.payload.items[-1])
            if news is None or not event.holds(now) or decided(event):
                continue
            one = PassedOver(held, news, event, None)
            settled = (side.item.id for side in (held, news) if prefers(side.item.id, one.contests(side)))
            chosen = next(settled, None) or _preferred(held, news, policy)
            found.setdefault(held.item.id, []).append(one._replace(preferred=chosen))
    return found


def _preferred(plan: Held, news: Held, policy: Policy) -> str | None:
    if policy.evidence.on_concurrent == "newest":
        return news.item.id
    if policy.evidence.ranks and _rank(plan, policy) != _rank(news, policy):
        return min(plan, news, key=lambda side: _rank(side, policy)).item.id
    return None


def _by_policy(held: Held, event: Event, sides: list[Held], policy: Policy) -> Iterator[Charge]:
    if policy.evidence.on_concurrent == "newest":
        # The order of the slot decides, as between any two statements. The dispute is on record.
        return
    others = [side for side in sides if side is not held]
    best = [side for side in sides if _rank(side, policy) == min(_rank(one, policy) for one in sides)]
    if policy.evidence.ranks and len({side.item.by for side in best}) == 1:
        if held not in best:
            yield _charge(Reason.DISPUTE_LOST, event, best[0], "the policy's on_concurrent ranks its writer higher")
        return
    yield _charge(Reason.CONCURRENT_UPDATE, event, others[0] if others else held, _named(others))


def _rank(side: Held, policy: Policy) -> int:
    ranked = policy.evidence.ranks
    return ranked.index(side.item.by) if side.item.by in ranked else len(ranked)


def _named(others: Iterable[Held]) -> str:
    """The other sides. Those for particular principals are not named to everybody."""
    shared = [f"{one.item.by} wrote {one.item.id}" for one in others if not one.item.scope.principals]
    return f"{', '.join(shared)} at the same time"[:2_000] if shared else ""


def _charge(reason: Reason, event: Event, other: Held, note: str) -> Charge:
    return Charge(Cause(reason=reason, epoch=event.epoch, ref=event.name, by=other.item.by, note=note), point_of(event))

"""Statements about one slot that were written without knowledge of each other (the paper's open question).

The log has a dispute for each, written by readmit together with the later statement. A resolution settles it, or a
supersession between its sides; otherwise the policy does: the newest stands, or the one whose writer ranks higher, or
neither until somebody settles it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.invalidate.lifecycle import Charge, outcome, point_of
from readmit.records.decisions import Cause
from readmit.records.events import Dispute, Event
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from readmit.invalidate.supersession import Named
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held


def charges(
    held: Held,
    resolutions: Mapping[str, Event],
    known: Mapping[str, Held],
    named: Iterable[Named],
    policy: Policy,
) -> Iterator[Charge]:
    """The charges against one side."""
    for event in held.marks:
        sides = event.payload.items if isinstance(event.payload, Dispute) and event.payload.basis is not None else ()
        if not sides:
            continue
        if event.name in resolutions:
            yield from outcome(held, event, resolutions)
        elif not any(one.target in sides and one.successor in sides for one in named):
            yield from _by_policy(held, event, [known[name] for name in sides if name in known], policy)


def _by_policy(held: Held, event: Event, sides: list[Held], policy: Policy) -> Iterator[Charge]:
    if policy.on_concurrent == "newest":
        # The order of the slot decides, as between any two statements. The dispute is on record.
        return
    others = [side for side in sides if side is not held]
    best = [side for side in sides if _rank(side, policy) == min(_rank(one, policy) for one in sides)]
    if policy.on_concurrent == "authority" and len({side.item.by for side in best}) == 1:
        if held not in best:
            yield _charge(Reason.DISPUTE_LOST, event, best[0], "the policy's authority ranks its writer higher")
        return
    yield _charge(Reason.CONCURRENT_UPDATE, event, others[0] if others else held, _named(others))


def _rank(side: Held, policy: Policy) -> int:
    ranked = policy.authority
    return ranked.index(side.item.by) if side.item.by in ranked else len(ranked)


def _named(others: Iterable[Held]) -> str:
    """The other sides. Those for particular principals are not named to everybody."""
    shared = [f"{one.item.by} wrote {one.item.id}" for one in others if not one.item.scope.principals]
    return f"{', '.join(shared)} at the same time"[:2_000] if shared else ""


def _charge(reason: Reason, event: Event, other: Held, note: str) -> Charge:
    return Charge(Cause(reason=reason, epoch=event.epoch, ref=event.name, by=other.item.by, note=note), point_of(event))

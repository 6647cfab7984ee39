"""The items of a view: everything owed, or whole duties if the policy allows it, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.decisions import Request, Selection
from readmit.records.items import Fact, Frontier, Item, Obligation
from readmit.records.reasons import Reason
from readmit.rules.cover.choose import Pool, choose
from readmit.rules.cover.coverage import report, required, supported
from readmit.rules.cover.find import Deadline
from readmit.rules.cover.lists import listed
from readmit.rules.cover.newest_first import newest_supporters
from readmit.rules.cover.partial import choose_whole_duties
from readmit.rules.invalidate.order import Order

if TYPE_CHECKING:
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.duties import Duties
    from readmit.rules.gate.judge import Gated


def select(request: Request, snapshot: Snapshot, gated: Gated, duties: Duties, deadline: Deadline) -> Selection:
    """The set-level half of the cycle."""
    pool = _pool(request, snapshot, gated, duties, deadline)
    policy, looked = request.policy, request.examination
    if policy.returns.examination == "required" and (looked is None or looked.unexamined):
        return _unexamined(pool, duties)
    selection = choose(pool, duties.owed, (*duties.absent, *duties.obstructed))
    if (
        selection.outcome != "found"
        and policy.returns.on_incomplete == "partial"
        and duties.owed
        and not duties.obstructed
    ):
        late = Deadline.MET_BY_ALL if selection.timed_out else deadline
        return choose_whole_duties(msgspec.structs.replace(pool, deadline=late), duties) or selection
    return selection


def _pool(request: Request, snapshot: Snapshot, gated: Gated, duties: Duties, deadline: Deadline) -> Pool:
    order = Order(snapshot, request.policy)
    eligible = [held for held in gated.eligible.values() if type(held.item) not in (Obligation, Frontier)]
    lists = listed(eligible, duties.obligations)
    filling = request.policy.returns.fill in (("always",) if duties.owed else ("always", "nothing_owed"))
    return Pool(
        # Facts first, then constraints, each in log order.
        evidence=(
            *[held.item for held in eligible if type(held.item) is Fact],
            *[held.item for held in eligible if type(held.item) is not Fact],
        ),
        newest=_newest(eligible, order, gated) if filling else (),
        lists=lists,
        members=_newest([held for held in eligible if not lists.isdisjoint(held.item.covers)], order, gated),
        needless=_needless(eligible, gated.doubted, required(duties.obligations)),
        policy=request.policy,
        deadline=deadline,
        instead=_instead(snapshot, gated, order),
        latest=newest_supporters(snapshot, gated, duties.obligations, request.policy),
    )


def _instead(snapshot: Snapshot, gated: Gated, order: Order) -> dict[str, frozenset[str]]:
    """For each draft of what replaced an item: the dependencies that the item had met, if the item is out.

    A dependency that something newer meets is left out: the newer item says what is true now.
    """
    found: dict[str, frozenset[str]] = {}
    for name in gated.drafted:
        held = gated.eligible[name]
        drafted = held.item.drafted
        if drafted is not None and drafted.instead_of is not None and drafted.instead_of not in gated.eligible:
            before = snapshot.state.held.get(drafted.instead_of)
            newer = (one for one in gated.eligible.values() if order.key(one) > order.key(held))
            had = frozenset(() if before is None else before.item.covers)
            found[name] = had.difference(*(one.item.covers for one in newer))
    return found


def _needless(eligible: list[Held], doubted: frozenset[str], needs: frozenset[str]) -> frozenset[str]:
    """Doubted items that meet only needs which another item meets."""
    if not doubted:
        return doubted
    lacking = needs - supported(held.item for held in eligible if held.item.id not in doubted)
    return frozenset(
        held.item.id for held in eligible if held.item.id in doubted and lacking.isdisjoint(held.item.covers)
    )


def _newest(eligible: list[Held], order: Order, gated: Gated) -> tuple[Item, ...]:
    """The newest first, doubted items last."""
    ranked = sorted(eligible, key=lambda held: (held.item.id not in gated.doubted, order.key(held)), reverse=True)
    return tuple(held.item for held in ranked)


def _unexamined(pool: Pool, duties: Duties) -> Selection:
    coverage = report(duties.obligations, supported(pool.evidence))
    return Selection(outcome="infeasible", reasons=(Reason.NOT_EXAMINED,), report=coverage)

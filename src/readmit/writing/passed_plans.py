"""Plans that later news passes over: found when the news is written, and reported to the writers of both.

News passes a plan over if it comes from later evidence, begins before the plan, does not end by then, and says
something else than what stood when the plan was recorded. Then readmit itself writes a dispute that begins with the
plan.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.acts.event import Dispute, Event, EventKind
from readmit.records.canonical import digest
from readmit.records.identity import own_id
from readmit.records.items import Item
from readmit.records.policy import AUTHOR, Policy
from readmit.records.reasons import Reason, State
from readmit.records.remedies import Remedy, act
from readmit.records.same_statement import same_statement
from readmit.records.snapshot import WorkState
from readmit.rules.capture.fold import fold
from readmit.rules.capture.moment import later
from readmit.rules.invalidate.order import Order
from readmit.writing.new_event import append_own
from readmit.writing.rights import known_to
from readmit.writing.slot_check import JudgedSlot, SlotUse, judged, overlap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from readmit.log.log import Log

_OVER = frozenset({State.REVOKED, State.EXPIRED, State.UNPROVEN})
_OF_THE_SLOT = frozenset({Reason.SLOT_UPDATED, Reason.SLOT_CONTESTED, Reason.CONCURRENT_UPDATE, Reason.NOT_YET_VALID})


class Notice(msgspec.Struct, frozen=True):
    """A plan and later news about its slot. From the plan's date on the slot is contested."""

    dispute: str
    slot: str
    plan: str
    planned_by: str
    news: str
    written_by: str
    since: datetime
    on_concurrent: Literal["ask", "newest"] | tuple[str, ...] = "ask"

    def __str__(self) -> str:
        decides = self.on_concurrent if isinstance(self.on_concurrent, str) else ", ".join(self.on_concurrent)
        then = (
            "Say which of them holds."
            if self.on_concurrent == "ask"
            else f"The policy's on_concurrent decides: {decides}."
        )
        return (
            f"From {self.since:%Y-%m-%d %H:%M} UTC on, {self.slot} is contested: {self.planned_by} planned {self.plan} "
            f"for then, and {self.written_by} wrote {self.news} after that. {then}"
        )

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The ways to settle it, for the news or for the plan."""
        return (
            act("supersede", self.plan, self.news, by=self.written_by),
            act("supersede", self.news, self.plan, by=self.planned_by),
        )


def contest_plans(log: Log, item: Item, named: Collection[str], policy: Policy, now: datetime) -> None:
    """Put on record which plans an item at the end of the log passes over. ``named``: items that its writer names."""
    for event in log.milestones(EventKind.RECORD, item.slot or ""):
        plan = event.payload
        if isinstance(plan, Item) and _comparable(plan, item, named, policy) and _passes(log, event, item, policy, now):
            _contest(log, plan, item, now)


def _comparable(plan: Item, item: Item, named: Collection[str], policy: Policy) -> bool:
    """Whether two items say different things about one slot to the same readers, and the second reaches the first."""
    start, end = plan.valid.start, item.valid.end
    return (
        start is not None
        and plan.id not in (item.id, *named)
        and _words(plan) != _words(item)
        # Only a constraint takes the place of a constraint.
        and policy.constrains(plan) == policy.constrains(item)
        and (end is None or end > start)
        and (plan.scope.task is None or item.scope.task is None or plan.scope.task == item.scope.task)
        and overlap(plan.scope.principals, item.scope.principals)
        and overlap(plan.purposes, item.purposes)
        and overlap(plan.applies_to, item.applies_to)
    )


def _passes(log: Log, event: Event, item: Item, policy: Policy, now: datetime) -> bool:
    plan = event.payload
    assert isinstance(plan, Item)  # noqa: S101 - _comparable has seen to it
    use = _use(plan, item)
    found = judged(log, use, policy, now)
    if found is None or not {plan.id, item.id} <= found.causes.keys():
        return False
    order = Order(found.snapshot, policy)
    planned, news = (found.snapshot.state.held[name] for name in (plan.id, item.id))
    if not order.key(news) < order.key(planned) or not order.confirms(news, order.source(planned)):
        return False
    if _is_over(found, plan.id) or not {cause.reason for cause in found.causes[item.id]} <= _OF_THE_SLOT:
        return False
    before = judged(log, use, policy, event.learnt, until=event.epoch - 1)
    stood = () if before is None else [held.item for held in before.standing()]
    return _words(item) not in map(_words, stood)


def _is_over(found: JudgedSlot, name: str) -> bool:
    return any(cause.reason.state in _OVER or cause.reason is Reason.SUPERSEDED for cause in found.causes[name])


def _use(plan: Item, item: Item) -> SlotUse:
    """The use of a slot in which two items meet."""
    principals = [name for name in item.scope.principals or plan.scope.principals if _may_read(plan, name)]
    return SlotUse(
        item.slot or "",
        plan.scope.task or item.scope.task,
        item.purposes or plan.purposes,
        principal=next(iter(principals), ""),
    )


def _may_read(item: Item, principal: str) -> bool:
    return not item.scope.principals or principal in item.scope.principals


def _words(item: Item) -> tuple[str, str]:
    return item.kind, item.text


def _contest(log: Log, plan: Item, item: Item, now: datetime) -> None:
    about = fold(WorkState(), log.about([plan.id], until=log.head))
    for event in about.held[plan.id].marks:
        known = isinstance(event.payload, Dispute) and event.payload.plan == plan.id and event.payload.items[-1]
        if known and event.name not in about.resolutions and same_statement(log.item(known), item):
            return
    said, name = "", ""
    if not plan.scope.principals and not item.scope.principals:
        # Items for particular principals are not named to everybody.
        said = f"{item.by} wrote {item.id} after {plan.by} had planned {plan.id}"[:2_000]
        name = f"plan-{plan.id}-{item.id}"[:128]
    payload = Dispute(items=(plan.id, item.id), plan=plan.id, reason=said)
    if not name or log.named(EventKind.DISPUTE, name) is not None:
        name = own_id(AUTHOR, digest(payload)[:32])
    begins = later(plan.valid.start or now, now)
    append_own(log, EventKind.DISPUTE, payload, id=name, by=AUTHOR, at=begins, now=now)


def notices(log: Log, by: str | None, policy: Policy, now: datetime) -> Iterator[Notice]:
    """Plans that are contested, or will be, as far as a writer of one side may know, or as everybody may."""
    for event in log.milestones(EventKind.DISPUTE):
        if not isinstance(event.payload, Dispute) or event.payload.plan is None:
            continue
        plan, news = sides = [log.item(name) for name in (event.payload.plan, event.payload.items[-1])]
        if not _is_for(sides, by, policy):
            continue
        asked = policy.changed(evidence={"on_concurrent": "ask"})
        found = judged(log, _use(plan, news), asked, later(event.effective, now))
        causes = () if found is None else found.causes.get(plan.id, ())
        if any(cause.ref == event.name and cause.reason is Reason.CONCURRENT_UPDATE for cause in causes):
            yield Notice(
                event.name,
                plan.slot or "",
                plan.id,
                plan.by,
                news.id,
                news.by,
                event.effective,
                policy.evidence.on_concurrent,
            )


def _is_for(sides: Sequence[Item], by: str | None, policy: Policy) -> bool:
    if by is None:
        return not any(item.scope.principals for item in sides)
    return by in [item.by for item in sides] and all(known_to(item, by, lambda: policy) for item in sides)

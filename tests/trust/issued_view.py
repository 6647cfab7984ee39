"""A small team's state, and the view that one return of it was issued."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from readmit import DutyState, Identity, Policy
from readmit.events import EventKind
from readmit.lab import digest, report
from readmit.records.decisions import Request, Selection
from readmit.records.items import CONSTRAINTS
from readmit.records.snapshot import Held
from readmit.rules.cover.coverage import supported
from readmit.rules.gate.constraints import Limit
from readmit.rules.gate.duties import Duties, Duty
from readmit.rules.readmission.view import issue
from readmit.trust.private_keys import MemoryRing
from readmit.types import Event, Experience, Fact, Frontier, Item, Obligation, ReturnView, RoleConstraint, Scope

if TYPE_CHECKING:
    from readmit.records.acts.event import KeyChange

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
IDENTITY = Identity(workspace="trip", principal="A1", role="planner", task="family-trip")
SCOPE = Scope(workspace="trip")
POLICY = Policy()
CHECKPOINT = "c" * 64

HOTEL = Obligation(id="o1", text="Confirm the hotel.", by="A2", scope=SCOPE, required=("d_a", "d_b"), critical=("d_a",))
FRONTIER = Frontier(id="f1", text="Dates are open.", by="A2", scope=SCOPE, obligation="o1")
BOOKED = Fact(id="h1", text="Moonlight is booked.", by="A2", scope=SCOPE, slot="hotel.booking", supports=("d_a",))
PAID = Fact(id="p1", text="The deposit is paid.", by="A3", scope=SCOPE, supports=("d_b",))
QUIET = RoleConstraint(id="c1", text="Quiet rooms only.", by="A3", scope=SCOPE)
ITEMS: tuple[Item, ...] = (HOTEL, FRONTIER, BOOKED, PAID, QUIET)
MEMORY = Experience(id="e1", owner="A1", text="They answer the phone after nine.", bound_to="h1")
OTHER_MEMORY = Experience(id="e2", owner="A1", text="Parking is behind the house.", bound_to="p1")

RING = MemoryRing()
SIGNER = RING.generate()
KEYS = {SIGNER.keyid: SIGNER.public}


def request(policy: Policy = POLICY, now: datetime = NOW) -> Request:
    return Request(
        return_id="r1",
        identity=IDENTITY,
        instance="w1",
        nonce="n1",
        now=now,
        policy=policy,
        checkpoint="k1",
        epoch=7,
        rules=1,
    )


def held(items: tuple[Item, ...]) -> dict[str, Held]:
    return {item.id: Held(item=item, digest=digest(item), epoch=1) for item in items}


def selection(items: tuple[Item, ...]) -> Selection:
    owed = [item for item in items if isinstance(item, Obligation)]
    return Selection(
        outcome="found",
        items=tuple(item.id for item in items),
        chars=sum(item.length for item in items),
        report=report(owed, supported(items)),
    )


def owing(*records: Item, state: DutyState = DutyState.OWED) -> Duties:
    """The obligations among the records as duties in one state, each with its frontier among them."""
    frontiers = {item.obligation: item for item in records if isinstance(item, Frontier)}
    found = (item for item in records if isinstance(item, Obligation))
    limits = tuple(Limit(item, DutyState.OWED) for item in records if isinstance(item, CONSTRAINTS))
    return Duties(tuple(Duty(item, state, frontiers.get(item.id)) for item in found), limits=limits)


def view_of(
    items: tuple[Item, ...] = ITEMS,
    experiences: tuple[Experience, ...] = (MEMORY, OTHER_MEMORY),
    policy: Policy = POLICY,
) -> ReturnView:
    banked = [(one, digest(one)) for one in experiences]
    return issue(request(policy), selection(items), held(items), banked, checkpoint=CHECKPOINT, policy=digest(policy))


def logged(*changes: KeyChange) -> list[Event]:
    return [
        Event(
            epoch=epoch,
            id=f"k{epoch}",
            kind=EventKind.KEY,
            by="ops",
            at=NOW,
            learnt=NOW,
            payload=change,
            digest=digest(change),
        )
        for epoch, change in enumerate(changes, start=1)
    ]

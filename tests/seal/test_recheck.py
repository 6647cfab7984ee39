"""The recheck: each check fails alone, all of them fail together, and nothing fails otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.records.canonical import digest
from readmit.records.items import Frontier, Obligation
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from readmit.seal.recheck import recheck

from .world import (
    BOOKED,
    FRONTIER,
    HOTEL,
    IDENTITY,
    ITEMS,
    MEMORY,
    MINUTE,
    NOW,
    OTHER_MEMORY,
    PAID,
    POLICY,
    SCOPE,
    view_of,
)

if TYPE_CHECKING:
    from readmit.records.evidence import Experience
    from readmit.records.identity import Identity

ELIGIBLE = {item.id: digest(item) for item in ITEMS}
EXPERIENCES: tuple[Experience, ...] = (MEMORY, OTHER_MEMORY)
TICK = timedelta(microseconds=1)
CHARS = sum(item.length for item in ITEMS)
LONGEST = max(item.length for item in ITEMS)
MEMORY_CHARS = sum(len(one.text) for one in EXPERIENCES)


def other(**changes: str) -> Identity:
    return msgspec.structs.replace(IDENTITY, **changes)


def failing(**changes: Any) -> tuple[Reason, ...]:
    sound: dict[str, Any] = {
        "identity": IDENTITY,
        "instance": "w1",
        "now": NOW + MINUTE,
        "head": 9,
        "consumed": False,
        "newest_return": "r1",
        "eligible": ELIGIBLE,
        "owed": (HOTEL, FRONTIER),
        "items": ITEMS,
        "experiences": EXPERIENCES,
        "policy": POLICY,
    }
    view = changes.pop("view", view_of())
    return recheck(view, **(sound | changes))


@dataclass(frozen=True)
class Case:
    reasons: tuple[Reason, ...]
    changes: dict[str, Any] = field(default_factory=dict)


MORE = Obligation(id="o2", text="Book the train.", by="A2", scope=SCOPE, required=())
LATE = Obligation(id="o3", text="Order dinner.", by="A2", scope=SCOPE, required=("d_z",))
WIDER = msgspec.structs.replace(HOTEL, required=("d_a", "d_b", "d_z"))
MOVED = Frontier(id="f2", text="Dates are fixed.", by="A2", scope=SCOPE, obligation="o1")
FORGED = msgspec.structs.replace(BOOKED, text="Sunrise is booked.!!")
WITHOUT_FRONTIER = tuple(item for item in ITEMS if item is not FRONTIER)
WITHOUT_PAID = tuple(item for item in ITEMS if item is not PAID)

CASES = {
    "sound": Case(()),
    "contents in another order": Case((), {"items": ITEMS[::-1], "experiences": EXPERIENCES[::-1]}),
    "more eligible than needed": Case((), {"eligible": ELIGIBLE | {"zz": "0" * 64}}),
    "another workspace": Case((Reason.BINDING_MISMATCH,), {"identity": other(workspace="else")}),
    "another principal": Case((Reason.BINDING_MISMATCH,), {"identity": other(principal="A9")}),
    "another role": Case((Reason.BINDING_MISMATCH,), {"identity": other(role="guide")}),
    "another task": Case((Reason.BINDING_MISMATCH,), {"identity": other(task="else")}),
    "another workload": Case((Reason.BINDING_MISMATCH,), {"instance": "w2"}),
    "the return asked for": Case((), {"return_id": "r1"}),
    "another return asked for": Case((Reason.BINDING_MISMATCH,), {"return_id": "r0"}),
    "at issue": Case((), {"now": NOW}),
    "a moment before issue": Case((Reason.VIEW_EXPIRED,), {"now": NOW - TICK}),
    "a moment before expiry": Case((), {"now": NOW + 15 * MINUTE - TICK}),
    "at expiry": Case((Reason.VIEW_EXPIRED,), {"now": NOW + 15 * MINUTE}),
    "long after expiry": Case((Reason.VIEW_EXPIRED,), {"now": NOW + 900 * MINUTE}),
    "exposed before": Case((Reason.VIEW_CONSUMED,), {"consumed": True}),
    "a newer return": Case((Reason.VIEW_REPLACED,), {"newest_return": "r2"}),
    "no return known": Case((Reason.VIEW_REPLACED,), {"newest_return": ""}),
    "head at the view's epoch": Case((), {"head": 7}),
    "store rolled back": Case((Reason.EPOCH_AHEAD,), {"head": 6}),
    "an item fell": Case(
        (Reason.ITEM_NO_LONGER_ELIGIBLE,), {"eligible": {item: of for item, of in ELIGIBLE.items() if item != "c1"}}
    ),
    "an item has another digest": Case((Reason.ITEM_NO_LONGER_ELIGIBLE,), {"eligible": ELIGIBLE | {"c1": "0" * 64}}),
    "contents lack an item": Case((Reason.ITEM_NO_LONGER_ELIGIBLE, Reason.COVERAGE_LOST), {"items": WITHOUT_PAID}),
    "contents hold another text": Case(
        (Reason.ITEM_NO_LONGER_ELIGIBLE, Reason.COVERAGE_LOST), {"items": (*ITEMS[:2], FORGED, *ITEMS[3:])}
    ),
    "contents lack an experience": Case((Reason.ITEM_NO_LONGER_ELIGIBLE,), {"experiences": (MEMORY,)}),
    "an experience has another text": Case(
        (Reason.ITEM_NO_LONGER_ELIGIBLE,),
        {"experiences": (MEMORY, msgspec.structs.replace(OTHER_MEMORY, text="No."))},
    ),
    "a view without experiences": Case((), {"view": view_of(experiences=()), "experiences": ()}),
    "an obligation opened since": Case((Reason.COVERAGE_LOST,), {"owed": (HOTEL, FRONTIER, MORE)}),
    "an obligation needs more": Case((Reason.COVERAGE_LOST,), {"owed": (WIDER,)}),
    "an obligation was settled": Case((), {"owed": ()}),
    "a frontier came since": Case((Reason.COVERAGE_LOST,), {"owed": (HOTEL, MOVED)}),
    "an optional frontier is absent": Case((), {"view": view_of(WITHOUT_FRONTIER), "owed": (HOTEL,)}),
    "a required frontier is absent": Case(
        (Reason.COVERAGE_LOST,),
        {"view": view_of(WITHOUT_FRONTIER), "owed": (HOTEL,), "policy": Policy(require_frontier=True)},
    ),
    "a required frontier is there": Case((), {"policy": Policy(require_frontier=True)}),
    "a critical dependency is gone": Case(
        (Reason.COVERAGE_LOST,),
        {
            "view": view_of(tuple(item for item in ITEMS if item is not BOOKED), (OTHER_MEMORY,)),
            "policy": Policy(gamma=Decimal(0)),
        },
    ),
    "a lesser dependency is gone, and the policy can do without": Case(
        (), {"view": view_of(WITHOUT_PAID, (MEMORY,)), "policy": Policy(gamma=Decimal(0))}
    ),
    "a lesser dependency is gone, and the policy cannot": Case(
        (Reason.COVERAGE_LOST,), {"view": view_of(WITHOUT_PAID, (MEMORY,))}
    ),
    "an obligation named twice counts once": Case(
        (Reason.COVERAGE_LOST,),
        {
            "view": view_of((*ITEMS, LATE), EXPERIENCES),
            "eligible": ELIGIBLE | {LATE.id: digest(LATE)},
            "items": (*ITEMS, LATE),
            "owed": (HOTEL, HOTEL, LATE),
            "policy": Policy(gamma=Decimal("0.6")),
        },
    ),
    "as many items as allowed": Case((), {"policy": Policy(max_items=5)}),
    "too many items": Case((Reason.COVERAGE_LOST,), {"policy": Policy(max_items=4)}),
    "as many characters as allowed": Case((), {"policy": Policy(max_chars=CHARS)}),
    "too many characters": Case((Reason.COVERAGE_LOST,), {"policy": Policy(max_chars=CHARS - 1)}),
    "an item as long as allowed": Case((), {"policy": Policy(max_item_chars=LONGEST)}),
    "an item too long": Case((Reason.COVERAGE_LOST,), {"policy": Policy(max_item_chars=LONGEST - 1)}),
    "as many experiences as allowed": Case((), {"policy": Policy(max_experiences=2)}),
    "too many experiences": Case((Reason.COVERAGE_LOST,), {"policy": Policy(max_experiences=1)}),
    "experiences as long as allowed": Case((), {"policy": Policy(max_experience_chars=MEMORY_CHARS)}),
    "experiences too long": Case((Reason.COVERAGE_LOST,), {"policy": Policy(max_experience_chars=MEMORY_CHARS - 1)}),
    "the view understates its size": Case(
        (Reason.COVERAGE_LOST,), {"view": msgspec.structs.replace(view_of(), chars=CHARS - 1)}
    ),
    "the view states another kind": Case(
        (Reason.ITEM_NO_LONGER_ELIGIBLE, Reason.COVERAGE_LOST),
        {
            "view": msgspec.structs.replace(
                view_of(),
                items=(*view_of().items[:-1], msgspec.structs.replace(view_of().items[-1], kind=BOOKED.kind)),
            )
        },
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_fails(case: Case) -> None:
    assert failing(**case.changes) == case.reasons


EXPOSURE = (
    Reason.BINDING_MISMATCH,
    Reason.VIEW_EXPIRED,
    Reason.VIEW_CONSUMED,
    Reason.VIEW_REPLACED,
    Reason.EPOCH_AHEAD,
    Reason.ITEM_NO_LONGER_ELIGIBLE,
    Reason.COVERAGE_LOST,
)


def test_every_reason_is_kept() -> None:
    everything = {
        "identity": other(principal="A9"),
        "now": NOW - MINUTE,
        "head": 1,
        "consumed": True,
        "newest_return": "r2",
        "eligible": {},
        "items": (),
    }
    assert failing(**everything) == EXPOSURE


def test_every_reason_of_the_recheck_is_in_the_table() -> None:
    assert {reason for case in CASES.values() for reason in case.reasons} == set(EXPOSURE)


@settings(max_examples=200)
@given(
    instance=st.sampled_from(["w1", "w2"]),
    now=st.sampled_from([NOW - TICK, NOW, NOW + 15 * MINUTE - TICK, NOW + 15 * MINUTE]),
    head=st.integers(5, 9),
    consumed=st.booleans(),
    newest=st.sampled_from(["r1", "r2"]),
    lost=st.sets(st.sampled_from(sorted(ELIGIBLE))),
)
def test_checks_are_independent(
    *, instance: str, now: datetime, head: int, consumed: bool, newest: str, lost: set[str]
) -> None:
    expected = {
        Reason.BINDING_MISMATCH: instance != "w1",
        Reason.VIEW_EXPIRED: now in (NOW - TICK, NOW + 15 * MINUTE),
        Reason.VIEW_CONSUMED: consumed,
        Reason.VIEW_REPLACED: newest != "r1",
        Reason.EPOCH_AHEAD: head < 7,
        Reason.ITEM_NO_LONGER_ELIGIBLE: bool(lost),
    }
    found = failing(
        instance=instance,
        now=now,
        head=head,
        consumed=consumed,
        newest_return=newest,
        eligible={item: of for item, of in ELIGIBLE.items() if item not in lost},
    )
    assert found == tuple(reason for reason, fails in expected.items() if fails)

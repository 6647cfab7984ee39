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

from readmit import DutyState, Reason
from readmit.policies import Policy
from readmit.records.decisions import Examination
from readmit.rules.gate.constraints import Limit
from readmit.rules.gate.duties import Duties
from readmit.rules.readmission.recheck import Current, recheck
from readmit.types import Fact, Frontier, InterfaceConstraint, Obligation, RoleConstraint

from .issued_view import (
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
    QUIET,
    SCOPE,
    held,
    owing,
    view_of,
)

if TYPE_CHECKING:
    from readmit import Identity
    from readmit.types import Experience, Item, ReturnView

ELIGIBLE = held(ITEMS)
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
        "departed_again": False,
        "newest_return": "r1",
        "eligible": ELIGIBLE,
        "duties": owing(HOTEL, FRONTIER),
        "items": ITEMS,
        "experiences": EXPERIENCES,
        "policy": POLICY,
    }
    view = changes.pop("view", view_of())
    given = sound | changes
    now = Current(**{name: given.pop(name) for name in Current._fields if name in given})
    return recheck(view, now, **given)


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
LOUD = RoleConstraint(id="c2", text="No sea view.", by="A3", scope=SCOPE)
LIMIT = InterfaceConstraint(id="c3", text="Two nights at least.", by="A3", scope=SCOPE)
NEWS = Fact(id="n1", text="It rains.", by="A3", scope=SCOPE)
REPORT = Fact(id="n2", text="It rains. " * 100, by="A3", scope=SCOPE)
EXAMINED = Policy(returns={"examination": "required"})


def looked(unexamined: int) -> Examination:
    return Examination(verifier="v", until=7, unexamined=unexamined)


def withholding(duty: Obligation, items: tuple[Item, ...] = ITEMS, experiences: Any = EXPERIENCES) -> ReturnView:
    """A partial view: the items, without a duty that is owed."""
    return msgspec.structs.replace(view_of(items, experiences), withheld=(duty.id,))


PARTIAL: dict[str, Any] = {"view": withholding(LATE), "duties": owing(HOTEL, FRONTIER, LATE)}
SHARED: dict[str, Any] = {
    "view": view_of((*ITEMS, LATE), EXPERIENCES),
    "eligible": ELIGIBLE | held((LATE,)),
    "items": (*ITEMS, LATE),
    "duties": owing(HOTEL, FRONTIER, LATE),
}


def over(*constraints: Item) -> Duties:
    """The duty, and constraints that have expired."""
    return msgspec.structs.replace(
        owing(HOTEL, FRONTIER), limits=tuple(Limit(item, DutyState.EXPIRED) for item in constraints)
    )


CASES = {
    "sound": Case(()),
    "contents in another order": Case((), {"items": ITEMS[::-1], "experiences": EXPERIENCES[::-1]}),
    "more eligible than needed": Case((), {"eligible": ELIGIBLE | held((NEWS,))}),
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
    "a return of the same letters": Case((), {"newest_return": "".join("r1")}),
    "a newer return": Case((Reason.VIEW_REPLACED,), {"newest_return": "r2"}),
    "departed since": Case((Reason.VIEW_CONSUMED,), {"departed_again": True}),
    "no return known": Case((Reason.VIEW_REPLACED,), {"newest_return": ""}),
    "head at the view's epoch": Case((), {"head": 7}),
    "store rolled back": Case((Reason.EPOCH_AHEAD,), {"head": 6}),
    "an item fell": Case(
        (Reason.VIEW_OUTDATED,), {"eligible": {item: of for item, of in ELIGIBLE.items() if item != "c1"}}
    ),
    **{
        f"an item has another digest, of {digit}": Case(
            (Reason.VIEW_OUTDATED,),
            {"eligible": ELIGIBLE | {"c1": msgspec.structs.replace(ELIGIBLE["c1"], digest=digit * 64)}},
        )
        for digit in "0f"
    },
    "contents lack an item": Case((Reason.VIEW_OUTDATED,), {"items": WITHOUT_PAID}),
    "contents hold another text": Case((Reason.VIEW_OUTDATED,), {"items": (*ITEMS[:2], FORGED, *ITEMS[3:])}),
    "contents lack an experience": Case((Reason.VIEW_OUTDATED,), {"experiences": (MEMORY,)}),
    "an experience has another text": Case(
        (Reason.VIEW_OUTDATED,),
        {"experiences": (MEMORY, msgspec.structs.replace(OTHER_MEMORY, text="No."))},
    ),
    "a view without experiences": Case((), {"view": view_of(experiences=()), "experiences": ()}),
    "an obligation opened since": Case((Reason.VIEW_OUTDATED,), {"duties": owing(HOTEL, FRONTIER, MORE)}),
    "an obligation needs more": Case((Reason.VIEW_OUTDATED,), {"duties": owing(WIDER)}),
    "an obligation was settled": Case((), {"duties": owing()}),
    "a frontier came since": Case((Reason.VIEW_OUTDATED,), {"duties": owing(HOTEL, MOVED)}),
    "an optional frontier is absent": Case((), {"view": view_of(WITHOUT_FRONTIER), "duties": owing(HOTEL)}),
    "a required frontier is absent": Case(
        (Reason.VIEW_OUTDATED,),
        {"view": view_of(WITHOUT_FRONTIER), "duties": owing(HOTEL, state=DutyState.OBSTRUCTED)},
    ),
    "a critical dependency is gone": Case(
        (Reason.VIEW_OUTDATED,),
        {
            "view": view_of(tuple(item for item in ITEMS if item is not BOOKED), (OTHER_MEMORY,)),
            "policy": Policy(paper={"gamma": Decimal(0)}),
        },
    ),
    "a lesser dependency is gone, and the policy can do without": Case(
        (), {"view": view_of(WITHOUT_PAID, (MEMORY,)), "policy": Policy(paper={"gamma": Decimal(0)})}
    ),
    "a lesser dependency is gone, and the policy cannot": Case(
        (Reason.VIEW_OUTDATED,), {"view": view_of(WITHOUT_PAID, (MEMORY,))}
    ),
    "one of two obligations is covered, and the policy asks for more": Case(
        (Reason.VIEW_OUTDATED,), SHARED | {"policy": Policy(paper={"gamma": Decimal("0.6")})}
    ),
    "one of two obligations is covered, and the policy asks for no more": Case(
        (), SHARED | {"policy": Policy(paper={"gamma": Decimal("0.5")})}
    ),
    **{
        f"what is owed is {state}": Case(reasons, {"duties": owing(HOTEL, FRONTIER, state=state)})
        for state, reasons in {
            DutyState.OVERDUE: (),
            DutyState.OBSTRUCTED: (Reason.VIEW_OUTDATED,),
            DutyState.OBSTRUCTED: (Reason.VIEW_OUTDATED,),
            DutyState.SETTLED: (),
        }.items()
    },
    "a constraint came since": Case((Reason.VIEW_OUTDATED,), {"duties": owing(HOTEL, FRONTIER, QUIET, LOUD)}),
    "a requirement of another party came since": Case(
        (Reason.VIEW_OUTDATED,), {"duties": owing(HOTEL, FRONTIER, LIMIT)}
    ),
    "a constraint that no longer binds": Case((), {"duties": over(QUIET, LOUD)}),
    "a constraint came since, and the policy hands over what is needed": Case(
        (), {"eligible": ELIGIBLE | held((LOUD, LIMIT)), "policy": Policy(paper={"constraints": "as_needed"})}
    ),
    "nothing is owed, and the policy hands over what stands": Case(
        (), {"duties": owing(), "policy": Policy(returns={"fill": "nothing_owed"})}
    ),
    "nothing is owed, and the policy hands over nothing": Case(
        (Reason.NOTHING_OWED,), {"duties": owing(), "policy": Policy(returns={"fill": "block"})}
    ),
    "something is owed, where the policy would hand over nothing": Case(
        (), {"policy": Policy(returns={"fill": "block"})}
    ),
    "nobody examined it": Case((Reason.NOT_EXAMINED,), {"policy": EXAMINED}),
    "nobody examined it, and nobody has to": Case((), {"policy": Policy(returns={"examination": "optional"})}),
    "somebody examined it": Case((), {"policy": EXAMINED, "examination": looked(0)}),
    "somebody examined it, and something came since": Case(
        (Reason.NOT_EXAMINED,), {"policy": EXAMINED, "examination": looked(1)}
    ),
    "something came since somebody examined it, and nobody has to": Case((), {"examination": looked(1)}),
    "a fact came since": Case((), {"eligible": ELIGIBLE | held((NEWS,))}),
    "partial": Case((), PARTIAL),
    "partial, and what is withheld is settled": Case((), PARTIAL | {"duties": owing(HOTEL, FRONTIER)}),
    "partial, and what is withheld can no longer be proven": Case(
        (),
        PARTIAL
        | {"duties": Duties((*owing(HOTEL, FRONTIER).considered, *owing(LATE, state=DutyState.OBSTRUCTED).considered))},
    ),
    "partial, and all that it holds is settled": Case((Reason.VIEW_OUTDATED,), PARTIAL | {"duties": owing(LATE)}),
    "partial, and a duty came since": Case(
        (Reason.VIEW_OUTDATED,), PARTIAL | {"duties": owing(HOTEL, FRONTIER, LATE, MORE)}
    ),
    "partial, and its frontier moved": Case((Reason.VIEW_OUTDATED,), PARTIAL | {"duties": owing(HOTEL, MOVED, LATE)}),
    "partial, and its duty is obstructed": Case(
        (Reason.VIEW_OUTDATED,), PARTIAL | {"duties": owing(HOTEL, FRONTIER, LATE, state=DutyState.OBSTRUCTED)}
    ),
    "partial, and no longer whole, though the policy can do without": Case(
        (Reason.VIEW_OUTDATED,),
        PARTIAL
        | {
            "view": withholding(LATE, WITHOUT_PAID, (MEMORY,)),
            "policy": Policy(paper={"gamma": Decimal(0), "rho": Decimal(0)}),
        },
    ),
    "partial, and a constraint came since": Case(
        (Reason.VIEW_OUTDATED,), PARTIAL | {"duties": owing(HOTEL, FRONTIER, LATE, LOUD)}
    ),
    "a long text": Case(
        (),
        {
            "view": view_of((*ITEMS, REPORT), EXPERIENCES),
            "eligible": ELIGIBLE | held((REPORT,)),
            "items": (*ITEMS, REPORT),
        },
    ),
    "as many items as allowed": Case((), {"policy": Policy(budgets={"items": 5})}),
    "too many items": Case((Reason.VIEW_OUTDATED,), {"policy": Policy(budgets={"items": 4})}),
    "as many characters as allowed": Case((), {"policy": Policy(budgets={"chars": CHARS})}),
    "too many characters": Case((Reason.VIEW_OUTDATED,), {"policy": Policy(budgets={"chars": CHARS - 1})}),
    "an item as long as allowed": Case((), {"policy": Policy(budgets={"item_chars": LONGEST})}),
    "an item too long": Case((Reason.VIEW_OUTDATED,), {"policy": Policy(budgets={"item_chars": LONGEST - 1})}),
    "as many experiences as allowed": Case((), {"policy": Policy(budgets={"experiences": 2})}),
    "too many experiences": Case((Reason.VIEW_OUTDATED,), {"policy": Policy(budgets={"experiences": 1})}),
    "experiences as long as allowed": Case((), {"policy": Policy(budgets={"experience_chars": MEMORY_CHARS})}),
    "experiences too long": Case(
        (Reason.VIEW_OUTDATED,), {"policy": Policy(budgets={"experience_chars": MEMORY_CHARS - 1})}
    ),
    "the view understates its size": Case(
        (Reason.VIEW_OUTDATED,), {"view": msgspec.structs.replace(view_of(), chars=CHARS - 1)}
    ),
    "the view overstates its size": Case(
        (Reason.VIEW_OUTDATED,), {"view": msgspec.structs.replace(view_of(), chars=CHARS + 1)}
    ),
    "the view states another kind": Case(
        (Reason.VIEW_OUTDATED,),
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
    Reason.NOTHING_OWED,
    Reason.NOT_EXAMINED,
    Reason.BINDING_MISMATCH,
    Reason.VIEW_EXPIRED,
    Reason.VIEW_CONSUMED,
    Reason.VIEW_REPLACED,
    Reason.EPOCH_AHEAD,
    Reason.VIEW_OUTDATED,
)


def test_every_reason_is_kept() -> None:
    everything = {
        "identity": other(principal="A9"),
        "now": NOW - MINUTE,
        "head": 1,
        "consumed": True,
        "departed_again": True,
        "newest_return": "r2",
        "eligible": {},
        "items": (),
        "duties": owing(),
        "policy": Policy(returns={"fill": "block", "examination": "required"}),
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
    departed=st.booleans(),
    newest=st.sampled_from(["r1", "r2"]),
    lost=st.sets(st.sampled_from(sorted(ELIGIBLE))),
)
def test_checks_are_independent(
    *, instance: str, now: datetime, head: int, consumed: bool, departed: bool, newest: str, lost: set[str]
) -> None:
    expected = {
        Reason.BINDING_MISMATCH: instance != "w1",
        Reason.VIEW_EXPIRED: now in (NOW - TICK, NOW + 15 * MINUTE),
        Reason.VIEW_CONSUMED: consumed or departed,
        Reason.VIEW_REPLACED: newest != "r1",
        Reason.EPOCH_AHEAD: head < 7,
        Reason.VIEW_OUTDATED: bool(lost),
    }
    found = failing(
        instance=instance,
        now=now,
        head=head,
        consumed=consumed,
        departed_again=departed,
        newest_return=newest,
        eligible={item: of for item, of in ELIGIBLE.items() if item not in lost},
    )
    assert found == tuple(reason for reason, fails in expected.items() if fails)

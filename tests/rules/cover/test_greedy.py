"""The greedy rule, step by step on paper-sized cases."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from readmit.policies import Policy
from readmit.rules.cover.budget import Room, cost
from readmit.rules.cover.greedy import greedy
from tests.rules.cover.build import fact, obligation

if TYPE_CHECKING:
    from readmit.types import Item, Obligation


STRICT = Policy()


@dataclass
class Case:
    evidence: tuple[Item, ...]
    obligations: tuple[Obligation, ...]
    expected: str
    """The ids in the order of addition."""
    items: int = 16
    chars: int = 1_000
    policy: Policy = STRICT


A_B = (obligation("o", "a b"),)
CASES = {
    "gain per cost, not gain": Case((fact("wide", "a b", 100), fact("a", "a", 10), fact("b", "b", 20)), A_B, "a b"),
    "gain is of what is still uncovered": Case(
        # 2/21, 2/20 and 1/12 at first; once 'ab' is in, 'bc' gains only 1/21.
        (fact("bc", "b c", 21), fact("ab", "a b", 20), fact("c", "c", 12)),
        (obligation("o", "a b c"),),
        "ab c",
    ),
    "critical weighs two": Case(
        (fact("plain", "a", 10), fact("vital", "k", 19)), (obligation("o", "a k", "k"),), "vital plain"
    ),
    "and no more than two": Case(
        (fact("plain", "a", 10), fact("vital", "k", 25)), (obligation("o", "a k", "k"),), "plain vital"
    ),
    "a gain that shrank may still be the best": Case(
        # Beside 'ab', 'bc' gains 1/21, which is more than the 1/30 of 'c'.
        (fact("ab", "a b", 20), fact("bc", "b c", 21), fact("c", "c", 30)),
        (obligation("o", "a b c"),),
        "ab bc",
    ),
    "equal gain, lower cost first": Case(
        (fact("m1", "a b", 20), fact("m2", "c", 10)), (obligation("o", "a b c"),), "m2 m1"
    ),
    "equal gain and cost, smaller id first": Case((fact("m2", "a"), fact("m1", "a")), (obligation("o", "a"),), "m1"),
    "what does not fit is passed over": Case(
        (fact("long", "a b", 60), fact("a", "a", 35), fact("b", "b", 35)), A_B, "a", chars=59
    ),
    "and others may still fit": Case(
        # 'best' and 'next' together exceed 100; 'last' still fits beside 'best'.
        (fact("best", "a b c", 60), fact("next", "d e", 50), fact("last", "d", 40)),
        (obligation("o", "a b c d e"),),
        "best last",
        chars=100,
    ),
    "the item count ends it": Case((fact("a", "a"), fact("b", "b")), A_B, "a", items=1),
    "no room at all": Case((fact("a", "a"),), A_B, "", items=0),
    "exactly full": Case((fact("a", "a", 10), fact("b", "b", 10)), A_B, "a b", items=2, chars=20),
    "only what is required counts": Case((fact("x", "x y z", 1), fact("a", "a", 50)), (obligation("o", "a"),), "a"),
    "nothing to cover": Case((fact("a", "a"),), (), ""),
    "stops once coverage is sufficient": Case(
        (fact("a", "a", 10), fact("b", "b", 20)),
        (obligation("o1", "a"), obligation("o2", "b")),
        "a",
        policy=Policy(paper={"gamma": Decimal("0.5")}),
    ),
    "goes on for the critical ones": Case(
        (fact("a", "a", 10), fact("k", "k", 90)),
        (obligation("o1", "a"), obligation("o2", "k", "k")),
        "a k",
        policy=Policy(paper={"gamma": Decimal("0.5")}),
    ),
    "an obligation that requires nothing is covered": Case(
        (fact("a", "a"),), (obligation("o1"), obligation("o2", "a")), "", policy=Policy(paper={"gamma": Decimal("0.5")})
    ),
    "and counts as one of those to cover": Case(
        (fact("a", "a", 10), fact("b", "b", 20)),
        (obligation("o1"), obligation("o2", "a"), obligation("o3", "b")),
        "a",
        policy=Policy(paper={"gamma": Decimal("0.66")}),
    ),
    "and as no more than one": Case(
        (fact("a", "a", 10), fact("b", "b", 20), fact("c", "c", 30)),
        (obligation("o1"), obligation("o2", "a"), obligation("o3", "b"), obligation("o4", "c")),
        "a b c",
    ),
    "one item may cover more obligations than are asked for": Case(
        (fact("a", "a", 10), fact("b", "b", 20)),
        (obligation("o1", "a"), obligation("o2", "a"), obligation("o3", "b")),
        "a",
        policy=Policy(paper={"gamma": Decimal("0.33")}),
    ),
    "and more critical dependencies": Case(
        (fact("both", "k l", 10), fact("b", "b", 20)),
        (obligation("o1", "k l", "k l"), obligation("o2", "b")),
        "both",
        policy=Policy(paper={"gamma": Decimal("0.5"), "rho": Decimal("0.5")}),
    ),
    "empty text costs one": Case((fact("empty", "a", 0), fact("one", "a", 1)), (obligation("o", "a"),), "empty"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_greedy(case: Case) -> None:
    chosen = greedy(case.evidence, case.obligations, case.policy, Room(case.items, case.chars))
    assert [item.id for item in chosen] == case.expected.split()


def test_gains_are_compared_exactly() -> None:
    # 3/199_999 beats 2/133_333, since 3 · 133_333 = 399_999 and 2 · 199_999 = 399_998.
    wide, narrow = fact("wide", "a b c", 199_999), fact("narrow", "d e", 133_333)
    chosen = greedy([narrow, wide], [obligation("o", "a b c d e")], Policy(), Room(2, 10**6))
    assert [item.id for item in chosen] == ["wide", "narrow"]


def test_cost_is_at_least_one() -> None:
    assert [cost(fact("m", length=length)) for length in (0, 1, 7)] == [1, 1, 7]

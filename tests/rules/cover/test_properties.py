"""Greedy, exact and brute force against each other on random small instances."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.lab import canonical, report, sufficient
from readmit.policies import Policy
from readmit.rules.cover.budget import Room, cost
from readmit.rules.cover.choose import Pool, choose
from readmit.rules.cover.coverage import critical, required, supported
from readmit.rules.cover.exact import exact
from readmit.rules.cover.greedy import greedy
from readmit.types import RoleConstraint
from tests.conftest import examples
from tests.rules.cover.build import constraint, duty, fact, obligation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.decisions import Selection
    from readmit.types import Fact, Item, Obligation

DEPENDENCIES = st.lists(st.sampled_from("abcdef"), max_size=4, unique=True)
SHARES = st.sampled_from([Decimal(0), Decimal("0.34"), Decimal("0.5"), Decimal("0.67"), Decimal(1)])


@dataclass
class Instance:
    evidence: list[Fact]
    obligations: list[Obligation]
    policy: Policy

    @property
    def room(self) -> Room:
        return Room.of(self.policy)

    def enough(self, items: tuple[Item, ...]) -> bool:
        return sufficient(report(self.obligations, supported(items)), self.policy)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    supports = draw(st.lists(DEPENDENCIES, max_size=8))
    evidence = [fact(f"m{at}", " ".join(each), draw(st.integers(0, 12))) for at, each in enumerate(supports)]
    obligations = []
    for at, needs in enumerate(draw(st.lists(DEPENDENCIES, max_size=4))):
        vital = draw(st.lists(st.sampled_from(needs), unique=True)) if needs else []
        obligations.append(obligation(f"o{at}", " ".join(needs), " ".join(vital)))
    policy = Policy(
        paper={"gamma": draw(SHARES), "rho": draw(SHARES)},
        budgets={
            "items": draw(st.integers(0, 5)),
            "chars": draw(st.integers(0, 40)),
            "solver_milliseconds": 60_000,
        },
    )
    return Instance(evidence, obligations, policy)


def brute_force(case: Instance) -> int | None:
    """The least cost of a sufficient set within the room, by trying every set."""
    costs = [
        sum(map(cost, items))
        for count in range(min(case.room.items, len(case.evidence)) + 1)
        for items in combinations(case.evidence, count)
        if case.enough(items) and sum(item.length for item in items) <= case.room.chars
    ]
    return min(costs, default=None)


def slow_greedy(case: Instance) -> list[str]:
    """The paper's rule, written down literally: every gain recomputed in every round, as exact cross products."""
    owed, vital = required(case.obligations), critical(case.obligations)
    chosen: list[Item] = []
    while not case.enough(tuple(chosen)):
        best: tuple[int, Item] | None = None
        for item in sorted(case.evidence, key=lambda item: (cost(item), item.id)):
            fresh = (set(item.supports) & owed) - supported(chosen)
            gain = sum(2 if dependency in vital else 1 for dependency in fresh)
            fits = len(chosen) < case.room.items and sum(m.length for m in [*chosen, item]) <= case.room.chars
            if gain and fits and (best is None or gain * cost(best[1]) > best[0] * cost(item)):
                best = gain, item
        if best is None:
            break
        chosen.append(best[1])
    return [item.id for item in chosen]


@settings(max_examples=300, deadline=None)
@given(instances())
def test_greedy_follows_the_papers_rule(case: Instance) -> None:
    chosen = greedy(case.evidence, case.obligations, case.policy, case.room)
    assert [item.id for item in chosen] == slow_greedy(case)


@settings(max_examples=300, deadline=None)
@given(instances())
def test_greedy_respects_every_budget(case: Instance) -> None:
    chosen = greedy(case.evidence, case.obligations, case.policy, case.room)
    assert len({item.id for item in chosen}) == len(chosen) <= case.policy.budgets.items
    assert sum(item.length for item in chosen) <= case.policy.budgets.chars


@settings(max_examples=examples(200), deadline=None)
@given(instances())
def test_exact_agrees_with_brute_force(case: Instance) -> None:
    cover = exact(case.evidence, case.obligations, case.policy, case.room)
    least = brute_force(case)
    assert cover.outcome == ("infeasible" if least is None else "found")
    if least is not None:
        assert cover.cheapest
        assert case.enough(cover.items)
        assert not case.room.after(cover.items).overdrawn
        assert sum(map(cost, cover.items)) == least


@settings(max_examples=examples(200), deadline=None)
@given(instances())
def test_the_first_set_is_sufficient_exactly_when_one_exists(case: Instance) -> None:
    cover = exact(case.evidence, case.obligations, case.policy, case.room, first=True)
    assert cover.outcome == ("infeasible" if brute_force(case) is None else "found")
    if cover.outcome == "found":
        assert case.enough(cover.items)
        assert not case.room.after(cover.items).overdrawn


@settings(max_examples=examples(200), deadline=None)
@given(instances())
def test_exact_is_never_beaten_by_greedy(case: Instance) -> None:
    chosen = greedy(case.evidence, case.obligations, case.policy, case.room)
    cover = exact(case.evidence, case.obligations, case.policy, case.room)
    if cover.outcome == "infeasible":
        assert not case.enough(chosen)
    elif case.enough(chosen):
        assert sum(map(cost, cover.items)) <= sum(map(cost, chosen))


@settings(max_examples=examples(150), deadline=None)
@given(
    instances(),
    st.sampled_from(["greedy", "greedy_then_exact", "cheapest"]),
    st.sampled_from(["always", "nothing_owed"]),
    st.sampled_from(["always", "as_needed"]),
    st.data(),
)
def test_same_inputs_same_bytes_and_all_budgets_hold(
    case: Instance, selection: str, fill: str, constraints: str, data: st.DataObject
) -> None:
    duties = [duty(each) for each in case.obligations]
    policy = case.policy.changed(
        # The duties have their own room.
        budgets={
            "items": case.policy.budgets.items + len(duties),
            "chars": case.policy.budgets.chars + sum(each.length for each in case.obligations),
        },
        paper={"selection": selection, "constraints": constraints},
        returns={"fill": fill},
    )
    binding = data.draw(st.sets(st.integers(0, 7)))
    evidence = [
        constraint(item.id, " ".join(item.supports), item.length) if at in binding else item
        for at, item in enumerate(case.evidence)
    ]

    def chosen_from(evidence: Sequence[Item]) -> Selection:
        return choose(Pool(tuple(evidence), tuple(evidence[::-1]), policy), duties)

    # The order inside 'supports' is no input of the choice.
    shuffled = [
        msgspec.structs.replace(item, supports=tuple(data.draw(st.permutations(item.supports)))) for item in evidence
    ]
    chosen = chosen_from(evidence)
    assert canonical(chosen) == canonical(chosen_from(evidence)) == canonical(chosen_from(shuffled))
    if chosen.outcome != "found":
        assert (chosen.items, chosen.cost) == ((), 0)
        return
    by_id: dict[str, Item] = {item.id: item for item in [*evidence, *case.obligations]}
    items = [by_id[name] for name in chosen.items]
    assert chosen.report == report(case.obligations, supported(items))
    assert sufficient(chosen.report, policy)
    assert len(items) == len(set(chosen.items)) <= policy.budgets.items
    assert sum(item.length for item in items) == chosen.chars <= policy.budgets.chars
    assert sum(map(cost, items)) == chosen.cost
    assert [name for name in chosen.items if name.startswith("m")] == sorted(
        (name for name in chosen.items if name.startswith("m")), key=lambda name: int(name[1:])
    )
    if constraints == "always":
        # One that was said twice is handed over once.
        handed = {item.text for item in items if isinstance(item, RoleConstraint)}
        assert {item.text for item in evidence if isinstance(item, RoleConstraint)} <= handed


@settings(max_examples=examples(200), deadline=None)
@given(instances(), st.sets(st.integers(0, 7)), st.sampled_from(["greedy_then_exact", "cheapest"]))
def test_a_set_with_every_constraint_is_found_exactly_when_one_exists(
    case: Instance, binding: set[int], selection: str
) -> None:
    if not case.obligations:
        return
    policy = case.policy.changed(
        budgets={
            "items": case.policy.budgets.items + len(case.obligations),
            "chars": case.policy.budgets.chars + sum(each.length for each in case.obligations),
        },
        paper={"selection": selection},
    )
    evidence = tuple(
        constraint(item.id, " ".join(item.supports), item.length) if at in binding else item
        for at, item in enumerate(case.evidence)
    )
    always = tuple(item for item in evidence if isinstance(item, RoleConstraint))
    others = [item for item in evidence if not isinstance(item, RoleConstraint)]
    exists = any(
        case.enough((*always, *items)) and not case.room.after((*always, *items)).overdrawn
        for count in range(len(others) + 1)
        for items in combinations(others, count)
    )
    chosen = choose(Pool(evidence, evidence[::-1], policy), [duty(each) for each in case.obligations])
    assert (chosen.outcome == "found") is exists

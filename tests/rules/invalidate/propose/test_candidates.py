from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.lab import Observation, Target, open_pairs
from readmit.rules.invalidate.propose import plan_scan


@dataclass(frozen=True)
class Case:
    target: Target
    observation: Observation
    judged: dict[str, set[str]]
    is_open: bool


CASES = {
    "later": Case(Target(item="i", epoch=3), Observation(evidence="e", epoch=4), {}, True),
    "same epoch": Case(Target(item="i", epoch=3), Observation(evidence="e", epoch=3), {}, False),
    "earlier": Case(Target(item="i", epoch=3), Observation(evidence="e", epoch=2), {}, False),
    "its own source, observed again later": Case(
        Target(item="i", epoch=3, sources=frozenset({"e"})), Observation(evidence="e", epoch=9), {}, False
    ),
    "already judged": Case(Target(item="i", epoch=3), Observation(evidence="e", epoch=4), {"i": {"e"}}, False),
    "another item was judged": Case(Target(item="i", epoch=3), Observation(evidence="e", epoch=4), {"j": {"e"}}, True),
    "judged against other evidence": Case(
        Target(item="i", epoch=3), Observation(evidence="e", epoch=4), {"i": {"f"}}, True
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_which_pairs_are_open(case: Case) -> None:
    openings = open_pairs([case.target], [case.observation], case.judged)
    assert len(openings) == int(case.is_open)
    assert bool(openings.targets) is case.is_open
    assert bool(openings.observations) is case.is_open


def test_judged_observations_are_not_carried_along() -> None:
    targets = [Target(item=f"i{n}", epoch=n) for n in range(3)]
    old = [Observation(evidence=f"old{n}", epoch=10 + n) for n in range(500)]
    fresh = Observation(evidence="fresh", epoch=900)
    judged = {target.item: {seen.evidence for seen in old} for target in targets}
    openings = open_pairs(targets, [*old, fresh], judged)
    assert openings.observations == (fresh,)
    assert openings.open.shape == (3, 1)


def test_nothing_to_pair_is_not_an_error() -> None:
    assert len(open_pairs([], [])) == 0
    assert len(open_pairs([Target(item="i", epoch=0)], [])) == 0


def test_a_name_that_is_listed_twice_is_refused() -> None:
    twice = [Target(item="i", epoch=0), Target(item="i", epoch=1)]
    with pytest.raises(ValueError, match="targets: i is listed twice"):
        open_pairs(twice, [])
    with pytest.raises(ValueError, match="observations: e is listed twice"):
        open_pairs([], [Observation(evidence="e", epoch=0), Observation(evidence="e", epoch=1)])


names = st.integers(0, 12)
targets_st = st.lists(st.tuples(names, st.integers(0, 9)), max_size=6, unique_by=lambda pair: pair[0])
observations_st = st.lists(st.tuples(names, st.integers(0, 9)), max_size=8, unique_by=lambda pair: pair[0])
judged_st = st.sets(st.tuples(names, names), max_size=20)


@settings(max_examples=150)
@given(targets=targets_st, observations=observations_st, judged=judged_st, per_call=st.integers(1, 4))
def test_the_scan_plan_reads_every_open_pair_once(
    targets: list[tuple[int, int]], observations: list[tuple[int, int]], judged: set[tuple[int, int]], per_call: int
) -> None:
    done: dict[str, set[str]] = {}
    for item, evidence in judged:
        done.setdefault(f"i{item}", set()).add(f"e{evidence}")
    openings = open_pairs(
        [Target(item=f"i{n}", epoch=epoch) for n, epoch in targets],
        [Observation(evidence=f"e{n}", epoch=epoch) for n, epoch in observations],
        done,
    )
    calls = plan_scan(openings, per_call)
    planned = [(call.item, evidence) for call in calls for evidence in call.evidence]
    expected = {
        (f"i{i}", f"e{e}") for i, since in targets for e, seen in observations if seen > since and (i, e) not in judged
    }
    assert len(planned) == len(set(planned))
    assert set(planned) == expected
    assert all(1 <= len(call.evidence) <= per_call for call in calls)


@pytest.mark.parametrize("per_call", [0, -1])
def test_a_scan_call_looks_at_something(per_call: int) -> None:
    with pytest.raises(ValueError, match="per_call"):
        plan_scan(open_pairs([], []), per_call)

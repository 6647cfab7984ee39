"""Readmission: an experience comes back with its source, within the budget, the newest first."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Reason
from readmit.lab import digest
from readmit.policies import Policy
from readmit.rules.readmission.match import match
from readmit.types import Experience

IN, OUT, BUDGET = Reason.SOURCE_IN_VIEW, Reason.SOURCE_NOT_IN_VIEW, Reason.TOO_LARGE

SMALL = Policy(budgets={"experiences": 2, "experience_chars": 10})


def bank(*lengths_and_sources: tuple[int, str]) -> list[tuple[Experience, str]]:
    made = [
        Experience(id=f"e{number}", owner="A1", text="x" * length, bound_to=source)
        for number, (length, source) in enumerate(lengths_and_sources)
    ]
    return [(one, digest(one)) for one in made]


@dataclass(frozen=True)
class Case:
    bank: list[tuple[Experience, str]]
    reasons: tuple[Reason, ...]
    view: frozenset[str] = frozenset({"a", "b"})
    policy: Policy = SMALL


CASES = {
    "empty bank": Case(bank(), ()),
    "source in the view": Case(bank((3, "a")), (IN,)),
    "source not in the view": Case(bank((3, "z")), (OUT,)),
    "empty view": Case(bank((3, "a")), (OUT,), view=frozenset()),
    "each on its own": Case(bank((3, "a"), (3, "z"), (3, "b")), (IN, OUT, IN)),
    "the newest win the count": Case(bank((1, "a"), (1, "a"), (1, "a")), (BUDGET, IN, IN)),
    "the newest win the characters": Case(bank((6, "a"), (6, "a")), (BUDGET, IN)),
    "exactly full": Case(bank((5, "a"), (5, "a")), (IN, IN)),
    "one over": Case(bank((5, "a"), (6, "a")), (BUDGET, IN)),
    "too long is passed over": Case(bank((4, "a"), (11, "a")), (IN, BUDGET)),
    "without source takes no budget": Case(bank((10, "a"), (10, "z"), (10, "z")), (IN, OUT, OUT)),
    "no count": Case(bank((1, "a")), (BUDGET,), policy=Policy(budgets={"experiences": 0})),
    "no characters": Case(bank((1, "a")), (BUDGET,), policy=Policy(budgets={"experience_chars": 0})),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_who_comes_back(case: Case) -> None:
    notes, handed = match(case.bank, case.view, case.policy)
    assert tuple(note.reason for note in notes) == case.reasons
    assert [(note.experience, note.bound_to) for note in notes] == [(one.id, one.bound_to) for one, _ in case.bank]
    assert handed == tuple(one for one, reason in zip(case.bank, case.reasons, strict=True) if reason is IN)


@settings(max_examples=200)
@given(
    made=st.lists(st.tuples(st.integers(1, 12), st.sampled_from("abz")), max_size=10),
    view=st.frozensets(st.sampled_from("ab")),
    count=st.integers(0, 5),
    chars=st.integers(0, 30),
)
def test_only_sourced_within_budget_and_never_fewer_than_fit(
    made: list[tuple[int, str]], view: frozenset[str], count: int, chars: int
) -> None:
    policy = Policy(budgets={"experiences": count, "experience_chars": chars})
    banked = bank(*made)
    notes, handed = match(banked, view, policy)
    assert match(banked, view, policy) == (notes, handed)
    assert all(one.bound_to in view for one, _ in handed)
    used = sum(len(one.text) for one, _ in handed)
    assert len(handed) <= count
    assert used <= chars
    assert all((note.reason is OUT) == (note.bound_to not in view) for note in notes)
    left_out = [one for (one, _), note in zip(banked, notes, strict=True) if note.reason is BUDGET]
    assert all(len(handed) == count or used + len(one.text) > chars for one in left_out)

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.inference import Signal
from readmit.lab import Observation, Openings, Scored, Target, open_pairs, propose
from readmit.rules.invalidate.propose import Proposals, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Table:
    """A signal that says what a table says."""

    signal: Signal
    scores: dict[tuple[str, str], float]

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        found = []
        for row, target in enumerate(openings.targets):
            mine = [
                Scored(row, column, self.scores[target.item, seen.evidence])
                for column, seen in enumerate(openings.observations)
                if openings.open[row, column] and (target.item, seen.evidence) in self.scores
            ]
            found += sorted(mine, key=lambda entry: -entry.score)[:depth]
        return found


def seen(*names: str) -> list[Observation]:
    return [Observation(evidence=name, epoch=10 + n) for n, name in enumerate(names)]


def order(proposals: Proposals) -> list[tuple[str, str]]:
    return [(proposal.pair.item, proposal.pair.evidence) for proposal in proposals.kept]


def test_two_signals_that_agree_outrank_one_that_is_surer() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b", "c"))
    one = Table(Signal.EMBEDDING, {("i", "a"): 0.9, ("i", "b"): 0.8, ("i", "c"): 0.1})
    two = Table(Signal.IMPLIED_FACTS, {("i", "b"): 0.5})
    assert order(propose(openings, [one, two], near=None))[0] == ("i", "b")


def test_what_the_team_declared_comes_before_nearness() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("near", "declared"))
    near = Table(Signal.EMBEDDING, {("i", "near"): 0.99})
    declared = Table(Signal.DECLARED_PREMISE, {("i", "declared"): 1.0})
    assert order(propose(openings, [near, declared], near=None)) == [("i", "declared"), ("i", "near")]


def test_pairs_of_all_targets_are_ranked_together() -> None:
    openings = open_pairs([Target(item="x", epoch=0), Target(item="y", epoch=1)], seen("a", "b"))
    table = Table(Signal.EMBEDDING, {("x", "a"): 3.0, ("x", "b"): 2.0, ("y", "a"): 0.5, ("y", "b"): 0.1})
    found = propose(openings, [table], near=None)
    assert order(found) == [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]
    assert [proposal.rank for proposal in found.kept] == [1, 2, 1, 2]


def test_what_a_signal_passed_over_is_no_better_than_what_it_handed_over() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b"))
    whole = Table(Signal.EMBEDDING, {("i", "a"): 1.0, ("i", "b"): 1.0})
    sentence = Table(Signal.PASSAGE, {("i", "a"): -0.5})
    found = propose(openings, [whole, sentence], near=None)
    assert [proposal.score for proposal in found.kept] == [0.5, 0.5]


def test_critical_items_come_first_and_what_is_not_near_is_left_out() -> None:
    openings = open_pairs([Target(item="plain", epoch=0), Target(item="vital", epoch=1, critical=True)], seen("a", "b"))
    table = Table(
        Signal.EMBEDDING, {("plain", "a"): 0.9, ("plain", "b"): 0.8, ("vital", "a"): 0.2, ("vital", "b"): 0.1}
    )
    assert order(propose(openings, [table], near=None)) == [
        ("vital", "a"), ("vital", "b"), ("plain", "a"), ("plain", "b"),
    ]  # fmt: skip
    assert order(propose(openings, [table], near=0.2)) == [("vital", "a"), ("plain", "a"), ("plain", "b")]
    nothing = propose(openings, [table], near=1)
    assert (nothing.kept, nothing.open) == ((), 4)


def test_the_number_of_pairs_follows_the_signals() -> None:
    """Two returns of the same size: in one of them much is near."""
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b", "c"))
    little = Table(Signal.EMBEDDING, {("i", "a"): 2.0, ("i", "b"): 0.1, ("i", "c"): 0.1})
    much = Table(Signal.EMBEDDING, {("i", "a"): 2.0, ("i", "b"): 1.9, ("i", "c"): 1.8})
    assert [len(propose(openings, [one]).kept) for one in (little, much)] == [1, 3]


def test_what_is_known_to_state_something_has_a_threshold_of_its_own() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("whole", "statement", "nearer"))
    table = Table(Signal.EMBEDDING, {("i", "whole"): 0.5, ("i", "statement"): 0.5, ("i", "nearer"): 1.5})
    assert order(propose(openings, [table], stated={"statement", "nearer"})) == [("i", "nearer"), ("i", "whole")]
    assert order(propose(openings, [table], stated={"statement"}, implying={"nearer"})) == order(
        propose(openings, [table], stated={"statement", "nearer"})
    )
    same = propose(openings, [table], stated={"statement", "nearer"}, near_stated=0.5)
    assert ("i", "statement") in order(same)


def test_what_an_extractor_took_down_weighs_no_more_than_the_text() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b"))
    text = Table(Signal.EMBEDDING, {("i", "a"): 2.0, ("i", "b"): 0.0})
    facts = Table(Signal.IMPLIED_FACTS, {("i", "a"): 0.0, ("i", "b"): 1.0})
    assert order(propose(openings, [text, facts], near=None)) == [("i", "b"), ("i", "a")], "written for this purpose"
    assert order(propose(openings, [text, facts], near=None, stated={"a", "b"})) == [("i", "a"), ("i", "b")]


def test_what_is_named_is_proposed_however_far_it_is() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b"))
    far = Table(Signal.EMBEDDING, {("i", "a"): -9.0, ("i", "b"): -9.0})
    named = Table(Signal.SCAN, {("i", "a"): 0.1})
    assert order(propose(openings, [far, named])) == [("i", "a")]


def test_signals_are_counted() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b", "c", "d"))
    one = Table(Signal.EMBEDDING, {("i", "a"): 0.9, ("i", "b"): 0.8, ("i", "c"): 0.7})
    two = Table(Signal.SAME_SLOT, {("i", "c"): 1.0})
    found = propose(openings, [one, two], near=0.85)
    assert found.open == 4
    assert found.tallies == {
        Signal.EMBEDDING: Tally(scored=3, kept=2, alone=1),
        Signal.SAME_SLOT: Tally(scored=1, kept=1, alone=0),
    }
    assert found.kept[0].signals == {Signal.EMBEDDING: 0.7, Signal.SAME_SLOT: 1.0}


def test_a_signal_that_is_left_out_proposes_nothing() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a"))
    assert propose(openings, []) == Proposals(open=1)


def test_of_equal_pairs_the_later_observation_goes_first() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], seen("a", "b", "c"))
    same = Table(Signal.SAME_SLOT, {("i", name): 1.0 for name in "abc"})
    assert order(propose(openings, [same], near=None)) == [("i", "c"), ("i", "b"), ("i", "a")]


def test_the_same_signal_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="same_slot is given twice"):
        propose(open_pairs([], []), [Table(Signal.SAME_SLOT, {}), Table(Signal.SAME_SLOT, {})])


scores_st = st.dictionaries(
    st.tuples(st.sampled_from("xyz"), st.sampled_from("abcdef")), st.sampled_from([0.1, 0.5, 0.5, 0.9]), max_size=18
)


@settings(max_examples=150)
@given(
    tables=st.lists(scores_st, min_size=1, max_size=3),
    near=st.sampled_from([None, 0.0, 0.3, 0.6]),
    vital=st.sampled_from("xyz"),
    seed=st.integers(0, 99),
)
def test_order_of_input_never_shows(
    tables: list[dict[tuple[str, str], float]], near: float | None, vital: str, seed: int
) -> None:
    targets = [Target(item=name, epoch=n, critical=name == vital) for n, name in enumerate("xyz")]
    observations = [Observation(evidence=name, epoch=2 + n // 2) for n, name in enumerate("abcdef")]
    signals = [Signal.EMBEDDING, Signal.IMPLIED_FACTS, Signal.SAME_SLOT]
    scorers = [Table(signal, table) for signal, table in zip(signals, tables, strict=False)]
    straight = propose(open_pairs(targets, observations), scorers, near=near)

    generator = random.Random(seed)
    for listed in (targets, observations, scorers):
        generator.shuffle(listed)
    assert propose(open_pairs(targets, observations), scorers, near=near) == straight

    everything = propose(open_pairs(targets, observations), scorers, near=None).kept
    assert [one.pair for one in straight.kept] == [
        one.pair for one in everything if near is None or one.score >= near or Signal.SAME_SLOT in one.signals
    ]
    assert len({proposal.pair for proposal in everything}) == len(everything)
    assert [proposal.critical for proposal in everything] == sorted(
        (proposal.critical for proposal in everything), reverse=True
    )
    for name in "xyz":
        ranks = [proposal.rank for proposal in everything if proposal.pair.item == name]
        assert ranks == list(range(1, len(ranks) + 1))
        union = {
            evidence
            for table in tables[: len(scorers)]
            for (item, evidence) in table
            if item == name and dict(zip("abcdef", (2, 2, 3, 3, 4, 4), strict=True))[evidence] > "xyz".index(name)
        }
        assert len(ranks) == len(union)

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.invalidate.propose import (
    Center,
    DeclaredPremises,
    Embeddings,
    ImpliedFacts,
    Observation,
    Passages,
    SameSlot,
    Scanned,
    Scored,
    Target,
    open_pairs,
    passages,
    windows,
)
from readmit.invalidate.propose.vectors import centered
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Structural:
    target: Target
    observation: Observation
    same_slot: bool
    premise: bool


HOTEL = Target(
    item="i", epoch=1, slot="hotel", premises=frozenset({"p"}), premise_slots=frozenset({"flight"}), critical=True
)
CASES = {
    "speaks about the slot": Structural(
        HOTEL, Observation(evidence="e", epoch=2, slots=frozenset({"hotel"})), True, False
    ),
    "speaks about a premise's slot": Structural(
        HOTEL, Observation(evidence="e", epoch=2, slots=frozenset({"flight"})), False, True
    ),
    "is bound to a premise": Structural(HOTEL, Observation(evidence="e", epoch=2, about=frozenset({"p"})), False, True),
    "speaks about something else": Structural(
        HOTEL, Observation(evidence="e", epoch=2, slots=frozenset({"car"}), about=frozenset({"q"})), False, False
    ),
    "says nothing structured": Structural(HOTEL, Observation(evidence="e", epoch=2), False, False),
    "neither has a slot": Structural(Target(item="i", epoch=1), Observation(evidence="e", epoch=2), False, False),
    "is not later": Structural(
        HOTEL,
        Observation(evidence="e", epoch=1, slots=frozenset({"hotel", "flight"}), about=frozenset({"p"})),
        False,
        False,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_structure(case: Structural) -> None:
    openings = open_pairs([case.target], [case.observation])
    assert bool(SameSlot().score(openings, 1)) is case.same_slot
    assert bool(DeclaredPremises().score(openings, 1)) is case.premise


def test_the_scan_proposes_only_what_is_open() -> None:
    openings = open_pairs(
        [Target(item="i", epoch=1)], [Observation(evidence="a", epoch=0), Observation(evidence="b", epoch=2)]
    )
    named = {Pair(item="i", evidence="a"), Pair(item="i", evidence="b"), Pair(item="j", evidence="b")}
    assert Scanned(named).score(openings, 1) == [Scored(0, 0, 1.0)]
    assert openings.observations[0].evidence == "b"


def rows(*values: tuple[float, float]) -> np.ndarray:
    matrix = np.array(values, dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_implied_facts_score_the_mean_of_the_three_best_cosines() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence="e", epoch=1)])
    premises, facts = rows((1, 0), (0, 1)), rows((1, 0), (1, 1))
    # The four cosines are 1, √½, 0, √½.
    scored = ImpliedFacts({"i": premises}, {"e": facts}).score(openings, 1)
    assert scored == [Scored(0, 0, pytest.approx((1 + 2 * 0.5**0.5) / 3, abs=1e-5))]


def test_fewer_than_three_cosines_are_averaged_as_they_are() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence="e", epoch=1)])
    assert ImpliedFacts({"i": rows((1, 0))}, {"e": rows((1, 1))}).score(openings, 1) == [
        Scored(0, 0, pytest.approx(0.5**0.5, abs=1e-5))
    ]


def test_a_text_without_vectors_is_left_out_rather_than_scored_low() -> None:
    openings = open_pairs(
        [Target(item="i", epoch=0), Target(item="j", epoch=0)],
        [Observation(evidence="a", epoch=1), Observation(evidence="b", epoch=1)],
    )
    nothing = np.zeros((0, 2), dtype=np.float32)
    scored = ImpliedFacts({"i": rows((1, 0)), "j": nothing}, {"a": nothing, "b": rows((1, 0))}).score(openings, 9)
    assert scored == [Scored(0, 1, 1.0)]
    assert ImpliedFacts({}, {"b": rows((1, 0))}).score(openings, 9) == []
    assert ImpliedFacts({"i": rows((1, 0))}, {}).score(openings, 9) == []


def test_the_best_window_counts() -> None:
    openings = open_pairs(
        [Target(item="i", epoch=0)], [Observation(evidence="long", epoch=1), Observation(evidence="short", epoch=2)]
    )
    evidence = {"long": rows((0, 1), (-1, 0), (1, 0.1)), "short": rows((1, 1))}
    scored = Embeddings({"i": rows((1, 0))}, evidence).score(openings, 9)
    assert [openings.observations[entry.observation].evidence for entry in scored] == ["long", "short"]


def test_a_remark_inside_an_unrelated_text_is_found_by_its_passage() -> None:
    openings = open_pairs(
        [Target(item="i", epoch=0)], [Observation(evidence="remark", epoch=1), Observation(evidence="other", epoch=2)]
    )
    whole = {"remark": rows((0.2, 1)), "other": rows((0.5, 1))}
    parts = {"remark": rows((0, 1), (1, 0.1)), "other": rows((0.5, 1), (0.5, 1))}
    item = {"i": rows((1, 0))}

    def first(scored: Sequence[Scored]) -> str:
        return openings.observations[scored[0].observation].evidence

    assert first(Embeddings(item, whole).score(openings, 1)) == "other"
    assert first(Passages(item, parts).score(openings, 1)) == "remark"


def test_equal_scores_go_to_the_later_observation_and_depth_cuts() -> None:
    seen = [Observation(evidence=f"e{n}", epoch=n) for n in (1, 2, 3)]
    openings = open_pairs([Target(item="i", epoch=0)], seen)
    same = {entry.evidence: rows((1, 0)) for entry in seen}
    scored = Embeddings({"i": rows((1, 0))}, same).score(openings, 2)
    assert [openings.observations[entry.observation].evidence for entry in scored] == ["e3", "e2"]


def test_the_center_uncovers_what_a_shared_tone_drowns() -> None:
    generator = np.random.default_rng(5)
    tone, topic = np.eye(16, dtype=np.float32)[0], np.eye(16, dtype=np.float32)[1]

    def noise() -> np.ndarray:
        return np.concatenate([[0, 0], generator.normal(size=14) * 0.1])

    chat = {f"chat{n}": (3 * tone + noise())[None].astype(np.float32) for n in range(30)}
    texts = {"i": (2 * tone + topic + noise())[None], "true": (0.3 * tone + topic + noise())[None], **chat}
    texts = {name: (row / np.linalg.norm(row)).astype(np.float32) for name, row in texts.items()}
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence=n, epoch=1) for n in (*chat, "true")])

    def first(center: Center | None) -> str:
        scored = Embeddings(texts, texts, center).score(openings, 1)
        return openings.observations[scored[0].observation].evidence

    assert first(None) != "true"
    assert first(Center.of(np.concatenate(list(texts.values())))) == "true"


def test_a_center_grows_without_seeing_the_old_vectors_again() -> None:
    generator = np.random.default_rng(1)
    matrix = generator.normal(size=(9, 4)).astype(np.float32)
    whole, grown = Center.of(matrix), Center.of(matrix[:4]).plus(matrix[4:])
    assert grown.count == whole.count
    assert np.allclose(grown.point, whole.point)


def test_a_single_text_is_not_its_own_center() -> None:
    only = rows((1, 0))
    assert np.allclose(centered(only, Center.of(only)), only)


def test_a_row_of_zeros_is_near_nothing() -> None:
    zero = np.zeros((1, 2), dtype=np.float32)
    assert not np.isnan(centered(zero, None)).any()


@settings(max_examples=60)
@given(
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_exact_search_agrees_with_a_plain_loop(targets: int, seen: int, depth: int, seed: int, mean: bool) -> None:
    generator = np.random.default_rng(seed)

    def some() -> np.ndarray:
        matrix = generator.normal(size=(int(generator.integers(1, 4)), 5))
        return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)

    openings = open_pairs(
        [Target(item=f"i{n}", epoch=int(generator.integers(0, 6))) for n in range(targets)],
        [Observation(evidence=f"e{n}", epoch=int(generator.integers(0, 8))) for n in range(seen)],
    )
    ours = {f"i{n}": some() for n in range(targets)}
    theirs = {f"e{n}": some() for n in range(seen)}
    best = 3 if mean else 1
    scorer = ImpliedFacts(ours, theirs) if mean else Embeddings(ours, theirs)
    scored = scorer.score(openings, depth)
    for row, target in enumerate(openings.targets):
        plain = {}
        for column, entry in enumerate(openings.observations):
            if openings.open[row, column]:
                cosines = sorted((a @ b for a in ours[target.item] for b in theirs[entry.evidence]), reverse=True)
                plain[column] = float(np.mean(cosines[:best]))
        expected = sorted(plain.values(), reverse=True)[:depth]
        assert [entry.score for entry in scored if entry.target == row] == pytest.approx(expected, abs=2e-5)
        for entry in scored:
            if entry.target == row:
                assert entry.score == pytest.approx(plain[entry.observation], abs=2e-5)


@given(st.text(max_size=300), st.integers(1, 40))
def test_windows_keep_every_word_character_within_bounds(text: str, size: int) -> None:
    cut = windows(text, size)
    assert cut
    if text.strip():
        assert all(0 < len(window) <= size for window in cut)
        assert "".join("".join(cut).split()) == "".join(text.split())
    else:
        assert cut == (text,)


def test_windows_break_between_sentences() -> None:
    assert windows("One two. Three four! Five?", 14) == ("One two.", "Three four!", "Five?")
    assert windows("One. Two. Three.", 10) == ("One. Two.", "Three.")
    text = "Word. " * 60
    assert len(passages(text)) > len(windows(text)) == 1

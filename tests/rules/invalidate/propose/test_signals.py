from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Pair
from readmit.lab import Observation, Scored, Target, open_pairs, propose, windows
from readmit.rules.invalidate.propose import (
    Center,
    DeclaredPremises,
    Embeddings,
    ImpliedFacts,
    Passages,
    SameSlot,
    Scanned,
    passages,
)
from readmit.rules.invalidate.propose.later_evidence import Spread, standing_out
from readmit.rules.invalidate.propose.vectors import centered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.lab import Scorer


@dataclass(frozen=True)
class Structural:
    target: Target
    observation: Observation
    same_slot: bool
    premise: bool


HOTEL = Target(
    item="i",
    epoch=1,
    covers=frozenset({"hotel"}),
    premises=frozenset({"p"}),
    premise_slots=frozenset({"flight"}),
    critical=True,
)
CASES = {
    "speaks about the slot": Structural(
        HOTEL, Observation(evidence="e", epoch=2, covers=frozenset({"hotel"})), True, False
    ),
    "speaks about a premise's slot": Structural(
        HOTEL, Observation(evidence="e", epoch=2, covers=frozenset({"flight"})), False, True
    ),
    "is bound to a premise": Structural(HOTEL, Observation(evidence="e", epoch=2, about=frozenset({"p"})), False, True),
    "speaks about something else": Structural(
        HOTEL, Observation(evidence="e", epoch=2, covers=frozenset({"car"}), about=frozenset({"q"})), False, False
    ),
    "says nothing structured": Structural(HOTEL, Observation(evidence="e", epoch=2), False, False),
    "neither has a slot": Structural(Target(item="i", epoch=1), Observation(evidence="e", epoch=2), False, False),
    "is not later": Structural(
        HOTEL,
        Observation(evidence="e", epoch=1, covers=frozenset({"hotel", "flight"}), about=frozenset({"p"})),
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
    assert Scanned(named).score(openings, 1) == [Scored(0, 0, 2.8284)]
    assert openings.observations[0].evidence == "b"


def rows(*values: tuple[float, float]) -> np.ndarray:
    matrix = np.array(values, dtype=np.float32)
    scaled: np.ndarray = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


def test_implied_facts_score_the_mean_of_the_three_best_cosines() -> None:
    # Cosines 1, 0.7, 0.7 and 0 beside 0.9 three times, and beside a single 0.85.
    premises = rows((1, 0), (0, 1))
    facts = {"mixed": rows((1, 0), (1, 1)), "even": rows((0.9, 0.436), (0.9, 0.436), (0.9, 0.436)), "few": rows((1, 1))}
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence=name, epoch=1) for name in facts])
    scored = ImpliedFacts({"i": premises}, facts).score(openings, 9)
    assert [openings.observations[entry.observation].evidence for entry in scored] == ["even", "mixed", "few"]


@pytest.mark.parametrize(("named", "expected"), [(1, 3.0), (2, 2.0), (20, 0.6325)])
def test_to_be_the_only_one_that_is_named_says_more(named: int, expected: float) -> None:
    """``n`` open pairs and eight imagined ones: the root of unnamed over named, in standard deviations."""
    later = [Observation(evidence=f"e{n}", epoch=1, covers=frozenset({"s"} if n < named else ())) for n in range(named)]
    rest = [Observation(evidence=f"r{n}", epoch=1) for n in range(max(0, 2 - named))]
    openings = open_pairs([Target(item="i", epoch=0, covers=frozenset({"s"}))], [*later, *rest])
    assert {entry.score for entry in SameSlot().score(openings, 1)} == {expected}


def test_targets_with_raised_scores_do_not_crowd_out_the_others() -> None:
    """All that is near one target is nearer than the true pair of another, but only the true pair stands out."""
    found = {
        0: (Spread.of(near := np.linspace(0.80, 0.86, 12)), [(11, float(near[-1]))]),
        1: (Spread.of(far := np.array([0.1, 0.12] * 6 + [0.4])), [(12, float(far[-1]))]),
    }
    loud, true = standing_out(found)
    assert true.score > loud.score > 0


def test_a_target_with_one_open_pair_borrows_the_distribution_of_the_return() -> None:
    many = np.linspace(0.0, 1.0, 20)
    scored = standing_out({0: (Spread.of(many), []), 1: (Spread.of(np.array([0.9])), [(0, 0.9)])})
    assert 0.5 < scored[0].score < 2.0


def test_signals_without_anything_to_compare_find_nothing() -> None:
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence="e", epoch=1)])
    none = np.zeros((0, 2), dtype=np.float32)
    for kind in (Embeddings, Passages, ImpliedFacts):
        for ours, theirs in (
            ({}, {}),
            ({"i": none}, {"e": none}),
            ({"i": rows((1, 0))}, {}),
            ({}, {"e": rows((1, 0))}),
        ):
            assert kind(ours, theirs).score(openings, 5) == []
        assert kind({"i": rows((1, 0))}, {"other": rows((1, 0))}).score(openings, 5) == []


def test_a_text_without_vectors_is_left_out_rather_than_scored_low() -> None:
    openings = open_pairs(
        [Target(item="i", epoch=0), Target(item="j", epoch=0)],
        [Observation(evidence="a", epoch=1), Observation(evidence="b", epoch=1)],
    )
    nothing = np.zeros((0, 2), dtype=np.float32)
    scored = ImpliedFacts({"i": rows((1, 0)), "j": nothing}, {"a": nothing, "b": rows((1, 0))}).score(openings, 9)
    assert [(entry.target, entry.observation) for entry in scored] == [(0, 1)]
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


def test_a_shared_tone_is_not_what_makes_texts_near() -> None:
    generator = np.random.default_rng(5)
    tone, topic = np.eye(16, dtype=np.float32)[0], np.eye(16, dtype=np.float32)[1]

    def noise() -> np.ndarray:
        return np.concatenate([[0, 0], generator.normal(size=14) * 0.1])

    chat = {f"chat{n}": (3 * tone + noise())[None].astype(np.float32) for n in range(30)}
    texts = {"i": (2 * tone + topic + noise())[None], "true": (0.3 * tone + topic + noise())[None], **chat}
    texts = {name: (row / np.linalg.norm(row)).astype(np.float32) for name, row in texts.items()}
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence=n, epoch=1) for n in (*chat, "true")])
    center = Center.of(np.concatenate(list(texts.values())))

    plain = max((float((texts["i"] @ texts[name].T).item()), name) for name in (*chat, "true"))
    assert plain[1] != "true"
    for kind in (Embeddings, Passages):
        (first,) = kind(texts, texts, center).score(openings, 1)
        assert openings.observations[first.observation].evidence == "true"


def test_a_hub_is_near_to_nothing() -> None:
    """One text lies amid all others and is the nearest of every target; the true one is near to its target only."""
    eye = np.eye(14, dtype=np.float32)
    others = {f"o{n}": eye[n : n + 1] for n in range(2, 14)}
    hub = eye.sum(axis=0, keepdims=True) / np.float32(14**0.5)
    target = (eye[:1] * 0.25 + eye[1:2] * 0.05 + hub * 0.3).astype(np.float32)
    texts = {**others, "hub": hub, "true": eye[:1], "i": target / np.linalg.norm(target)}
    openings = open_pairs(
        [Target(item="i", epoch=0)], [Observation(evidence=name, epoch=1) for name in texts if name != "i"]
    )
    assert (texts["i"] @ texts["hub"].T).item() > (texts["i"] @ texts["true"].T).item()
    (first,) = Embeddings(texts, texts).score(openings, 1)
    assert openings.observations[first.observation].evidence == "true"


def test_the_nearest_of_many_sentences_counts_less_than_a_single_one() -> None:
    generator = np.random.default_rng(3)

    def some(count: int) -> np.ndarray:
        matrix = generator.normal(size=(count, 24))
        scaled: np.ndarray = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        return scaled.astype(np.float32)

    item, spare = some(1), {f"e{n}": some(6) for n in range(12)}
    mixed = item + some(1)
    same = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    # The same sentence alone, and among twenty that are not near.
    texts = {**spare, "alone": same, "among": np.concatenate([same, some(20)])}
    openings = open_pairs([Target(item="i", epoch=0)], [Observation(evidence=name, epoch=1) for name in texts])
    scored = Passages({"i": item}, texts).score(openings, 2)
    assert [openings.observations[entry.observation].evidence for entry in scored] == ["alone", "among"]


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
)
def test_exact_search_agrees_with_a_plain_loop(targets: int, seen: int, depth: int, seed: int) -> None:
    generator = np.random.default_rng(seed)

    def some() -> np.ndarray:
        matrix = generator.normal(size=(int(generator.integers(1, 4)), 5))
        scaled: np.ndarray = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        return scaled.astype(np.float32)

    openings = open_pairs(
        [Target(item=f"i{n}", epoch=int(generator.integers(0, 6))) for n in range(targets)],
        [Observation(evidence=f"e{n}", epoch=int(generator.integers(0, 8))) for n in range(seen)],
    )
    ours = {f"i{n}": some() for n in range(targets)}
    theirs = {f"e{n}": some() for n in range(seen)}
    scored = ImpliedFacts(ours, theirs).score(openings, depth)
    for row, target in enumerate(openings.targets):
        plain = {}
        for column, entry in enumerate(openings.observations):
            if openings.open[row, column]:
                cosines = sorted((a @ b for a in ours[target.item] for b in theirs[entry.evidence]), reverse=True)
                plain[column] = float(np.mean(cosines[:3]))
        mine = [entry for entry in scored if entry.target == row]
        assert [plain[entry.observation] for entry in mine] == pytest.approx(
            sorted(plain.values(), reverse=True)[:depth], abs=2e-5
        )
        assert [entry.score for entry in mine] == sorted((entry.score for entry in mine), reverse=True)


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_ranking_over_all_targets_does_not_depend_on_the_order_of_input(targets: int, seen: int, seed: int) -> None:
    generator = np.random.default_rng(seed)

    def some() -> np.ndarray:
        # Up to a hundred rows each: more than are sampled.
        matrix = generator.normal(size=(int(generator.integers(1, 100)), 5))
        scaled: np.ndarray = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        return scaled.astype(np.float32)

    ours = {f"i{n}": some() for n in range(targets)}
    theirs = {f"e{n}": some() for n in range(seen)}

    def ranked(turn: int) -> list[tuple[Pair, float]]:
        def listed(names: dict[str, np.ndarray]) -> list[str]:
            return sorted(names) if turn == 0 else sorted(names, reverse=True)

        openings = open_pairs(
            [Target(item=name, epoch=int(name[1:]) % 3) for name in listed(ours)],
            [Observation(evidence=name, epoch=1 + int(name[1:]) % 4) for name in listed(theirs)],
        )
        mine, other = {name: ours[name] for name in listed(ours)}, {name: theirs[name] for name in listed(theirs)}
        scorers: list[Scorer] = [Embeddings(mine, other), Passages(mine, other)]
        found = propose(openings, scorers if turn == 0 else scorers[::-1])
        return [(proposal.pair, proposal.score) for proposal in found.kept]

    assert ranked(0) == ranked(1)


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


def test_passages_are_the_sentences_that_state_something() -> None:
    assert passages("I moved. Do you know a gym?\nThe old one closed!") == ("I moved.", "The old one closed!")
    assert passages("Who? What?") == ("Who?", "What?"), "where nothing is stated, the questions are kept"
    assert passages("") == ("",)

"""The score of a view itself, and what the simple methods must score by construction."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace
from tests.bench.data import SMOKE, shared
from tests.bench.viewing import Views, ViewScores, make_views, score_manbench_views, score_views

from readmit_bench.checkpoints import checkpoints
from readmit_bench.datasets.manbench_cases import ManBenchLabels, read_manbench
from readmit_bench.datasets.memora_cases import MemoraLabels, read_memora
from readmit_bench.datasets.stale_cases import read_stale
from readmit_bench.episodes import Dataset, View
from readmit_bench.judge_free import ceiling, reach, score_view
from readmit_bench.methods import MODEL_FREE, admitted
from readmit_bench.metrics import ManBenchScores, MemoraOutcome, harmonic_mean, percent, score_memora
from readmit_bench.spellings import fold, fold_typeset


def manbench_scores(data: Dataset[ManBenchLabels], method: str) -> ManBenchScores:
    return score_manbench_views(data, make_views(data.episodes, {method: MODEL_FREE[method]}))[method].average


BY_CONSTRUCTION = pytest.mark.parametrize(
    ("method", "via", "iir"),
    [("Static", 50, 50), ("Restore", 50, 50), ("Reset", 0, 100), ("MemStrata", 50, 50), ("MemTX", 50, 50)],
)


@BY_CONSTRUCTION
def test_manbench_by_construction(method: str, via: int, iir: int) -> None:
    """As published: these methods follow the age of an answer, not whether it holds."""
    scores = manbench_scores(read_manbench(SMOKE / "manbench"), method)
    assert [percent(score) for score in (scores.via, scores.iir, scores.wsar)] == [via, iir, 100 - iir]


@BY_CONSTRUCTION
def test_manbench_by_construction_on_the_shared_part(method: str, via: int, iir: int) -> None:
    scores = manbench_scores(read_manbench(shared("manbench")), method)
    assert [percent(score) for score in (scores.via, scores.iir, scores.wsar)] == [via, iir, 100 - iir]


def test_reset_rejects_everything_on_memora() -> None:
    data = read_memora(SMOKE / "memora")
    found = score_views(data, make_views(data.episodes))["Reset"]
    assert list(found.blocks) == ["25%", "50%", "75%"]
    scores = found.average
    assert [percent(score) for score in (scores.via, scores.iir)] == [0, 100]


@pytest.fixture(scope="module")
def memora() -> tuple[Dataset[MemoraLabels], Views, dict[str, ViewScores]]:
    """Every model-free method on every question of the shared part, once for all tests."""
    data = read_memora(shared("memora"))
    views = make_views(data.episodes)
    return data, views, score_views(data, views)


@pytest.mark.slow
def test_the_simple_methods_on_the_shared_part_of_memora(
    memora: tuple[Dataset[MemoraLabels], Views, dict[str, ViewScores]],
) -> None:
    data, views, scores = memora
    static, restore, reset = (scores[name].average for name in ("Static", "Restore", "Reset"))
    assert sum(len(made) for _, made in views.made) == 192 * len(MODEL_FREE)
    assert static.via < score_memora([ceiling(case) for case in data.cases]).via < 1
    assert [percent(score) for score in (reset.via, reset.iir)] == [0, 100]
    assert static.via > restore.via > 0
    # The departure state whole holds more of what ended than a dozen rows of everything do.
    assert 1 > static.iir > restore.iir > 0


@pytest.mark.slow
def test_readmit_leads_every_model_free_method_on_the_part_it_was_developed_on(
    memora: tuple[Dataset[MemoraLabels], Views, dict[str, ViewScores]],
) -> None:
    scores = {name: of.average for name, of in memora[2].items()}
    ours = scores.pop("readmit-lexical")
    assert all(harmonic_mean(ours.via, ours.iir) > harmonic_mean(one.via, one.iir) for one in scores.values())
    # A guard against losing what there is: on unseen data no difference is shown (docs/guide/benchmarks.md).
    # Above plain retrieval in both directions at once, not by trading one for the other.
    assert ours.via > scores["Static"].via
    assert ours.iir > scores["Static"].iir
    most = max(len(made["readmit-lexical"].rows) for _, made in memora[1].made)
    assert most <= max(len(made["Static"].rows) for _, made in memora[1].made), "the same retrieval budget"


@pytest.mark.slow
def test_no_view_of_the_shared_part_is_above_the_ceiling_of_its_checkpoint(
    memora: tuple[Dataset[MemoraLabels], Views, dict[str, ViewScores]],
) -> None:
    data, views, _ = memora
    reached = below_the_ceiling(data, views)
    whole = score_memora([ceiling(case) for case in data.cases]).via
    assert 0 < score_memora(reached).via < whole, "retrieval reaches a part of what was said"


def test_no_view_is_above_the_ceiling_of_its_checkpoint() -> None:
    data = read_memora(SMOKE / "memora")
    below_the_ceiling(data, make_views(data.episodes))


def below_the_ceiling(data: Dataset[MemoraLabels], views: Views) -> list[MemoraOutcome]:
    """The most that each checkpoint allows; no view of it shows more."""
    most = []
    for case, (checkpoint, made) in zip(data.cases, views.made, strict=True):
        most.append(reach(case, checkpoint))
        for view in made.values():
            seen = score_view(case, view, checkpoint)
            assert all(possible or not shown for shown, possible in zip(seen.presence, most[-1].presence, strict=True))
    assert score_memora(most).iir == 1
    return most


def test_what_is_to_be_avoided_is_not_met_by_a_liking() -> None:
    data = read_memora(SMOKE / "memora")
    case, (_, checkpoint) = next(zip(data.cases, checkpoints(data.episodes), strict=True))
    row = checkpoint.rows[0]
    rubric = {"valid": ("cedar",), "stale": ("pine",), "forgetting": ("Is pine mentioned?",)}
    wanting = {
        "for": "Does the response reflect the user's preference for cedar?",
        "against": "Does the response avoid recommending cedar (which the user dislikes)?",
    }
    for polarity, criterion in wanting.items():
        asked = dataclasses.replace(case, labels=replace(case.labels, presence=(criterion,), **rubric))
        for stance, said in (("for", "I like cedar and pine."), ("against", "I dislike cedar, and I dropped pine.")):
            made = replace(checkpoint, rows=(replace(row, text=said), *checkpoint.rows[1:]))
            outcome = score_view(asked, View(method="x", rows=(row.id,)), made)
            assert outcome.presence == (stance == polarity,)
            # An ended value is handed over where it is spoken for, not where the view says that it ended.
            assert outcome.forgetting == (stance == "against",)


def test_presence_and_absence_are_literal_but_blind_to_layout() -> None:
    data = read_memora(SMOKE / "memora")
    case, (_, checkpoint) = next(zip(data.cases, checkpoints(data.episodes), strict=True))
    rows = {row.text: row.id for row in checkpoint.rows}
    kept = rows["Please put this on my task list: Oil the lamp hinges."]
    outcome = score_view(case, View(method="x", rows=(kept,)), checkpoint)
    assert outcome.presence == (True, False, False)
    assert outcome.forgetting == (True,)
    dropped = rows["The harbor office sent us a set, so take this off my task list: Order new signal flags."]
    # A deletion quotes what it deletes, and says that it is deleted.
    assert score_view(case, View(method="x", rows=(dropped,)), checkpoint).forgetting == (True,)
    ended = rows["One more for the task list: Order new signal flags."]
    assert score_view(case, View(method="x", rows=(ended,)), checkpoint).forgetting == (False,)


def test_a_drawn_part_of_a_statement_counts_as_it_and_the_same_words_elsewhere_do_not() -> None:
    case = read_stale(SMOKE / "stale").cases[0]
    (_, plain), *_ = checkpoints([case.episode])
    turn = next(row for row in plain.rows if fold_typeset(case.labels.old) in fold_typeset(row.text))
    other = next(row for row in plain.rows if row.departure and row.id != turn.id)
    words = case.labels.old.split(" ", 1)[0]
    drawn = [replace(one, id=f"{one.id}.e00", text=words, turn=one.id) for one in (turn, other)]
    made = replace(plain, rows=tuple(drawn), observations=plain.rows)
    here, elsewhere = (score_view(case, View(method="x", rows=(one.id,)), made) for one in drawn)
    assert (here.forgetting, elsewhere.forgetting) == ((False,), (True,))


def test_the_whole_history_is_the_ceiling_of_availability() -> None:
    for stale in read_stale(SMOKE / "stale").cases:
        assert ceiling(stale).presence == (True,)
        assert ceiling(stale).forgetting == (False,)
    data = read_memora(SMOKE / "memora")
    for case, (_, checkpoint) in zip(data.cases, checkpoints(data.episodes), strict=True):
        most = sum(ceiling(case).presence)
        assert all(
            sum(score_view(case, admitted(m, checkpoint), checkpoint).presence) <= most for m in MODEL_FREE.values()
        )


def test_official_statements_are_found_despite_their_typography() -> None:
    for case in read_stale(shared("stale"), kind="T1").cases:
        assert ceiling(case).presence == (True,)
        assert ceiling(case).forgetting == (False,)


def test_wording() -> None:
    assert fold("  Walnut\n BREAD ") == "walnut bread"
    assert fold(875000) == "875000"
    assert fold("I\u2019ve") != fold("I've")
    assert fold_typeset("I\u2019ve \u2014 \u201ca\u201d") == 'i\'ve - "a"'

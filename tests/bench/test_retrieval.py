"""Lexical retrieval: windows, ranking, and one index per history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.bench.data import SMOKE

from readmit_bench.checkpoints import checkpoint, checkpoints
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.datasets.stale_cases import read_stale
from readmit_bench.episodes import Episode, Session, Turn
from readmit_bench.retrieval import CLOCK, IndexedHistory
from readmit_bench.settings import GEMINI, ManBenchSettings, MemoraSettings, Settings, StaleSettings

if TYPE_CHECKING:
    from readmit.models import Embedder


def history(*texts: str) -> tuple[Session, ...]:
    return tuple(
        Session(
            index=i,
            at="",
            turns=(Turn(speaker="user", text=text), Turn(speaker="assistant", text="A kettle, perhaps?")),
        )
        for i, text in enumerate(texts, start=1)
    )


TEXTS = ("The kettles sing", "A red boat", "kettle kettle kettle", "Nothing here", "A boat and a kettle", "Rain")


def test_ranked_and_recent_sessions_stay_in_their_window() -> None:
    over = IndexedHistory(history(*TEXTS))
    assert over.sessions_for(["boat"], after=0, until=3, ranked=5, recent=0) == (2,)
    assert over.sessions_for(["boat"], after=0, until=3, ranked=5, recent=1) == (2, 3)
    assert over.sessions_for(["boat"], after=3, until=6, ranked=1, recent=2) == (5, 6)
    assert over.sessions_for(["boat"], after=3, until=6, ranked=1, recent=0) == (5,)
    over.close()


def test_rows_are_the_users_turns_in_time_order() -> None:
    over = IndexedHistory(history(*TEXTS))
    rows = over.rows([5, 1], departure=3)
    assert [(r.id, r.text, r.departure) for r in rows] == [
        ("s1.t1", "The kettles sing", True),
        ("s5.t1", "A boat and a kettle", False),
    ]
    assert [r.at for r in rows] == [CLOCK + 1, 5 * CLOCK + 1]
    over.close()


def test_relevance_ranks_by_stem_and_then_by_recency() -> None:
    over = IndexedHistory(history(*TEXTS))
    rows = over.rows(range(1, 7), departure=3)
    ranking = over.relevance("Which kettle?", rows)
    assert ranking[0] == "s3.t1"
    assert set(ranking[:3]) == {"s1.t1", "s3.t1", "s5.t1"}
    assert ranking[3:] == ("s6.t1", "s4.t1", "s2.t1")
    over.close()


@pytest.mark.parametrize("query", ["", "?!", '"', 'a" OR "b', "NEAR(x)", "boat AND NOT", "text:boat*", "-boat ^"])
def test_no_query_is_read_as_an_operator(query: str) -> None:
    over = IndexedHistory(history(*TEXTS))
    rows = over.rows(range(1, 7), departure=3)
    assert len(over.relevance(query, rows)) == 6
    over.close()


def test_memora_windows_follow_the_settings() -> None:
    texts = [f"the cargo number {i}" for i in range(1, 101)]
    episode = Episode(id="x", benchmark="memora", tasks=("cargo?",), departure=50, sessions=history(*texts))
    made = checkpoint(episode)
    before = [r for r in made.rows if r.departure]
    after = [r for r in made.rows if not r.departure]
    assert (len(before), len(after)) == (12, 18)
    assert (made.budget.union, made.budget.at_most) == (12, 16)
    small = MemoraSettings(retrieved_before=1, recent_before=1, retrieved_after=0, recent_after=0)
    (_, tight), *_ = checkpoints([episode], Settings(memora=small))
    assert len(tight.rows) == 2
    assert all(r.departure for r in tight.rows)


def test_stale_ranks_every_turn_for_each_probe() -> None:
    episode = read_stale(SMOKE / "stale").episodes[0]
    made = checkpoint(episode)
    assert len(made.rows) == 52
    assert [len(ranking) for ranking in made.relevance] == [52, 52, 52]
    assert made.now > max(r.at for r in made.rows)


def test_episodes_of_one_history_share_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[IndexedHistory] = []

    class Counted(IndexedHistory):
        def __init__(self, sessions: tuple[Session, ...], embedder: Embedder | None = None) -> None:
            made.append(self)
            super().__init__(sessions, embedder)

    monkeypatch.setattr("readmit_bench.checkpoints.IndexedHistory", Counted)
    assert len(list(checkpoints(read_memora(SMOKE / "memora").episodes))) == 6
    assert len(made) == 1


def test_settings_are_those_of_the_paper() -> None:
    memora, stale, manbench = MemoraSettings(), StaleSettings(), ManBenchSettings()
    assert (memora.retrieved_before, memora.retrieved_after, memora.recent_before, memora.recent_after) == (
        10,
        14,
        2,
        4,
    )
    assert (stale.retrieved_per_query, stale.retrieved_union, stale.scan_observations) == (10, 30, 4)
    assert (manbench.verifier_confidence, manbench.verifier_tokens, GEMINI.verifier_tokens) == (0.65, 160, 384)

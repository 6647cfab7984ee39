from __future__ import annotations

import io
import json
import tarfile
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from readmit.errors import RecordError
from readmit.lab import Observation, Target, open_pairs, propose
from readmit.models import FunctionEmbedder, Lexical
from readmit_bench.evaluation.development import (
    FILLER_CHARS,
    Filler,
    Implied,
    StalePair,
    implied_facts,
    memora_filler,
    stale_pairs,
)
from readmit_bench.evaluation.histories import SESSIONS, build_history, histories, statements_only
from readmit_bench.evaluation.plain_tables import proposals_table
from readmit_bench.evaluation.plots import plot_proposals
from readmit_bench.evaluation.proposals import NEAR, PlainCosine, Vectorizer, measure

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = [StalePair(f"p{n}", "T2", f"old {n}", f"new {n}", (n, 30 + n)) for n in range(6)]
IMPLIED = {f"p{n}": Implied(f"p{n}", (f"premise {n}",), (f"fact {n}",)) for n in range(6)}
FILLER = [Filler(f"Chat {n}. More chat.", (f"chat fact {n}",)) for n in range(60)]


def test_a_history_has_its_pair_at_the_official_places() -> None:
    history = build_history(PAIRS[3], IMPLIED["p3"], FILLER, seed=0)
    assert len(history.sessions) == SESSIONS
    assert history.sessions[3].text == "old 3"
    assert history.sessions[33].text == "new 3"
    assert len({session.name for session in history.sessions}) == SESSIONS
    assert [target.item for target in history.targets(alone=True)] == ["p3/old"]
    assert len(history.targets(alone=False)) == 4


def test_histories_are_seeded_and_independent_of_each_other() -> None:
    all_six = histories(PAIRS, IMPLIED, FILLER, seed=1)
    assert histories(PAIRS, IMPLIED, FILLER, seed=1) == all_six
    assert histories(PAIRS[2:3], IMPLIED, FILLER, seed=1) == all_six[2:3]
    assert histories(PAIRS, IMPLIED, FILLER, seed=2) != all_six


def test_rivals_report_other_changes_in_the_absence() -> None:
    for history in histories(PAIRS, IMPLIED, FILLER, seed=1, rivals=4):
        places = [at for at, session in enumerate(history.sessions) if session.name.endswith("/new")]
        assert len(places) == 5
        assert history.new in places
        assert min(places) > history.old


def test_a_buried_statement_stands_inside_an_unrelated_session() -> None:
    (history,) = histories(PAIRS[:1], IMPLIED, FILLER, seed=1, buried=True)
    text = history.sessions[history.new].text
    assert "new 0" in text
    assert "More chat." in text
    assert history.sessions[history.old].text == "old 0"


def test_over_statements_each_fact_is_an_item_and_a_session_without_any_is_no_evidence() -> None:
    filler = [Filler(f"Chat {n}. More chat.", () if n % 2 else (f"one {n}", f"two {n}")) for n in range(60)]
    (turns,) = histories(PAIRS[4:5], IMPLIED, filler, seed=1)
    stated = turns.stated()
    before = [session.facts for session in turns.sessions[: turns.old]]
    assert len(stated.targets(alone=False)) == 1 + sum(map(len, before))
    assert [target.item for target in stated.targets(alone=True)] == [turns.true.item]
    seen = {one.evidence for one in stated.observations()}
    assert seen == {
        one.name for one in turns.sessions if one.facts or one.name in (turns.true.item, turns.true.evidence)
    }
    assert len(turns.observations()) == SESSIONS, "over whole sessions all of them are"


def test_a_return_of_few_pairs_judges_the_true_one_though_no_signal_finds_it() -> None:
    found = measure("some", histories(PAIRS, {}, FILLER, seed=1), vectors_by({}), "implied_facts")
    assert (found.near, found.ranked) == (0, 0)
    assert (found.judged, found.asked) == (1, found.open), "at most six items beside fewer than fifty observations"


def test_too_little_filler_is_refused() -> None:
    with pytest.raises(RecordError, match="filler: 3 sessions"):
        build_history(PAIRS[0], None, FILLER[:3], seed=0)


def vectors_by(table: dict[str, int]) -> Vectorizer:
    """Texts that a table puts into one direction are near; each other text has a direction of its own."""
    places: dict[str, int] = {}

    def embed(texts: object) -> np.ndarray:
        rows = np.zeros((len(texts), 400), dtype=np.float32)  # type: ignore[arg-type]
        for row, text in enumerate(texts):  # type: ignore[arg-type,var-annotated]
            place = table[text] if text in table else places.setdefault(text, 100 + len(places))
            rows[row, place] = 1.0
        return rows

    return Vectorizer(FunctionEmbedder("table@1", 400, embed))


def test_recall_counts_the_true_pair_only() -> None:
    cases = histories(PAIRS, IMPLIED, FILLER, seed=0)
    # Raw texts: a chat is nearer to every old statement than the true change. Facts: four of six match.
    table = {f"premise {n}": n for n in range(6)} | {f"fact {n}": n for n in range(4)}
    found = measure("made up", cases, vectors_by(table), "implied_facts")
    assert sum(rank == 1 for rank in found.ranks) >= 4
    assert found.at[1] == pytest.approx(sum(rank == 1 for rank in found.ranks) / 6)
    assert found.at[1] < 1.0
    assert found.budget[100] >= found.budget[5] >= 4 / 6
    assert found.halves is not None
    assert sum(found.halves) / 2 == pytest.approx(found.near)
    assert found.by_threshold[NEAR] == (*found.halves, found.ranked), "the product's is one of them"
    for at, below in pairwise(sorted(found.by_threshold, reverse=True)):
        higher, lower = found.by_threshold[at], found.by_threshold[below]
        assert all(many <= more for many, more in zip(higher, lower, strict=True)), "a lower one finds no less"
    assert found.open == pytest.approx(sum((n + 1) * 50 - sum(range(n + 1)) - (n + 1) for n in range(6)) / 6, rel=0.2)


def test_a_signal_without_vectors_never_finds_the_pair() -> None:
    cases = histories(PAIRS, {}, FILLER, seed=0)
    found = measure("made up", cases, vectors_by({}), "implied_facts")
    assert found.ranks == (0,) * 6
    assert set(found.at.values()) == {0.0}


def test_plain_cosine_lets_targets_take_turns() -> None:
    """The baseline that every row is measured beside: the nearest of each target before the second of any."""
    openings = open_pairs(
        [Target(item="x", epoch=0), Target(item="y", epoch=0)],
        [Observation(evidence="a", epoch=1), Observation(evidence="b", epoch=1)],
    )
    angles = {"x": 0.0, "a": 0.1, "b": 0.3, "y": 1.5}
    table = {name: np.array([[np.cos(angle), np.sin(angle)]], dtype=np.float32) for name, angle in angles.items()}
    found = propose(openings, [PlainCosine(table)], near=None)
    assert [(one.pair.item, one.pair.evidence) for one in found.kept] == [
        ("x", "a"),
        ("y", "b"),
        ("x", "b"),
        ("y", "a"),
    ]


def test_among_changes_only_every_new_statement_is_a_candidate() -> None:
    cases = statements_only(PAIRS, IMPLIED)
    table = {f"old {n}": n for n in range(6)} | {f"new {n}": n for n in range(6)}
    found = measure("changes", cases, vectors_by(table), "cosine", returns=False)
    assert found.at[1] == 1.0
    assert found.budget == {}
    assert "changes" in proposals_table([found])


def made_up_data(folder: Path) -> Path:
    (folder / "stale").mkdir()
    (folder / "memora").mkdir()
    facts = [
        {"period": "weekly", "persona": "cook", "session_id": n, "implied": [f"dish {n}"]} for n in range(1, SESSIONS)
    ]
    (folder / "stale" / "filler_implied_facts.jsonl").write_text("\n".join(map(json.dumps, facts)))
    with tarfile.open(folder / "memora" / "memora-weekly-monthly.tar.xz", "w:xz") as archive:
        for n in range(1, SESSIONS):
            turns = [
                {"speaker": "ai_agent", "message": "Hello!"},
                {"speaker": "user_agent", "message": f"Dish {n}. " * 99},
            ]
            session = {"session_id": n, "session_type": "no_memory", "conversation": turns}
            data = json.dumps(session).encode()
            member = tarfile.TarInfo(f"weekly/cook/conversations/session_{n:04d}.json")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return folder


def test_filler_is_read_from_the_archive_in_place(tmp_path: Path) -> None:
    filler = memora_filler(made_up_data(tmp_path))
    assert len(filler) == SESSIONS - 1
    assert filler[6].text.startswith("Dish 7. Dish 7.")
    assert len(filler[6].text) == FILLER_CHARS
    assert filler[6].implied == ("dish 7",)


def test_an_archive_that_lacks_a_session_is_named(tmp_path: Path) -> None:
    data = made_up_data(tmp_path)
    with (data / "stale" / "filler_implied_facts.jsonl").open("a") as file:
        file.write('\n{"period": "weekly", "persona": "cook", "session_id": 99, "implied": []}')
    with pytest.raises(RecordError, match="session_0099"):
        memora_filler(data)


def test_real_pairs_are_found_and_the_hard_case_is_harder(shared_data: Path, tmp_path: Path) -> None:
    pairs, written = stale_pairs(shared_data, "T2"), implied_facts(shared_data)
    assert (len(pairs), len(written)) == (94, 80)
    known = [pair for pair in pairs if pair.uid in written][:20]
    vectors = Vectorizer(Lexical())
    cases = histories(known, written, memora_filler(shared_data), seed=0)
    easy = measure("substitute", cases, vectors, "implied_facts", returns=False)
    hard = measure("changes", statements_only(known, written), vectors, "cosine", returns=False)
    assert easy.at[10] > 0.9
    assert hard.at[10] < 0.9
    for recall in (easy, hard):
        assert list(recall.at.values()) == sorted(recall.at.values())
    pytest.importorskip("matplotlib")
    plot_proposals([easy, hard], tmp_path / "recall.svg")
    assert (tmp_path / "recall.svg").stat().st_size > 1_000

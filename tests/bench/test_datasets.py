"""Loaders: official formats, the paper's selection rules, and clear complaints."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests.bench.data import SMOKE, shared

from readmit.errors import RecordError
from readmit.records.canonical import convert
from readmit_bench.datasets.manbench_cases import (
    CHALLENGER,
    DEPARTURE,
    is_eligible,
    quorum,
    read_manbench,
    with_answers,
)
from readmit_bench.datasets.memora_cases import departure, evidence, read_memora
from readmit_bench.datasets.memora_files import RawSession, read_fillers
from readmit_bench.datasets.stale_cases import SESSIONS, SUBSTITUTE_NOTE, read_stale
from readmit_bench.episodes import Session, Turn
from readmit_bench.metrics import OLD_STALE, OLD_VALID
from readmit_bench.settings import PERIODS, MemoraSettings, StaleSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit_bench.settings import Period

KEEPER = "weekly/lighthouse_keeper"
QUESTIONS = f"{KEEPER}/evaluation_questions_lighthouse_keeper.json"
SESSION = f"{KEEPER}/conversations/session_0009.json"
TASK = "data/bbh_all_small/common_kind/val_data.json"


def edited(folder: Path, file: str, change: Callable[[Any], object]) -> None:
    path = folder / file
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The smoke data, free to be damaged."""
    shutil.copytree(SMOKE, tmp_path / "smoke")
    return tmp_path / "smoke"


# Memora


def test_memora_runs_every_eligible_question_at_all_three_departures() -> None:
    data = read_memora(SMOKE / "memora")
    assert [(c.labels.question, c.labels.fraction, c.episode.departure) for c in data.cases] == [
        (question, fraction, cut)
        for question in ("keeper_tasks", "keeper_baking")
        for fraction, cut in ((0.25, 3), (0.5, 6), (0.75, 9))
    ]
    assert data.notes == ("Memora: 2 questions in 1 of 1 clusters (weekly).",)


@pytest.mark.parametrize(
    ("chosen", "drawn", "said"),
    [
        (PERIODS, {"weekly", "monthly"}, "4 questions in 2 of 2 clusters (weekly, monthly)"),
        (("monthly",), {"monthly"}, "2 questions in 1 of 1 clusters (monthly)"),
        (("quarterly", "weekly"), {"weekly"}, "2 questions in 1 of 1 clusters (weekly)"),
    ],
)
def test_memora_is_drawn_from_the_chosen_periods_and_says_which(
    copy: Path, chosen: tuple[Period, ...], drawn: set[str], said: str
) -> None:
    shutil.copytree(copy / "memora" / "weekly", copy / "memora" / "monthly")
    data = read_memora(copy / "memora", MemoraSettings(periods=chosen))
    assert {case.labels.cluster.partition("/")[0] for case in data.cases} == drawn
    assert data.notes == (f"Memora: {said}.",)


def test_memora_without_the_chosen_period_is_refused() -> None:
    with pytest.raises(RecordError, match="holds no monthly or quarterly folder"):
        read_memora(SMOKE / "memora", MemoraSettings(periods=("monthly", "quarterly")))


def test_memora_reads_an_archive_in_place(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "release.tar.xz", "w:xz") as archive:
        archive.add(SMOKE / "memora" / "weekly", arcname="weekly")
    unpacked = read_memora(SMOKE / "memora")
    assert read_memora(tmp_path / "release.tar.xz") == unpacked
    assert read_memora(tmp_path) == unpacked


@pytest.mark.parametrize(
    ("last", "fraction", "expected"), [(12, 0.25, 3), (2, 0.25, 1), (2, 0.75, 1), (605, 0.75, 454), (605, 0.5, 302)]
)
def test_departure_is_clamped(last: int, fraction: float, expected: int) -> None:
    assert departure(last, fraction) == expected


def test_evidence_is_what_binds_a_value_to_a_session() -> None:
    found = evidence(
        {
            "a": [{"value": "x", "session_id": 1}],
            "b": {"likes": [{"item": "y", "session_id": 2}]},
            "session_history": [7, 8],
            "goal_session": {"session_id": 3},
        }
    )
    assert [(e.value, e.session) for e in found] == [("x", 1), ("y", 2), (None, 3)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"operation": "add"}, "add"),
        ({"operation": "add", "operation_converted": "add_to_update"}, "update"),
        ({"operation": "add", "operation_converted": "add_to_update", "actual_operation": "delete"}, "delete"),
        ({}, None),
    ],
)
def test_the_effective_operation(fields: dict[str, str], expected: str | None) -> None:
    base = {"session_id": 1, "session_type": "activity", "date": "2025-01-01", "conversation": []}
    assert convert({**base, **fields}, RawSession, what="session").effective_operation == expected


@dataclass(frozen=True)
class Ineligible:
    """A change after which the task question may no longer run."""

    file: str
    change: Callable[[Any], object]


def _forgotten(key: str, value: object) -> Callable[[Any], object]:
    return lambda q: q["questions"]["remembering"][0]["forgetting_evidence"]["forgotten_items"][0].update({key: value})


def _evidence(keep: slice) -> Callable[[Any], object]:
    def change(content: Any) -> None:
        held = content["questions"]["remembering"][0]["memory_evidence"]
        held["remaining_tasks"] = held["remaining_tasks"][keep]

    return change


INELIGIBLE = {
    "the session that ended the value only added one": Ineligible(SESSION, lambda s: s.update(operation="add")),
    "the value never occurs before": Ineligible(QUESTIONS, _forgotten("value", "Polish the brass bell")),
    "the value ended before every departure": Ineligible(QUESTIONS, _forgotten("session_id", 2)),
    "nothing valid to learn in the absence": Ineligible(QUESTIONS, _evidence(slice(0, 1))),
    "nothing valid held at any departure": Ineligible(QUESTIONS, _evidence(slice(2, 3))),
}


@pytest.mark.parametrize("case", INELIGIBLE.values(), ids=INELIGIBLE.keys())
def test_each_condition_of_eligibility_counts(copy: Path, case: Ineligible) -> None:
    edited(copy / "memora", case.file, case.change)
    assert "keeper_tasks" not in {c.labels.question for c in read_memora(copy / "memora").cases}


def test_the_shared_part_has_exactly_64_questions() -> None:
    data = read_memora(shared("memora"))
    questions = Counter((c.labels.cluster, c.labels.question) for c in data.cases)
    assert len(questions) == 64
    assert set(questions.values()) == {3}
    assert len({cluster for cluster, _ in questions}) == 20


# STALE


def test_stale_departs_after_the_old_evidence() -> None:
    data = read_stale(SMOKE / "stale")
    assert [(c.labels.stratum, c.episode.departure) for c in data.cases] == [("early", 3), ("middle", 7), ("late", 12)]
    first = data.cases[0]
    assert len(first.episode.sessions) == SESSIONS
    assert any(turn.text == first.labels.new for turn in first.episode.sessions[33].turns)
    assert first.episode.haystack == "official"


def fillers(count: int) -> list[Session]:
    """Small talk in which either may begin, end, or speak twice."""
    patterns: tuple[tuple[Literal["user", "assistant"], ...], ...] = (
        ("user", "assistant", "user"), ("assistant", "user"), ("user", "user", "assistant", "user"),
    )  # fmt: skip
    return [
        Session(
            index=i,
            at="",
            turns=tuple(
                Turn(speaker=speaker, text=f"small talk {i}.{n}")
                for n, speaker in enumerate(patterns[i % len(patterns)])
            ),
        )
        for i in range(count)
    ]


def pairs(copy: Path) -> Path:
    """The smoke records as a release without session text would give them."""
    records = json.loads((copy / "stale" / "smoke.json").read_text())
    for record in records:
        del record["haystack_session"]
    (copy / "stale" / "pairs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return copy / "stale"


def test_pairs_get_a_substitute_haystack_that_says_so(copy: Path) -> None:
    data = read_stale(pairs(copy), fillers=fillers(60))
    assert SUBSTITUTE_NOTE in data.notes
    for case in data.cases:
        old, new = case.labels.old_session, case.labels.new_session
        texts = [[turn.text for turn in session.turns] for session in case.episode.sessions]
        assert case.episode.haystack == "substitute"
        assert case.labels.old in texts[old]
        assert case.labels.new in texts[new]
        said = {text for part in texts for text in part}
        assert len(said & {case.labels.old, case.labels.new}) == 2
        assert sum(len(part) for part in texts) == len(said), "no turn is there twice"
    assert data == read_stale(copy / "stale", fillers=fillers(60))
    assert data != read_stale(copy / "stale", fillers=fillers(60), seed=1)


def test_a_statement_may_open_its_session_and_then_a_note_says_that_this_marks_it(copy: Path) -> None:
    opening = StaleSettings(stated="opening")
    data = read_stale(pairs(copy), fillers=fillers(60), settings=opening)
    assert SUBSTITUTE_NOTE in data.notes
    assert any("no measurement" in note for note in data.notes)
    for case, usual in zip(data.cases, read_stale(copy / "stale", fillers=fillers(60)).cases, strict=True):
        for session, other in zip(case.episode.sessions, usual.episode.sessions, strict=True):
            stated = {case.labels.old_session: case.labels.old, case.labels.new_session: case.labels.new}
            if session.index in stated:
                assert session.turns[0] == Turn(speaker="user", text=stated[session.index])
                assert len(session.turns) == len(other.turns) + 1
            else:
                assert session == other


def speakers(session: Session) -> tuple[str, ...]:
    return tuple(turn.speaker for turn in session.turns)


def test_who_speaks_when_does_not_mark_a_labelled_session(copy: Path) -> None:
    """With the statement taken out again, each labelled session is a filler with one turn less to read."""
    given = fillers(60)
    known = {tuple(turn.text for turn in session.turns): speakers(session) for session in given}
    for case in read_stale(pairs(copy), fillers=given).cases:
        stated = {case.labels.old, case.labels.new}
        for session in case.episode.sessions:
            said = [None if turn.text in stated else turn.text for turn in session.turns]
            (pattern,) = {
                pattern
                for texts, pattern in known.items()
                if len(texts) == len(said) and all(one in (None, text) for one, text in zip(said, texts, strict=True))
            }
            assert speakers(session) == pattern
            assert said.count(None) == (session.index in (case.labels.old_session, case.labels.new_session))


def test_on_the_shared_pairs_no_pattern_of_turns_tells_a_labelled_session() -> None:
    """How often each pattern occurs among labelled sessions and among the others: the same but for chance."""
    labelled: Counter[tuple[str, ...]] = Counter()
    others: Counter[tuple[str, ...]] = Counter()
    for case in read_stale(shared("stale"), fillers=read_fillers(shared("memora"))).cases:
        for session in case.episode.sessions:
            marked = session.index in (case.labels.old_session, case.labels.new_session)
            (labelled if marked else others)[speakers(session)[:2]] += 1
    assert set(labelled) <= set(others)
    for pattern, count in others.items():
        assert abs(labelled[pattern] / labelled.total() - count / others.total()) < 0.1, pattern


def test_a_filler_without_a_word_of_the_user_is_not_used(copy: Path) -> None:
    silent = Session(index=99, at="", turns=(Turn(speaker="assistant", text="Hello?"),))
    with pytest.raises(RecordError, match="fillers: 49 sessions"):
        read_stale(pairs(copy), fillers=[*fillers(49), silent])


def test_a_haystack_needs_enough_fillers(copy: Path) -> None:
    with pytest.raises(RecordError, match="fillers: 49 sessions"):
        read_stale(pairs(copy), fillers=fillers(49))


def test_fillers_are_sessions_without_memory() -> None:
    assert [session.index for session in read_fillers(SMOKE / "memora")] == [3, 7, 10]


def test_the_shared_pairs_and_full_records() -> None:
    folder = shared("stale")
    data = read_stale(folder, fillers=read_fillers(shared("memora")))
    assert len(data.cases) == 94
    assert None not in {c.labels.stratum for c in data.cases}
    official = read_stale(folder, kind="T1")
    assert [len(c.episode.sessions) for c in official.cases] == [SESSIONS, SESSIONS]
    assert SUBSTITUTE_NOTE not in official.notes


# ManBench


def test_position_decides_the_condition_not_the_index() -> None:
    data = read_manbench(SMOKE / "manbench")
    found = [(c.labels.case, c.labels.condition) for c in data.cases if c.labels.task == "common_kind"]
    assert found == [
        ("common_kind/7", OLD_VALID),
        ("common_kind/9", OLD_STALE),
        ("common_kind/12", OLD_VALID),
        ("common_kind/20", OLD_STALE),
    ]


def test_old_stale_moves_on_to_the_next_example_cyclically() -> None:
    cases = {c.labels.case: c for c in read_manbench(SMOKE / "manbench").cases}
    moved, wrapped = cases["common_kind/9"], cases["common_kind/20"]
    assert moved.episode.tasks[0].startswith("Oak, ash and elm")
    assert wrapped.episode.tasks[0].startswith("Oboe")
    assert [row.text for row in moved.episode.rows] == ["metals", "trees"]
    stays = cases["common_kind/12"]
    assert [row.text for row in stays.episode.rows] == ["trees", "rivers"]


def test_the_misleading_answer_falls_back_to_the_first_wrong_choice(copy: Path) -> None:
    edited(copy / "manbench", TASK, lambda t: t["data"][0].update(misleading_target="strings"))
    by_name = {c.labels.case: c for c in read_manbench(copy / "manbench").cases}
    assert by_name["common_kind/7"].episode.rows[1].text == "Not ['woodwinds', 'wind instruments']"
    assert by_name["common_kind/9"].labels.before.misleading == "gases"


def test_acceptance_can_follow_the_visible_task_version_alone() -> None:
    for case in read_manbench(SMOKE / "manbench").cases:
        departed, challenger = case.episode.rows
        same_task = departed.task_version == case.episode.task_version
        assert same_task == (case.labels.condition == OLD_VALID)
        assert challenger.task_version == case.episode.task_version
        assert case.labels.valid == (DEPARTURE if same_task else CHALLENGER)


def test_eligibility_needs_a_right_start_and_on_old_stale_a_quorum() -> None:
    cases = {c.labels.case: c.labels for c in read_manbench(SMOKE / "manbench").cases}
    valid, stale = cases["common_kind/12"], cases["common_kind/9"]
    assert is_eligible(valid, "trees", ["rivers"] * 4)
    assert not is_eligible(valid, "rivers", ["trees"] * 4)
    assert is_eligible(stale, "metals", ["trees", "trees", "trees", "rivers"])
    assert not is_eligible(stale, "metals", ["trees", "trees", "rivers", "rivers"])
    assert not is_eligible(stale, "gases", ["trees"] * 4)
    assert [quorum(n) for n in (4, 8, 16, 32)] == [3, 5, 9, 17]


def test_real_answers_replace_the_fixed_candidates() -> None:
    case = read_manbench(SMOKE / "manbench").cases[0]
    answered = with_answers(case, "flutes", "drums")
    assert [row.text for row in answered.episode.rows] == ["flutes", "drums"]
    assert answered.labels is case.labels
    assert answered.episode.id == case.episode.id


def test_the_shared_tasks() -> None:
    data = read_manbench(shared("manbench"))
    assert len(data.cases) == 2559
    counts = Counter(c.labels.condition for c in data.cases)
    # Positions alternate within a task, so only tasks of odd length tip the balance.
    assert counts[OLD_VALID] - counts[OLD_STALE] == 1
    assert all(c.labels.before.misleading != c.labels.before.right for c in data.cases)


# Complaints


@dataclass(frozen=True)
class Damage:
    """A change to a file, and what the complaint must name."""

    benchmark: str
    file: str
    change: Callable[[Any], object]
    named: tuple[str, ...]


def _drop(*path: str | int) -> Callable[[Any], object]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        del content[path[-1]]

    return change


DAMAGES = {
    "a session without an id": Damage("memora", SESSION, _drop("session_id"), ("session_0009.json", "session_id")),
    "an unknown speaker": Damage(
        "memora", SESSION, lambda s: s["conversation"][0].update(speaker="ghost"), ("session_0009.json", "speaker")
    ),
    "two sessions with one id": Damage("memora", SESSION, lambda s: s.update(session_id=8), ("session_id 8", "twice")),
    "a question without rubric": Damage(
        "memora", QUESTIONS, _drop("questions", "remembering", 0, "evaluation"), ("evaluation_questions_", "evaluation")
    ),
    "a rubric without forgetting": Damage(
        "memora",
        QUESTIONS,
        lambda q: q["questions"]["remembering"][0]["evaluation"].update(
            evaluation_questions=q["questions"]["remembering"][0]["evaluation"]["evaluation_questions"][:3]
        ),
        ("keeper_tasks", "forgetting_absence"),
    ),
    "a criterion the wrong way round": Damage(
        "memora",
        QUESTIONS,
        lambda q: q["questions"]["remembering"][0]["evaluation"]["evaluation_questions"][0].update(
            expected_answer="no"
        ),
        ("keeper_tasks", "expected_answer"),
    ),
    "a STALE record without probes": Damage(
        "stale", "smoke.json", _drop(0, "probing_queries"), ("smoke.json", "probing_queries")
    ),
    "a short haystack": Damage(
        "stale", "smoke.json", _drop(1, "haystack_session", 3), ("haystack_session", "smoke.json[1]")
    ),
    "a pair among full records": Damage(
        "stale", "smoke.json", _drop(2, "haystack_session"), ("smoke-late", "haystack_session")
    ),
    "evidence out of order": Damage(
        "stale", "smoke.json", lambda r: r[0].update(relevant_session_index=[33, 3]), ("relevant_session_index",)
    ),
    "an index past the end": Damage(
        "stale", "smoke.json", lambda r: r[0].update(relevant_session_index=[3, 50]), ("relevant_session_index",)
    ),
    "the same case twice": Damage("stale", "smoke.json", lambda r: r[1].update(uid="smoke-early"), ("smoke-early",)),
    "no record of the type": Damage("stale", "smoke.json", lambda r: [x.update(type="T1") for x in r], ("T2",)),
    "a target that is no choice": Damage(
        "manbench", TASK, lambda t: t["data"][1].update(targets=["woods?"]), ("idx 9", "targets")
    ),
    "scores that do not match": Damage(
        "manbench", TASK, lambda t: t["data"][1].update(multiple_choice_scores=[1]), ("idx 9", "multiple_choice_scores")
    ),
    "no wrong choice": Damage(
        "manbench", TASK, lambda t: t["data"][3].update(multiple_choice_scores=[1, 1]), ("idx 20", "wrong")
    ),
    "one idx twice": Damage("manbench", TASK, lambda t: t["data"][1].update(idx=7), ("common_kind", "idx")),
    "no example": Damage("manbench", TASK, lambda t: t.update(data=[]), ("val_data.json", "data")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_malformed_data_is_named(copy: Path, damage: Damage) -> None:
    readers: dict[str, Callable[[Path], object]] = {
        "memora": read_memora,
        "stale": read_stale,
        "manbench": read_manbench,
    }
    edited(copy / damage.benchmark, damage.file, damage.change)
    with pytest.raises(RecordError) as complaint:
        readers[damage.benchmark](copy / damage.benchmark)
    for name in damage.named:
        assert name in str(complaint.value)


@pytest.mark.parametrize("reader", [read_memora, read_stale, read_manbench])
def test_a_wrong_folder_says_what_belongs_there(reader: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such file or folder; name the folder"):
        reader(tmp_path / "nowhere")
    with pytest.raises(RecordError, match="holds no"):
        reader(tmp_path)


def test_a_broken_archive_and_missing_parts(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "release.tar.xz").write_bytes(b"not an archive")
    with pytest.raises(RecordError, match=r"release\.tar\.xz: cannot be read"):
        read_memora(tmp_path / "release.tar.xz")
    (copy / "memora" / QUESTIONS).unlink()
    with pytest.raises(RecordError, match="lighthouse_keeper has no evaluation_questions"):
        read_memora(copy / "memora")

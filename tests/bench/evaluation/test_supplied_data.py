"""Proposals on any data: pairs and filler as somebody else has them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.run import run as command

from readmit.errors import RecordError
from readmit.models import Lexical
from readmit_bench.evaluation.proposals import MODEL_FREE, SIGNALS
from readmit_bench.evaluation.supplied_data import GivenPair, measure_given, read_filler, read_pairs

if TYPE_CHECKING:
    from pathlib import Path


def pair(number: int, **more: Any) -> dict[str, Any]:
    old, new = f"The kiln in hall {number} is lit at noon.", f"Hall {number} burned down."
    return {"id": f"p{number}", "old": old, "new": new, **more}


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.txt").write_text(f"We talked about tea number {number}. It was good.")
    written(folder / "more.jsonl", *({"text": f"Weather report {number}."} for number in range(30)))
    talk = [{"speaker": "user_agent", "message": "Just a chat."}, {"speaker": "ai_agent", "message": "Indeed."}]
    for number, kind in enumerate(("no_memory", "memory")):
        written(folder / f"session_{number}.json", {"session_type": kind, "conversation": talk})
    written(folder / "evaluation_questions.json", {"questions": {}})
    return folder


def run(*options: str) -> dict[str, Any]:
    told = command("eval", "proposals", "--embedder", "lexical", *options, "--json", status=None)
    assert told.exit_code == 0, told.output
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_filler_of_three_sorts(sessions: Path) -> None:
    texts = [filler.text for filler in read_filler(sessions)]
    assert len(texts) == 61, "a session with a memory, and what is no session, is passed over"
    assert "Just a chat." in texts


def test_pairs_of_any_data(tmp_path: Path, sessions: Path) -> None:
    file = written(tmp_path / "pairs.jsonl", *(pair(number) for number in range(3)), pair(3, invalidates=False))
    told = run("--pairs", str(file), "--fillers", str(sessions))
    assert {one["haystack"] for one in told["proposals"]} == {"given", "given, buried"}
    assert {one["signals"] for one in told["proposals"]} == set(MODEL_FREE), "nobody wrote facts"
    assert {one["histories"] for one in told["proposals"]} == {3}


def test_written_facts_are_measured_where_there_are_some(tmp_path: Path, sessions: Path) -> None:
    facts = {"premises": ["The hall stands."], "implied": ["The hall stands no more."]}
    file = written(tmp_path / "pairs.jsonl", pair(0, **facts, places=[2, 40]), pair(1))
    told = run("--pairs", str(file), "--fillers", str(sessions), "--seeds", "2")
    counts = {one["signals"]: one["histories"] for one in told["proposals"]}
    assert counts == dict.fromkeys(MODEL_FREE, 4) | dict.fromkeys(set(SIGNALS) - set(MODEL_FREE), 2)


def test_an_empty_signal_finds_nothing_and_says_so(sessions: Path) -> None:
    assert measure_given([], {}, read_filler(sessions), Lexical(), [0]) == []


def test_places_are_drawn_once_for_all(tmp_path: Path) -> None:
    drawn = [GivenPair(id=f"p{number}", old="a", new="b").placed() for number in range(200)]
    assert all(0 <= old < 15 and old < new < 50 for old, new in drawn)
    assert len(set(drawn)) > 100
    file = written(tmp_path / "pairs.jsonl", pair(0, places=[3, 4]))
    assert read_pairs(file)[0][0].index == (3, 4)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "x", "old": "a"}, "pairs.jsonl:2: .*`new`"),
        ({"id": "x", "old": "a", "new": 3}, r"pairs.jsonl:2: .*`\$\.new`"),
        ({"id": "x", "old": "", "new": "b"}, r"pairs.jsonl:2: .*`\$\.old`"),
        (pair(1, places=[7, 7]), "pairs.jsonl:2: places: .*forward"),
        (pair(1, places=[7, 50]), r"pairs.jsonl:2: .*places"),
        (pair(0), "pairs.jsonl: id p0 occurs twice"),
        ("{", "pairs.jsonl:2: "),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(tmp_path: Path, row: object, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_pairs(written(tmp_path / "pairs.jsonl", pair(0), row))


def test_too_little_filler_and_no_pairs_are_reported(tmp_path: Path, sessions: Path) -> None:
    with pytest.raises(RecordError, match="holds no pair"):
        read_pairs(written(tmp_path / "none.jsonl", pair(0, invalidates=False)))
    few = tmp_path / "few"
    few.mkdir()
    (few / "one.txt").write_text("One.")
    with pytest.raises(RecordError, match="1 sessions of filler"):
        read_filler(few)
    bad = written(few / "bad.jsonl", {"text": "a"}, {"words": "b"})
    with pytest.raises(RecordError, match=r"bad.jsonl:2: .*`text`"):
        read_filler(bad.parent)
    with pytest.raises(RecordError, match="is no folder"):
        read_filler(bad)


def test_stale_pairs_are_read_as_they_are(shared_data: Path) -> None:
    pairs, facts = read_pairs(shared_data / "stale" / "pairs.jsonl")
    assert (len(pairs), facts) == (294, {})


@pytest.mark.parametrize("options", [[], ["--pairs", "."], ["--pairs", ".", "--fillers", ".", "--data", "."]])
def test_one_source_is_named(options: list[str]) -> None:
    told = command("eval", "proposals", *options, status=None)
    assert told.exit_code == 2
    assert "Give --pairs and --fillers, or --data." in told.output

"""Rounds through batch files as they really come back: in part, with errors, refused, twice, or to nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.bench.answers_by_file import answer_all
from tests.bench.data import SMOKE

from readmit.cli.app import main
from readmit.lab import Status
from readmit.models import batch_status, check_batch
from readmit_bench.results import read_results

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("filelock", reason="batch files need readmit[models]")
# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Lines = list[dict[str, Any]]


class Rounds:
    """One STALE episode with Static, run by command, answered by file."""

    def __init__(self, folder: Path) -> None:
        self.out, self.batch = folder / "out", folder / "batch"
        self.number = 0

    def run(self) -> tuple[int, str]:
        model = f"batch:{self.batch}?model=by-file"
        line = ["bench", "run", "stale", "--data", str(SMOKE / "stale"), "--out", str(self.out), "--limit", "1"]
        ran = CliRunner().invoke(main, [*line, "--methods", "Static", "--actor", model, "--judge", model])
        return ran.exit_code, ran.output

    def answer(self, change: Callable[[Lines], Lines] = lambda lines: lines) -> int:
        """Answer what waits, with the lines changed; how many there were."""
        self.number += 1
        count = answer_all(self.batch, self.number)
        file = self.batch / f"responses-{self.number}.jsonl"
        lines = change([json.loads(line) for line in file.read_text().splitlines()])
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return count

    def finish(self) -> None:
        for _ in range(6):
            status, said = self.run()
            if status == Status.OK:
                return
            assert status == Status.WAITING, said
            self.answer()
        pytest.fail("more rounds than there should be")


def failed(line: dict[str, Any], status: int, message: str) -> dict[str, Any]:
    body = {"error": {"message": message, "code": None}}
    return {**line, "response": {"status_code": status, "body": body}}


def refused(line: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    body = {**line["response"]["body"], "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    return {**line, "response": {"status_code": 200, "body": body}}


@pytest.fixture
def at_answers(tmp_path: Path) -> Rounds:
    """Rounds that stand where the actor's three answers are awaited."""
    rounds = Rounds(tmp_path)
    while True:
        status, said = rounds.run()
        assert status == Status.WAITING, said
        if batch_status(rounds.batch).waiting == 3:
            return rounds
        rounds.answer()


def test_half_of_a_round_is_used_and_the_rest_is_waited_for(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path)
    rounds.run()
    first = rounds.answer(lambda lines: lines[::2])
    status, said = rounds.run()
    assert status == Status.WAITING
    assert batch_status(rounds.batch).waiting >= first // 2
    assert "1 episodes wait for answers by file" in said
    assert check_batch(rounds.batch).ok, "nothing is asked twice"
    rounds.finish()
    (result,) = read_results(rounds.out)
    assert result.failure == ""


def test_an_error_line_keeps_its_episode_waiting_until_a_later_line_answers(at_answers: Rounds) -> None:
    rounds = at_answers
    rounds.answer(lambda lines: [failed(lines[0], 500, "the batch expired"), *lines[1:]])
    status, said = rounds.run()
    assert status == Status.WAITING, said
    assert "status 500: the batch expired; answer it again in a later line" in said
    assert read_results(rounds.out) == []
    (name,) = (p.custom_id for p in check_batch(rounds.batch).problems)
    (again,) = (
        line
        for line in map(json.loads, (rounds.batch / "requests.jsonl").read_text().splitlines())
        if line["custom_id"] == name
    )
    body = {"choices": [{"message": {"content": "At last."}, "finish_reason": "stop"}]}
    later = {"custom_id": again["custom_id"], "response": {"status_code": 200, "body": body}}
    (rounds.batch / "responses-99.jsonl").write_text(json.dumps(later) + "\n")
    rounds.finish()
    (result,) = read_results(rounds.out)
    assert "At last." in result.answers


@dataclass(frozen=True)
class Final:
    change: Callable[[dict[str, Any]], dict[str, Any]]
    says: str


FINAL = {
    "a bad request": Final(lambda line: failed(line, 400, "context length exceeded"), "context length exceeded"),
    "a refused answer": Final(refused, "the model declined to answer"),
}


@pytest.mark.parametrize("name", FINAL)
def test_what_is_refused_for_good_is_a_failure_with_its_line(name: str, at_answers: Rounds) -> None:
    at_answers.answer(lambda lines: [FINAL[name].change(lines[0]), *lines[1:]])
    status, said = at_answers.run()
    assert status == Status.OK, said
    (result,) = read_results(at_answers.out)
    assert FINAL[name].says in result.failure
    assert "1 failed" in said


def test_duplicate_foreign_and_torn_lines_change_nothing(at_answers: Rounds) -> None:
    rounds = at_answers

    def noisy(lines: Lines) -> Lines:
        other = json.loads(json.dumps(lines[0]))
        other["response"]["body"]["choices"][0]["message"]["content"] = "A different answer."
        return [*lines, lines[1], other, {**lines[0], "custom_id": "0" * 64}]

    rounds.answer(noisy)
    with (rounds.batch / "responses-1.jsonl").open("a") as file:
        file.write('{"custom_id": "half a li')
    rounds.finish()
    (result,) = read_results(rounds.out)
    assert result.failure == ""
    assert "A different answer." not in result.answers, "the first answer counts"
    assert {problem.kind for problem in check_batch(rounds.batch).problems} == {"conflict", "unknown", "incomplete"}

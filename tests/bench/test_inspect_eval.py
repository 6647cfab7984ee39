"""``inspect eval`` with a task of somebody else's, on answers that come by file."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("inspect_ai", reason="needs readmit-bench's dependencies")

from inspect_ai.log import list_eval_logs, read_eval_log

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.log import EvalLog

pytestmark = pytest.mark.slow
TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message

@task
def sums():
    data = [Sample(id=str(n), input=f"What is {n} + {n}?", target=str(n + n)) for n in range(40)]
    return Task(dataset=data, solver=[system_message("Answer with the number."), generate()], scorer=includes())
"""
SETTINGS = ("--temperature", "0", "--top-p", "0.9", "--seed", "7", "--stop-seqs", "END", "--max-tokens", "50")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.py").write_text(TASK)
    return tmp_path


def evaluated(folder: Path, *options: str) -> tuple[str, EvalLog]:
    """What the command says, and its log."""
    command = [sys.executable, "-m", "inspect_ai", "eval", "sums.py", "--model", "readmit/batch:answers?model=m"]
    command += ["--display", "plain", "--log-dir", "logs", *options]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    newest = max(list_eval_logs(str(folder / "logs")), key=lambda log: log.mtime or 0)
    return ran.stdout + ran.stderr, read_eval_log(newest)


def requests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers" / "requests.jsonl").read_text().splitlines()]


def answer(folder: Path) -> None:
    """Answer every request with the sum that it asks for."""
    lines = []
    for request in requests(folder):
        number = int(request["body"]["messages"][-1]["content"].split()[2])
        body = {"model": "m", "choices": [{"message": {"content": str(2 * number)}, "finish_reason": "stop"}]}
        lines.append(json.dumps({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}))
    (folder / "answers" / "responses.jsonl").write_text("\n".join(lines) + "\n")


def test_the_first_round_writes_every_request_as_set_and_the_same_command_goes_on(folder: Path) -> None:
    said, log = evaluated(folder, *SETTINGS)
    assert "PendingAnswers: 40 requests wait in answers/requests.jsonl" in said
    assert log.status == "error"
    assert log.error is not None
    assert "answers/responses*.jsonl and run the same command again" in log.error.message
    assert not any(sample.scores for sample in log.samples or []), "what is awaited is not scored"
    written = requests(folder)
    assert len(written) == 40
    for request in written:
        body = request["body"]
        sent = {name: body[name] for name in ("temperature", "top_p", "seed", "stop", "max_completion_tokens")}
        assert sent == {"temperature": 0.0, "top_p": 0.9, "seed": 7, "stop": ["END"], "max_completion_tokens": 50}
    answer(folder)
    said, log = evaluated(folder, *SETTINGS)
    assert log.status == "success", said
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert len(requests(folder)) == 40


def test_other_settings_and_other_epochs_are_other_requests(folder: Path) -> None:
    evaluated(folder, "--limit", "1", "--seed", "1")
    evaluated(folder, "--limit", "1", "--seed", "2", "--epochs", "2")
    assert len({request["custom_id"] for request in requests(folder)}) == 3


def test_a_setting_that_cannot_be_sent_is_refused(folder: Path) -> None:
    said, log = evaluated(folder, "--limit", "1", "--top-k", "5")
    assert log.status == "error"
    assert "top_k: this provider cannot send it" in said
    assert not (folder / "answers").exists()

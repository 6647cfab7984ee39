"""A return whose every answer comes by file, through as many rounds as it takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from readmit.errors import PendingAnswers
from readmit.inference import Inference, Settings
from readmit.models import Ask, Batch, Lexical, Reply, batch_status, check_batch
from readmit.models.batch import unanswered_requests
from readmit.models.chat import response_body
from tests.inference.world import NEAR, SHIFT, SHOES, Ruled, away, hear, home, states

if TYPE_CHECKING:
    from pathlib import Path

    from readmit import Workspace


def answered(directory: Path, round_: int, *, only: int | None = None, model: Ruled | None = None) -> int:
    """Answer what waits as a batch runner would: from the request lines alone."""
    model = model or Ruled(name="strong")
    lines = []
    for line in list(unanswered_requests(directory))[:only]:
        request = json.loads(line)
        system, user = (message["content"] for message in request["body"]["messages"])
        stage = request["body"]["response_format"]["json_schema"]["name"].partition("-")[0]
        ask = Ask(stage=stage, prompt=f"{stage}@1", system=system, user=user)
        (reply,) = model.ask([ask])
        assert isinstance(reply, Reply)
        lines.append(
            {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": response_body(reply)}}
        )
    (directory / f"responses{round_}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return len(lines)


def inference(workspace: Workspace, directory: Path) -> Inference:
    model = Batch(directory, "strong")
    settings = Settings(signals=NEAR, all_pairs=0, near=-100, near_stated=-100, pairs_per_call=1)
    return Inference(workspace, settings, verifier=model, implier=model, embedder=Lexical())


def test_rounds_to_a_finished_return(tmp_path: Path) -> None:
    directory = tmp_path / "answers"
    with home(tmp_path / "team.db") as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES)
        head = workspace.epoch
        # Premises and implied facts go out in one round, although they are two stages.
        with pytest.raises(PendingAnswers, match=r"^4 requests wait") as stopped:
            inference(workspace, directory).come_back(agent)
        assert stopped.value.count == 4
        # Nothing was decided, so nothing is on the log.
        assert workspace.epoch == head
        answered(directory, 1, only=3)
        with pytest.raises(PendingAnswers, match=r"^1 request wait"):
            inference(workspace, directory).come_back(agent)
        answered(directory, 2)
        with pytest.raises(PendingAnswers, match=r"^4 requests wait"):
            inference(workspace, directory).come_back(agent)
        answered(directory, 3)
        # What took its place is looked at too: first for its premises, then beside what was observed after it.
        for round_ in (4, 5):
            with pytest.raises(PendingAnswers, match=r"^1 request wait"):
                inference(workspace, directory).come_back(agent)
            answered(directory, round_)
        returned = inference(workspace, directory).come_back(agent)
        assert states(returned)["bedtime"] == "premise_changed"
        assert (batch_status(directory).requests, batch_status(directory).waiting) == (10, 0)
        assert check_batch(directory).ok
        # Another return needs no further round.
        assert states(inference(workspace, directory).come_back(agent))["bedtime"] == "premise_changed"


def test_an_error_in_the_answers_ends_closed(tmp_path: Path) -> None:
    directory = tmp_path / "answers"
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        for number in (1, 2):
            with pytest.raises(PendingAnswers):
                inference(workspace, directory).come_back(agent)
            if number == 1:
                answered(directory, number)
        failed = [
            {"custom_id": json.loads(line)["custom_id"], "error": {"code": "expired", "message": "not processed"}}
            for line in unanswered_requests(directory)
        ]
        (directory / "responses2.jsonl").write_text("".join(json.dumps(line) + "\n" for line in failed))
        returned = inference(workspace, directory).come_back(agent)
        assert (returned.kind, states(returned)["bedtime"]) == ("blocked", "suspected")


def test_two_workspaces_in_one_directory_ask_each_for_itself(tmp_path: Path) -> None:
    directory = tmp_path / "answers"
    with home(name="one") as one, home(name="two") as two:
        for space in (one, two):
            agent = away(space)
            hear(space, SHIFT, SHOES)
            with pytest.raises(PendingAnswers):
                inference(space, directory).come_back(agent)
        assert batch_status(directory).requests == 8

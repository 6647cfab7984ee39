"""What users' own tests are given: a clock that stands still, and a model that a function answers for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from readmit import Workspace
from readmit.inference import Inference
from readmit.models import Ask, Failure, Fault, Lexical, Reply, Usage
from readmit.testing import Clock, ScriptedModel

ASK = Ask(stage="verify", prompt="p@1", system="s", user="u", workspace="w")


def test_time_passes_only_when_a_test_says_so() -> None:
    clock = Clock(datetime(2031, 1, 1, tzinfo=UTC))
    with Workspace.open(clock=clock) as team:
        assert team._desk.writer.clock() == team._desk.writer.clock() == datetime(2031, 1, 1, tzinfo=UTC)
        clock.forward(timedelta(days=1))
        assert team._desk.writer.clock() == datetime(2031, 1, 2, tzinfo=UTC)


def test_a_scripted_model_says_text_data_or_a_failure() -> None:
    failure = Failure(fault=Fault.TIMEOUT, message="too late", usage=Usage(stage="verify"))
    answers = iter(["yes", {"stale": 1}, failure])
    model = ScriptedModel(lambda _: next(answers), name="friend")
    first, second, third = model.ask([ASK, ASK, ASK])
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.text, second.text, third) == ("yes", '{"stale": 1}', failure)
    assert first.model == model.name == "friend"
    assert model.asked == [ASK, ASK, ASK]


def test_a_scripted_model_takes_part_in_a_return() -> None:
    quotes = {"item_quote": "asleep by ten", "evidence_quote": "the night shift"}
    judgment = {"statement": 1, "premise": "Nights are free.", "stale": 0.95, **quotes}
    model = ScriptedModel(lambda _: {"judgments": [judgment]})
    with Workspace.open() as team:
        agent = team.agent("A1", role="assistant", task="advice")
        said = team.observe("I am asleep by ten.", by="A1", task="advice")
        team.record("The user is asleep by ten.", id="bedtime", by="A1", sources=[said], task="advice")
        agent.depart()
        team.observe("I took the night shift.", by="A5", task="advice")
        with Inference(team, verifier=model, embedder=Lexical()) as inference:
            returned = inference.come_back(agent)
            assert returned.explain("bedtime").disposition.state == "premise_changed"
    assert [ask.stage for ask in model.asked] == ["verify"]

"""How each role's model answers, and one place for the answers of several runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.bench.answers_by_file import answer_all
from tests.bench.data import SMOKE
from tests.bench.reported import plan

from readmit.errors import RecordError
from readmit.models import Ask, Reply, Usage
from readmit.models.chat import Dialect, request_body
from readmit_bench.reports.provenance import what_was_run
from readmit_bench.results import ANSWERS, AnswerStore
from readmit_bench.settings import RoleSettings, Settings, overridden
from readmit_bench.study_runs import RunOrder, plan_of, run, status

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("filelock", reason="batch files need readmit[models]")
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from pathlib import Path

ASK = Ask(stage="answer", prompt="respond@1", system="", user="Well?", max_tokens=100)


def test_each_role_has_its_own() -> None:
    changes = ["judge.effort=high", "actor.temperature=0.7", "verifier.temperature=default", "judge.answer_tokens=9000"]
    made = overridden(Settings(), changes)
    assert (made.judge.effort, made.judge.answer_tokens) == ("high", 9_000)
    assert (made.actor.temperature, made.verifier.temperature) == (0.7, "default")
    assert made.extractor == RoleSettings()
    assert made.role("judge").changes == "effort high, answer tokens 9000"


@pytest.mark.parametrize(
    "change", ["judge.effort=huge", "actor.temperature=3", "actor.answer_tokens=-1", "clerk.effort=low"]
)
def test_what_no_model_could_mean_is_refused(change: str) -> None:
    with pytest.raises(RecordError, match=change.partition("=")[0].replace(".", r"\.")):
        overridden(Settings(), [change])


def test_effort_temperature_and_limit_reach_the_provider() -> None:
    from readmit_bench.roles import config_of, limit_of

    plain = config_of(ASK)
    assert (plain.temperature, plain.reasoning_effort, plain.max_tokens) == (0.0, None, 100)
    how = RoleSettings(effort="low", temperature=0.5, answer_tokens=900)
    assert (config_of(ASK, how).temperature, config_of(ASK, how).reasoning_effort) == (0.5, "low")
    assert config_of(ASK, RoleSettings(temperature="default")).temperature is None
    assert [limit_of(ASK, how, None), limit_of(ASK, RoleSettings(), None), limit_of(ASK, how, 50)] == [900, 100, 50]


def test_an_answer_given_in_another_way_is_another_answer() -> None:
    from readmit_bench.provider import request_of
    from readmit_bench.roles import config_of, messages_of

    def sent(how: RoleSettings | None = None) -> Ask:
        return request_of(messages_of(ASK), config_of(ASK, how))

    ways = [None, RoleSettings(effort="low"), RoleSettings(effort="high"), RoleSettings(temperature=0.5)]
    assert len({sent(how).digest("m") for how in ways}) == len(ways)
    assert sent(RoleSettings()).digest("m") == sent().digest("m"), "answers from before are still found"
    body = request_body(sent(RoleSettings(effort="high", temperature=0.5)), "m", Dialect(temperature=0.0))
    assert (body["reasoning_effort"], body["temperature"]) == ("high", 0.5)
    assert "reasoning_effort" not in request_body(sent(), "m", Dialect())


def test_a_report_says_how_each_role_answered() -> None:
    planned = plan("stale", "Static", models={"actor": "a", "judge": "j"}, settings=("judge.effort=high",))
    facts = dict(what_was_run(planned, []))
    assert facts["Roles"].startswith("judge: effort high; otherwise temperature 0")
    assert "Roles" not in dict(what_was_run(plan("stale", "Static"), []))


def test_a_plan_counts_with_the_limit_of_the_role() -> None:
    made = [
        plan_of(RunOrder(study="smoke", methods=("Static",), models={"actor": "a", "judge": "j"}, settings=settings))[1]
        for settings in ((), ("judge.answer_tokens=50000",))
    ]
    usual, more = (next(one for one in each.sums if one.role == "judge") for each in made)
    assert more.most_output == 50_000 * more.calls > usual.most_output


def test_the_first_of_two_answers_is_the_one(tmp_path: Path) -> None:
    stores = [AnswerStore(tmp_path / "shared" / ANSWERS) for _ in range(2)]
    said = [Reply(text=text, usage=Usage(stage="answer", output=3), model="m") for text in ("one", "two")]
    kept = [store.put("request", reply, retries=0) for store, reply in zip(stores, said, strict=True)]
    assert [one.reply.text for one in kept] == ["one", "one"]
    assert [len(store) for store in stores] == [1, 1]
    for store in stores:
        store.close()


def test_several_runs_share_their_answers(tmp_path: Path) -> None:
    batch, answers = tmp_path / "batch", tmp_path / "answers"
    model = f"batch:{batch}?model=by-file"

    def order(*methods: str, **fields: Any) -> RunOrder:
        return RunOrder(
            study="manbench", data=SMOKE / "manbench", methods=methods, models={"actor": model}, limit=1,
            answers=answers, **fields,
        )  # fmt: skip

    for number in range(1, 12):
        told = run(order("Static", settings=("actor.effort=low",)), tmp_path / "one")
        if told.complete:
            break
        answer_all(batch, number)
    assert told.complete
    assert told.answers > 0
    requests = [json.loads(line) for line in (batch / "requests.jsonl").read_text().splitlines()]
    assert {one["body"]["reasoning_effort"] for one in requests} == {"low"}
    again = run(order("Static", settings=("actor.effort=low",)), tmp_path / "two")
    assert (again.complete, again.asked, again.answers) == (True, 0, told.answers)
    assert not (tmp_path / "two" / ANSWERS).exists()
    assert status(tmp_path / "two", answers).answers == told.answers
    other = run(order("Static"), tmp_path / "three")
    assert other.waiting, "with the provider's own effort, these are other requests"

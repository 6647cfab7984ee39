"""What a run would take, said before anything is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.bench.reported import plan, stale, written
from tests.cli.run import run as command

from readmit.errors import RecordError
from readmit.inference import Turn
from readmit.lab import ExtractFrom, extract_claims
from readmit.models import Ask, Reply, StageUsage, Usage
from readmit_bench.plans.prices import Price, read_prices
from readmit_bench.plans.recorded_answers import Recorded
from readmit_bench.plans.standin import answer_to
from readmit_bench.study_runs import RunOrder, plan_of, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BOTH = {"actor": "a/one", "judge": "j/one"}


def planned(*options: str) -> dict[str, Any]:
    told = command("bench", "plan", "smoke", *options, "--json", status=None)
    assert told.exit_code == 0, told.output
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_a_plan_names_methods_roles_and_stages_and_asks_nothing() -> None:
    told = planned("--methods", "Static,readmit,trace-paper")
    assert {one["method"] for one in told["stages"]} == {"Static", "readmit", "trace-paper"}
    roles = {one["role"] for one in told["stages"] if one["method"] == "readmit"}
    assert roles == {"actor", "extractor", "verifier", "judge"}
    assert {"extract", "verify", "answer", "judge"} <= {one["stage"] for one in told["stages"]}
    assert not told["failed"]
    assert told["paid"]["cost"] is None, "no price was given"
    assert told["rounds"]["Static"] <= told["rounds"]["readmit"] <= 7, "as many as are promised through files"
    for one in told["stages"]:
        assert 0 <= one["paid_calls"] <= one["calls"]
        assert one["output"] <= one["most_output"]


def test_a_memory_system_that_asks_by_itself_is_not_planned() -> None:
    told = planned("--methods", "Static,Mem0")
    assert told["left_out"] == ["Mem0"]
    assert set(told["rounds"]) == {"Static"}


def test_what_another_method_asks_as_well_is_paid_for_once() -> None:
    told = planned("--methods", "Static,MemStrata")
    paid = {
        name: sum(one["paid_calls"] for one in told["stages"] if (one["method"], one["role"]) == (name, "extractor"))
        for name in ("Static", "MemStrata")
    }
    assert paid["Static"] > 0
    assert paid["MemStrata"] == 0


def test_blocks_are_counted_up_to_all_their_episodes() -> None:
    _, few = plan_of(RunOrder(study="smoke", methods=("Static",), models=BOTH), per_block=1)
    _, all_ = plan_of(RunOrder(study="smoke", methods=("Static",), models=BOTH), per_block=1_000)
    assert few.episodes == all_.episodes == all_.played
    assert set(few.played.values()) == {1}
    judged = [sum(one.calls for one in made.sums if one.stage == "judge") for made in (few, all_)]
    assert (
        judged[0] == pytest.approx(judged[1]) == sum(n for name, n in all_.episodes.items() if "manbench" not in name)
    )


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_prices_by_model_and_by_role(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"prices.{ending}"
    file.write_text(
        '{"currency": "EUR", "models": {"a/one": {"input": 1, "output": 10}, "judge": {"input": 2, "output": 0}}}'
        if ending == "json"
        else 'currency = "EUR"\n[models]\n"a/one" = {input = 1.0, output = 10.0}\njudge = {input = 2, output = 0}\n'
    )
    told = planned("--methods", "Static", "--actor", "a/one", "--judge", "j/one", "--prices", str(file))
    for one in told["stages"]:
        each = (2, 0) if one["role"] == "judge" else (1, 10)
        assert one["cost"] == pytest.approx((each[0] * one["paid_input"] + each[1] * one["paid_output"]) / 1e6)
    assert told["paid"]["cost"] == pytest.approx(sum(one["cost"] for one in told["stages"]))
    assert told["currency"] == "EUR"


def test_a_model_without_a_price_leaves_the_sum_open(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"models": {"judge": {"input": 1, "output": 1}}}')
    told = planned("--methods", "Static", "--prices", str(file))
    assert told["paid"]["cost"] is None
    assert any("No price is given for the model of: actor, extractor" in said for said in told["notes"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"models": {"x": {"input": -1, "output": 1}}}', "input"),
        ('{"models": {"x": {"input": 1}}}', "output"),
        ("{", "prices.json"),
    ],
)
def test_a_price_table_that_is_none_is_reported(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(RecordError, match=said):
        read_prices(file)


def test_a_price_is_of_a_million_tokens() -> None:
    assert Price(input=2, output=8).of(500_000, 250_000) == 3


def test_lengths_of_a_run_are_taken_over(tmp_path: Path) -> None:
    usage = (StageUsage(stage="answer", calls=3, replayed=1, output=4_000),)
    before = written(tmp_path / "run", plan("stale", "Static"), [stale("Static", "early", 0, (True,) * 3, usage=usage)])
    told = planned("--methods", "Static", "--recorded", str(before))
    assert told["answer_tokens"]["answer"] == 1_000


def test_an_answer_to_the_very_request_is_used_with_its_tokens(tmp_path: Path) -> None:
    pytest.importorskip(
        "inspect_ai", reason="batch directories of runs are written through readmit-bench's dependencies"
    )
    from readmit_bench.provider import request_of
    from readmit_bench.roles import config_of, messages_of

    ask = Ask(stage="answer", prompt="respond@1", system="Be brief.", user="What is left?", max_tokens=50)
    body = {
        "id": "x", "object": "chat.completion", "created": 0, "model": "strong",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Two."}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
    }  # fmt: skip
    name = request_of(messages_of(ask), config_of(ask)).key("strong")
    line = {"id": "b", "custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}
    (tmp_path / "responses-1.jsonl").write_text(json.dumps(line) + "\n")
    recorded = Recorded([tmp_path])
    found = recorded.answer(ask)
    assert found is not None
    assert (found.text, found.usage.input, found.usage.output) == ("Two.", 11, 2)
    assert recorded.answer(msgspec.structs.replace(ask, user="What else?")) is None


def test_a_folder_without_records_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="neither"):
        Recorded([tmp_path])


class _Answering:
    name = "standing in"

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(text=answer_to(ask), usage=Usage(stage=ask.stage), model=self.name) for ask in asks]


def test_the_stand_in_quotes_what_was_said() -> None:
    said = ExtractFrom(key="1", turns=(Turn("assistant", "And you?"), Turn("user", "I moved to Lund.")))
    (found,) = extract_claims(_Answering(), [said])
    assert [item.quote for item in found.items] == ["I moved to Lund."]  # type: ignore[union-attr]


def test_the_table_says_how_it_came_about() -> None:
    told = command("bench", "plan", "smoke", "--methods", "Static", status=None)
    assert told.exit_code == 0, told.output
    for said in ("all, each request once", "Nothing was asked", "all is estimated", "Assumed:", "--prices"):
        assert said in told.stdout


def test_a_plan_refuses_what_a_run_would() -> None:
    for order in (RunOrder(study="smoke", models={"judge": "x"}), RunOrder(study="memora", models=BOTH)):
        with pytest.raises(Exception, match=r"judge|--data"):
            plan_of(order)
    with pytest.raises(Exception, match="judge"):
        run(RunOrder(study="smoke", models={"judge": "x"}), None)  # type: ignore[arg-type]  # refused before it is used

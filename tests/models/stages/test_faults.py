"""Every way in which an answer can be missing or wrong, for every stage: it ends in a failure or an *unsure*."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Verdict
from readmit.lab import Plan, Verifier
from readmit.models import Endpoint, Failure, Fault, OpenAICompatible, Usage
from readmit.models.stages.extract import Extraction
from readmit.models.stages.link import Linking
from tests.models.scripted import Scripted, reply
from tests.models.stages.said import OLD, STAGES, case, judged
from tests.models.stand_in import StandIn, cuts, fails, floods, hangs, resets, says

if TYPE_CHECKING:
    from tests.models.stages.said import Stage
    from tests.models.stand_in import Play


def answers(result: Any) -> bool:
    """Whether a result says anything that somebody could act on."""
    match result:
        case Failure():
            return False
        case Verdict(answer=answer):
            return answer is not Answer.UNSURE
        case Extraction(items=items):
            return bool(items)
        case Linking(links=links):
            return bool(links)
        case Plan():
            return True
        case tuple():
            return bool(result)
        case _:
            return result.answer is not None


@pytest.mark.parametrize("name", STAGES)
def test_a_good_answer_is_taken(name: str) -> None:
    stage = STAGES[name]
    assert answers(stage.run(Scripted(json.dumps(stage.good))))


def replaced(value: Any, old: Any, new: Any) -> Any:
    if isinstance(value, dict):
        return {key: replaced(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, old, new) for inner in value]
    return new if value == old else value


def spoilt(good: dict[str, Any]) -> dict[str, str]:
    text = json.dumps(good)
    return {
        "empty": "",
        "white space": " \n",
        "half": text[: len(text) // 2],
        "prose": "The statement still holds, I am quite sure of that.",
        "another language": "Die Aussage gilt weiterhin; es gibt keinen Widerspruch.",
        "null": "null",
        "a list": f"[{text}]",
        "an empty object": "{}",
        "an unknown field": json.dumps(good | {"approved": True}),
        "a missing field": json.dumps(dict(list(good.items())[1:])),
        "every field a number": json.dumps(dict.fromkeys(good, 1)),
        "huge": json.dumps(good) + " " * 70_000,
        "two objects": text + text,
        "deeply nested": "[" * 5_000,
        "not a number": text.replace("0.9", "NaN") if "0.9" in text else "NaN",
    }


SPOILT = sorted(spoilt({}))


@pytest.mark.parametrize("fault", SPOILT)
@pytest.mark.parametrize("name", STAGES)
def test_an_answer_out_of_form_is_a_failure(name: str, fault: str) -> None:
    stage = STAGES[name]
    model = Scripted(spoilt(stage.good)[fault])
    result = stage.run(model)
    assert isinstance(result, Failure)
    assert result.fault in (Fault.MALFORMED, Fault.TOO_LONG)


@pytest.mark.parametrize("name", STAGES)
def test_an_answer_in_form_after_one_repair_is_taken(name: str) -> None:
    stage = STAGES[name]
    text = json.dumps(stage.good)
    model = Scripted("not yet", text)
    if "swapped" in name:
        model = Scripted("not yet", text, text)
    assert answers(stage.run(model))
    assert model.asked[-1].prompt.endswith("+repair")


@pytest.mark.parametrize("score", [-0.1, 1.1, 3, 90, "0.9", "high", "", None, True, [0.9]])
def test_what_is_no_score_is_no_verdict(score: Any) -> None:
    (result,) = Verifier(model=Scripted(judged(score))).verify([case()])
    assert isinstance(result, Failure)
    assert result.fault is Fault.MALFORMED


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("name", STAGES)
def test_what_the_provider_could_not_do_is_passed_on(name: str, fault: Fault) -> None:
    failure = Failure(fault=fault, message="refused", usage=Usage(stage="x"))
    assert STAGES[name].run(Scripted(failure)) is failure


@pytest.mark.parametrize("name", STAGES)
def test_an_answer_cut_off_at_the_token_limit_is_a_failure(name: str) -> None:
    text = json.dumps(STAGES[name].good)
    result = STAGES[name].run(Scripted(reply(text[:-3], complete=False)))
    assert isinstance(result, Failure)
    assert "cut off" in result.message


@dataclass
class Wire:
    play: Play
    fault: Fault


WIRE = {
    "timeout": Wire(hangs, Fault.TIMEOUT),
    "429": Wire(fails(429), Fault.RATE_LIMITED),
    "500": Wire(fails(500), Fault.UNAVAILABLE),
    "403": Wire(fails(403), Fault.DENIED),
    "half a response": Wire(cuts, Fault.UNAVAILABLE),
    "reset": Wire(resets, Fault.UNAVAILABLE),
    "flood": Wire(floods, Fault.TOO_LONG),
    "truncated JSON": Wire(says('{"premise": "The small'), Fault.MALFORMED),
    "no content": Wire(says(None), Fault.MALFORMED),
    "refusal": Wire(says(None, refusal="I cannot help with that."), Fault.REFUSED),
    "prose": Wire(says("Compatible."), Fault.MALFORMED),
    "huge": Wire(says("x" * 100_000), Fault.TOO_LONG),
}


def served(stage: Stage, play: Play, *, deadline: float = 120.0) -> Any:
    endpoint = {"deadline": deadline, "overall": 240.0, "retries": 0}
    with StandIn(play) as server, OpenAICompatible("m", Endpoint(server.url, **endpoint)) as model:  # type: ignore[arg-type]
        return stage.run(model)


@pytest.mark.parametrize("fault", WIRE)
@pytest.mark.parametrize("name", STAGES)
def test_faults_of_a_real_server(name: str, fault: str) -> None:
    # Only the server that hangs is waited for: on a busy machine the others must not seem to.
    result = served(STAGES[name], WIRE[fault].play, deadline=0.5 if fault == "timeout" else 120.0)
    assert isinstance(result, Failure)
    assert result.fault is WIRE[fault].fault


@pytest.mark.parametrize("name", STAGES)
def test_a_good_answer_of_a_real_server(name: str) -> None:
    assert answers(served(STAGES[name], says(json.dumps(STAGES[name].good))))


def test_one_fault_among_many_loses_only_its_own_pair() -> None:
    lines = [judged(), judged(0.1), "gone", judged()]
    model = Scripted(*lines, "gone again")
    pairs = [Pair(item=f"m{number}", evidence="0" * 64) for number in range(4)]
    cases = [case(pair=pair, item_text=f"{OLD} As {pair.item} says.") for pair in pairs]
    results = Verifier(model=model, per_call=1).verify(cases)
    assert [type(result) for result in results] == [Verdict, Verdict, Failure, Verdict]
    assert [result.pair.item for result in results if isinstance(result, Verdict)] == ["m0", "m1", "m3"]


@pytest.mark.parametrize("name", [name for name in STAGES if name.startswith(("verify", "extract"))])
def test_quotes_not_found_leave_nothing_to_act_on(name: str) -> None:
    stage = STAGES[name]
    for quote in ("the small meeting room was turned into storage", "in the small meeting room"):
        spoilt_ = replaced(stage.good, quote, "words that nobody wrote")
        if spoilt_ != stage.good:
            assert not answers(stage.run(Scripted(json.dumps(spoilt_))))

"""The planner, and independent answers to disputed questions."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from readmit.lab import Plan, Task, plan_tasks
from readmit.models import Failure, Fault, Opinion, Question, Usage, opine
from readmit.models.stages.answer import position_of
from tests.models.scripted import Scripted
from tests.models.stages.said import STAGES

GOOD = STAGES["plan"].good
QUERIES = ["one", "two", "three"]


def need(name: str, *, critical: bool = False, needed: str = "It.") -> dict[str, Any]:
    return {"name": name, "needed": needed, "critical": critical, "many": False}


def planned(said: dict[str, Any]) -> Plan | Failure:
    (result,) = plan_tasks(Scripted(json.dumps(said)), [Task(text="Do it.", role="r")])
    return result


def test_a_plan_has_duties_dependencies_and_queries() -> None:
    found = planned(GOOD)
    assert isinstance(found, Plan)
    (duty,) = found.duties
    assert (duty.id, duty.required, duty.critical) == ("o1", ("review.room", "review.people"), ("review.room",))
    assert len(found.queries) == 3


def test_a_dependency_named_twice_is_one_and_critical_if_either_is() -> None:
    obligations = [
        {"obligation": "First.", "needs": [need("A b"), need("c")]},
        {"obligation": "Second.", "needs": [need("a_b", critical=True), need("a B")]},
    ]
    found = planned({"obligations": obligations, "queries": QUERIES})
    assert isinstance(found, Plan)
    assert [duty.required for duty in found.duties] == [("a_b", "c"), ("a_b",)]
    assert [duty.critical for duty in found.duties] == [("a_b",), ("a_b",)]


@pytest.mark.parametrize(
    "changed",
    [
        {"obligations": []},
        {"obligations": [{"obligation": "Nothing needed.", "needs": []}]},
        {"obligations": [{"obligation": " ", "needs": [need("a")]}]},
        {"obligations": [{"obligation": "x", "needs": [need("?!")]}]},
        {"obligations": [{"obligation": "x", "needs": [need("a", needed="")]}]},
        {"queries": ["one", "two"]},
        {"queries": ["one", "two", " two"]},
        {"queries": [str(number) for number in range(9)]},
    ],
)
def test_a_plan_that_requires_nothing_or_looks_nowhere_is_a_failure(changed: dict[str, Any]) -> None:
    result = planned(GOOD | changed)
    assert isinstance(result, Failure)
    assert result.fault is Fault.MALFORMED


def test_a_task_too_long_to_show_is_a_failure_and_the_others_are_planned() -> None:
    model = Scripted(json.dumps(GOOD))
    long, short = plan_tasks(model, [Task(text="x" * 101), Task(text="short")], max_chars=100)
    assert isinstance(long, Failure)
    assert long.fault is Fault.TOO_LONG
    assert isinstance(short, Plan)
    assert len(model.asked) == 1


def said(answer: str, *, confidence: float = 0.9, answerable: bool = True) -> str:
    return json.dumps({"reason": "So.", "answerable": answerable, "answer": answer, "confidence": confidence})


@pytest.mark.parametrize(
    ("text", "settles"),
    [
        (said("Yes."), "old"),
        (said(" no "), "new"),
        (said("yes", confidence=0.65), "old"),
        (said("yes", confidence=0.649), None),
        (said("maybe"), None),
        (said(""), None),
        (said("yes", answerable=False), None),
        (said("ja"), None),
        ("no JSON", None),
        (said("yes", confidence=99), "old"),
    ],
)
def test_agreement_with_one_side_settles_and_anything_else_does_not(text: str, settles: str | None) -> None:
    (opinion,) = opine(Scripted(text), [Question(text="Is it so?", choices=("yes", "no"))])
    assert position_of(opinion, {"old": "yes", "new": "No"}) == settles


def test_without_choices_the_answer_is_free() -> None:
    (opinion,) = opine(Scripted(said("In the  large\nroom.")), [Question(text="Where?", context="It was moved.")])
    assert opinion == Opinion(answer="In the large room.", confidence=Decimal("0.9"), model="scripted")
    assert position_of(opinion, {"a": "in the large room", "b": "in the small room"}) == "a"


def test_two_sides_with_the_same_answer_settle_nothing() -> None:
    opinion = Opinion(answer="yes", confidence=Decimal(1), model="m")
    assert position_of(opinion, {"a": "yes", "b": "YES"}) is None
    assert position_of(opinion, {}) is None
    assert position_of(Failure(fault=Fault.TIMEOUT, message="", usage=Usage(stage="answer")), {"a": "yes"}) is None


def test_nobody_elses_answer_is_shown() -> None:
    model = Scripted(said("yes"))
    opine(model, [Question(text="Is it so?")], workspace="w")
    (ask,) = model.asked
    assert ask.user.count("begins ---") == 1
    assert ask.workspace == "w"


def test_a_question_too_long_to_show_is_a_failure() -> None:
    model = Scripted(said("yes"))
    for question in (
        Question(text="x" * 101),
        Question(text="x", context="y" * 101),
        Question(text="x", choices=("z" * 101,)),
    ):
        (result,) = opine(model, [question], max_chars=100)
        assert isinstance(result, Failure)
        assert result.fault is Fault.TOO_LONG
    assert model.asked == []


def test_opinions_are_kept_apart() -> None:
    base = Question(text="q")
    keys = [base.key("m"), base.key("n"), base.key("m", workspace="w"), Question(text="q", context="c").key("m")]
    keys += [Question(text="q", choices=("a",)).key("m")]
    assert len(set(keys)) == 5

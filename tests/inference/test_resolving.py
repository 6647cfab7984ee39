"""Disputes that a model settles by answering for itself, in the name of somebody who may."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit.errors import NotAllowedError
from readmit.inference import Asked
from readmit.models import Fault, Question
from tests.inference.world import Ruled, away, foresee, hear, home, states, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit import Workspace
    from readmit.models import Ask, Failure, Reply

EARLY = "The shop opens at seven."
LATE = "The shop opens at nine."


def answers(text: str, confidence: float = 0.9, *, answerable: bool = True) -> Callable[[Ask], str]:
    said = {"reason": "as heard", "answerable": answerable, "answer": text, "confidence": confidence}
    return lambda _: json.dumps(said)


def disputed(**policy: Any) -> Workspace:
    """Two say different things about a shop, a third disputes it, a fourth has been there."""
    team = home(**policy)
    for name, text, by in (("early", EARLY, "A2"), ("late", LATE, "A3")):
        seen = team.observe(f"{by} noted: {text}", by=by, task="advice")
        team.record(text, id=name, by=by, sources=[seen], task="advice")
    team.dispute(["early", "late"], by="A4", id="q", reason="A2 says seven, A3 says nine")
    hear(team, "I stood before the shop at eight, and it was closed.")
    return team


def test_an_answer_that_is_one_sides_alone_settles() -> None:
    team = disputed()
    agent = away(team)
    assert states(agent.come_back())["late"] == "disputed"
    model = Ruled(rules={"answer": answers(LATE.upper())})
    with foresee(team, model) as inference:
        (one,) = inference.resolve(agent, by="lead")
        assert (one.dispute, one.keep) == ("q", "late")
        returned = agent.come_back()
        assert states(returned)["late"] == "admitted"
        lost = returned.explain("early").disposition
        assert (lost.reasons[0], lost.causes[0].by) == ("dispute_lost", "lead")
        assert "ruled by itself" in lost.causes[0].note
        assert inference.resolve(agent, by="lead") == (), "what is settled is not asked again"
        assert model.asked["answer"] == 1
        assert [one.stage for one in inference.usage()] == ["answer"]


def test_the_model_does_not_see_who_says_what() -> None:
    team = disputed()
    model = Ruled(rules={"answer": answers(LATE)})
    foresee(team, model).resolve(away(team), by="lead")
    texts = texts_of(model.seen[0])
    assert set(texts["choices"].splitlines()) == {EARLY, LATE}
    assert "closed" in texts["context"]
    everything = model.seen[0].user
    assert not any(word in everything for word in ("A2", "A3", "A4", "noted", "says"))


@pytest.mark.parametrize(
    ("rule", "why"),
    {
        "not sure": (answers(LATE, 0.64), "confidence 0.64"),
        "another answer": (answers("It is shut for good."), "cannot tell"),
        "no answer": (answers(LATE, answerable=False), "cannot tell"),
    }.values(),
)
def test_otherwise_it_stays_open(rule: Callable[[Ask], str], why: str) -> None:
    team = disputed()
    agent, model = away(team), Ruled(rules={"answer": rule})
    epoch = team.epoch
    (one,) = foresee(team, model).resolve(agent, by="lead")
    assert one.keep is None
    assert why in one.why
    assert team.epoch == epoch
    assert {states(agent.come_back())[name] for name in ("early", "late")} == {"disputed"}
    foresee(team, model).resolve(agent, by="lead")
    assert model.asked["answer"] == 1, "an answer is asked for once"


def test_a_model_that_is_down_settles_nothing_and_is_asked_again() -> None:
    team = disputed()
    agent = away(team)
    (one,) = foresee(team, Ruled(broken={"answer": Fault.TIMEOUT})).resolve(agent, by="lead")
    assert (one.keep, one.why) == (None, "no answer: as scripted")
    (one,) = foresee(team, Ruled(rules={"answer": answers(EARLY)})).resolve(agent, by="lead")
    assert one.keep == "early"


def test_a_bar_of_the_policy_holds_here_too() -> None:
    team = disputed(paper={"min_confidence": Decimal("0.95")})
    (one,) = foresee(team, Ruled(rules={"answer": answers(LATE, 0.9)})).resolve(away(team), by="lead")
    assert one.keep is None


def test_nobody_settles_for_their_own_return_and_strangers_settle_nothing() -> None:
    team = disputed()
    agent, model = away(team), Ruled(rules={"answer": answers(LATE)})
    with pytest.raises(NotAllowedError, match="own return"):
        foresee(team, model).resolve(agent, by="A1")
    assert not model.asked
    team = disputed(evidence={"writers": ("A1", "A2", "A3", "A4", "A5")})
    with pytest.raises(NotAllowedError, match="writers"):
        foresee(team, model).resolve(away(team), by="eve")


def test_the_agent_that_is_away_resolves_nothing_of_its_task_itself() -> None:
    team = disputed()
    agent = away(team)
    with pytest.raises(NotAllowedError, match="may not resolve 'early' while it is away"):
        team.resolve("q", keep=["early"], by="A1")
    (one,) = foresee(team, Ruled(rules={"answer": answers(LATE)})).resolve(agent, by="lead")
    assert one.keep == "late"
    assert states(agent.come_back())["late"] == "admitted"


def test_a_dispute_with_one_side_is_left_to_people() -> None:
    team = home()
    team.dispute(["bedtime"], by="A4", id="q")
    model = Ruled()
    (one,) = foresee(team, model).resolve(away(team), by="lead")
    assert (one.keep, model.asked["answer"]) == (None, 0)


def test_two_disputes_are_asked_about_together() -> None:
    team = disputed()
    for name, text in (("red", "The door is red."), ("blue", "The door is blue.")):
        team.record(text, id=name, by="A2", sources=[team.observe(text, by="A2", task="advice")], task="advice")
    team.dispute(["red", "blue"], by="A4", id="p")
    calls: list[int] = []

    class Counting(Ruled):
        def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
            calls.append(len(asks))
            return super().ask(asks)

    found = foresee(team, Counting(rules={"answer": answers(LATE)})).resolve(away(team), by="lead")
    assert [(one.dispute, one.keep) for one in found] == [("q", "late"), ("p", None)]
    assert calls == [2]


def test_a_question_that_is_known_is_put_as_it_is() -> None:
    """What the sides answer to it is compared sign by sign where they are choices."""
    team = disputed()
    agent = away(team)
    question = Question(text="When does the shop open?", choices=("9 )", "9 ]"))
    about = {"q": Asked(question=question, sides={"early": "9 )", "late": "9 ]"}, exact=True)}
    model = Ruled(rules={"answer": answers("9 ]")})
    (one,) = foresee(team, model).resolve(agent, by="lead", about=about, max_tokens=77)
    assert one.keep == "late"
    assert texts_of(model.seen[0]) == {"question": question.text, "choices": "9 )\n9 ]"}
    assert model.seen[0].max_tokens == 77

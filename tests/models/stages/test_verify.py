from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.verifier import overhead

from readmit.models.stages.verify import CALL_CHARS, Case, Verifier
from readmit.ports.models import Failure, Fault, Usage
from readmit.records.canonical import checked, digest
from readmit.records.errors import ModelError
from readmit.records.quotes import quoted
from readmit.records.verdicts import Answer, Pair, Verdict
from tests.models.scripted import Scripted
from tests.models.stages.said import NEW, OLD, PAIR, case, judged, judgment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.ports.models import Ask, Reply

FAILED = Failure(fault=Fault.TIMEOUT, message="the deadline passed", usage=Usage(stage="verify"))


class Other(Scripted):
    name = "other"


def only(model: Scripted, asked: Case, **options: Any) -> Verdict | Failure:
    (result,) = Verifier(model=model, **options).verify([asked])
    return result


@dataclass
class Spoken:
    said: str
    answer: Answer
    note: str = ""
    given: dict[str, Any] = field(default_factory=dict)


SPOKEN = {
    "confirmed": Spoken(judged(), Answer.INVALIDATES),
    "compatible": Spoken(judged("compatible"), Answer.COMPATIBLE),
    "unsure needs no quotes": Spoken(judged("unsure", item_quote="", evidence_quote=""), Answer.UNSURE),
    "a made-up quote of the item": Spoken(judged(item_quote="in the large room"), Answer.UNSURE, "earlier text"),
    "a made-up quote of the observation": Spoken(judged(evidence_quote="it burned down"), Answer.UNSURE, "later text"),
    "quotes of the wrong side": Spoken(
        judged(item_quote="Facilities wrote today", evidence_quote="on Thursday at four"),
        Answer.UNSURE,
        "earlier and the later",
    ),
    "compatible without quotes": Spoken(
        judged("compatible", item_quote="", evidence_quote=""), Answer.UNSURE, "earlier"
    ),
    "a quote of the item's source": Spoken(
        judged(item_quote="booked for good"), Answer.INVALIDATES, given={"item_source": "The room is booked for good."}
    ),
    "the prompt is no text to quote from": Spoken(judged(item_quote="earlier statement"), Answer.UNSURE, "earlier"),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_an_answer_counts_with_both_quotes_only(name: str) -> None:
    spoken = SPOKEN[name]
    verdict = only(Scripted(spoken.said), case(**spoken.given))
    assert isinstance(verdict, Verdict)
    assert verdict.answer is spoken.answer
    assert (spoken.note in verdict.note) if spoken.note else verdict.note == ""
    assert (verdict.model, verdict.prompt, verdict.use) == ("scripted", "verify@1", "review/organizer/")
    assert not verdict.evidence_quote or quoted(verdict.evidence_quote, NEW)
    checked(verdict, what="verdict")


def test_confidence_and_lengths_fit_the_record() -> None:
    verdict = only(Scripted(judged(confidence=17.5, premise="p\x1b " * 3_000)), case())
    assert isinstance(verdict, Verdict)
    assert verdict.confidence == Decimal(1)
    assert len(verdict.premise) == 2_000
    assert "\x1b" not in verdict.premise
    checked(verdict, what="verdict")


def test_the_request_shows_both_texts_their_times_and_the_use() -> None:
    model = Scripted(judged())
    only(model, case(), workspace="w1")
    (ask,) = model.asked
    assert [text in ask.user for text in (OLD, NEW, "review/organizer/", "2025-03-01T09:00:00+00:00")] == [True] * 4
    assert ask.user.index(OLD) < ask.user.index(NEW)
    assert (ask.workspace, ask.prompt, ask.stage, ask.max_tokens) == ("w1", "verify@1", "verify", 512)


@dataclass
class Again:
    first: tuple[str | Failure, ...]
    second: tuple[str | Failure, ...] = ()
    answer: Answer | None = Answer.UNSURE
    confidence: str = "0"


AGAIN = {
    "the same both ways": Again((judged(), judged(confidence=0.7)), (), Answer.INVALIDATES, "0.7"),
    "another answer when swapped": Again((judged(), judged("compatible"))),
    "no quotes when swapped": Again((judged(), judged(item_quote="never said"))),
    "compatible, then unsure": Again((judged("compatible"), judged("unsure"))),
    "the second model agrees": Again((judged(), judged()), (judged(confidence=0.8),), Answer.INVALIDATES, "0.8"),
    "the second model disagrees": Again((judged(), judged()), (judged("compatible"),)),
    "the second call fails": Again((judged(), FAILED), (), None),
    "the second model fails": Again((judged("compatible"), judged("compatible")), (FAILED,), None),
}


@pytest.mark.parametrize("name", AGAIN)
def test_critical_items_are_judged_again(name: str) -> None:
    again = AGAIN[name]
    second = Other(*again.second) if again.second else None
    model = Scripted(*again.first)
    result = only(model, case(critical=True), swap=True, second=second)
    straight, swapped = model.asked
    assert straight.user.index(OLD) < straight.user.index(NEW)
    assert swapped.user.index(OLD) > swapped.user.index(NEW)
    if again.answer is None:
        assert result is FAILED
        return
    assert isinstance(result, Verdict)
    assert (result.answer, str(result.confidence)) == (again.answer, again.confidence)
    assert result.prompt == "verify@1+swapped"
    assert result.model == ("scripted + other" if again.second else "scripted")


def test_other_items_are_judged_once() -> None:
    model = Scripted(judged())
    second = Other("never asked")
    result = only(model, case(), swap=True, second=second)
    assert isinstance(result, Verdict)
    assert (len(model.asked), len(second.asked), result.prompt, result.model) == (1, 0, "verify@1", "scripted")


@pytest.mark.parametrize("long", ["item_text", "evidence_text", "item_source", "use"])
def test_a_pair_too_long_to_show_is_unsure_and_not_asked(long: str) -> None:
    model = Scripted(judged("compatible"))
    verdict = only(model, case(**{long: "x" * 301}), max_chars=300)
    assert isinstance(verdict, Verdict)
    assert (verdict.answer, verdict.confidence, model.asked) == (Answer.UNSURE, 0, [])
    assert "301 characters" in verdict.note
    assert isinstance(only(Scripted(judged()), case(evidence_text=NEW + "\x00" * 60), max_chars=300), Verdict)


def test_hidden_characters_count_as_they_are_shown() -> None:
    model = Scripted(judged("compatible"))
    verdict = only(model, case(evidence_text=NEW + "\u200b" * 60), max_chars=300)
    assert isinstance(verdict, Verdict)
    assert (verdict.answer, model.asked) == (Answer.UNSURE, [])


class Knowing:
    """Answers a request for several pairs by what it is told about each item."""

    name = "knowing"

    def __init__(self, **said: dict[str, Any]) -> None:
        self.said = said
        self.asked: list[Ask] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asked += asks
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> Reply | Failure:
        if ask.prompt.startswith("verify@"):
            return Scripted(judged()).ask([ask])[0]
        shown = [name for name in self.said if f"item {name}." in ask.user]
        shown.sort(key=lambda name: ask.user.index(f"item {name}."))
        pairs = [{"pair": at, "judgment": self.said[name]} for at, name in enumerate(shown, start=1)]
        return Scripted(json.dumps({"pairs": pairs[::-1]})).ask([ask])[0]


def named(name: str, **changed: Any) -> Case:
    pair = Pair(item=name, evidence=digest(name))
    return case(pair=pair, item_text=f"{OLD} This is item {name}.", **changed)


def test_several_pairs_per_request_each_get_their_own_answer() -> None:
    model = Knowing(
        a=judgment(), b=judgment("compatible"), c=judgment("unsure"), d=judgment(item_quote="made up"), e=judgment()
    )
    cases = [named("a"), named("b"), named("k", critical=True), named("c"), named("d"), named("e", use="")]
    results = Verifier(model=model, batch_size=2).verify(cases)
    assert [result.pair.item for result in results if isinstance(result, Verdict)] == ["a", "b", "k", "c", "d", "e"]
    assert [result.answer.value for result in results if isinstance(result, Verdict)] == [
        "invalidates",
        "compatible",
        "invalidates",
        "unsure",
        "unsure",
        "invalidates",
    ]
    assert [ask.prompt for ask in model.asked] == ["verify@1", *["verify-many@1"] * 3]
    assert {ask.stage for ask in model.asked} == {"verify"}


@pytest.mark.parametrize(
    ("pairs", "wrong"),
    [
        ([{"pair": 1, "judgment": judgment()}], [1]),
        ([{"pair": 1, "judgment": judgment()}, {"pair": 1, "judgment": judgment("compatible")}], [0, 1]),
        ([{"pair": 0, "judgment": judgment()}, {"pair": 2, "judgment": judgment()}], [0]),
        ([], [0, 1]),
    ],
)
def test_a_pair_that_is_not_judged_exactly_once_fails(pairs: list[Any], wrong: list[int]) -> None:
    results = Verifier(model=Scripted(json.dumps({"pairs": pairs})), batch_size=2).verify([named("a"), named("b")])
    assert [at for at, result in enumerate(results) if isinstance(result, Failure)] == wrong


def test_long_pairs_do_not_share_a_request() -> None:
    model = Knowing(a=judgment(), b=judgment(), c=judgment())
    long = NEW + " " + "x" * (CALL_CHARS // 3)
    Verifier(model=model, batch_size=3).verify([named(name, evidence_text=long) for name in "abc"])
    assert len(model.asked) == 2


def test_a_key_tells_apart_what_was_judged_and_by_whom() -> None:
    base = Verifier(model=Scripted("x"))
    keys = [base.key(case())]
    keys += [Verifier(model=Scripted("x"), workspace="w").key(case()), Verifier(model=Other("x")).key(case())]
    keys += [Verifier(model=Scripted("x"), batch_size=2).key(case())]
    keys += [Verifier(model=Scripted("x"), swap=True).key(case(critical=True))]
    keys += [Verifier(model=Scripted("x"), second=Other("x")).key(case(critical=True))]
    keys += [base.key(case(use="other")), base.key(case(pair=Pair(item="b", evidence=PAIR.evidence)))]
    keys += [base.key(case(**{name: "other"})) for name in ("item_text", "evidence_text", "item_source")]
    assert len(set(keys)) == len(keys)
    assert Verifier(model=Scripted("y"), swap=True, second=Other("x")).key(case()) == keys[0]


def test_a_key_is_pinned() -> None:
    """Stored verdicts are found by it: a change here asks for every one of them again."""
    assert Verifier(model=Scripted("x")).key(case())[:16] == "b4684a868bcb0591"


def test_settings_that_mean_nothing_are_refused() -> None:
    for size in (0, 33):
        with pytest.raises(ModelError, match="batch_size"):
            Verifier(model=Scripted("x"), batch_size=size)
    with pytest.raises(ModelError, match="second"):
        Verifier(model=Scripted("x"), second=Scripted("y"))


def test_judging_takes_less_than_a_millisecond_besides_the_model() -> None:
    assert overhead(pairs=50) < 1

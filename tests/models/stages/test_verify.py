from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.verifier import overhead

from readmit import Answer, Pair, Verdict
from readmit.errors import ModelError
from readmit.lab import PairCase, Verifier, digest, quoted
from readmit.models import Failure, Fault, Usage
from readmit.models.stages.verify import CALL_CHARS
from readmit.records.canonical import checked
from tests.models.scripted import Scripted
from tests.models.stages.said import NEW, OLD, PAIR, case, judged, judgment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Ask, Reply

FAILED = Failure(fault=Fault.TIMEOUT, message="the deadline passed", usage=Usage(stage="verify"))


class Other(Scripted):
    name = "other"


def only(model: Scripted, asked: PairCase, **options: Any) -> Verdict | Failure:
    (result,) = Verifier(model=model, **options).verify([asked])
    return result


@dataclass
class Spoken:
    said: str
    answer: Answer
    confidence: str
    note: str = ""
    given: dict[str, Any] = field(default_factory=dict)


UNSURE = Answer.UNSURE
BARE = {"item_quote": "", "evidence_quote": ""}
SPOKEN = {
    "high": Spoken(judged(), Answer.INVALIDATES, "0.9"),
    "low": Spoken(judged(0.1), Answer.COMPATIBLE, "0.9"),
    "as likely as not": Spoken(judged(0.5), Answer.INVALIDATES, "0.5"),
    "just less likely": Spoken(judged(0.499), Answer.COMPATIBLE, "0.501"),
    "certain": Spoken(judged(1), Answer.INVALIDATES, "1"),
    "nothing touches it": Spoken(judged(0, **BARE, premise=""), Answer.COMPATIBLE, "1"),
    "a made-up quote of the item": Spoken(judged(item_quote="in the large room"), UNSURE, "0.9", "earlier text"),
    "a made-up quote of the observation": Spoken(judged(evidence_quote="it burned down"), UNSURE, "0.9", "later text"),
    "quotes of the wrong side": Spoken(
        judged(item_quote="Facilities wrote today", evidence_quote="on Thursday at four"),
        UNSURE,
        "0.9",
        "earlier and the later",
    ),
    "doubt without quotes": Spoken(judged(0.3, **BARE), UNSURE, "0.7", "scored 0.3; quote not found"),
    "less than doubt without quotes": Spoken(judged(0.299, **BARE), Answer.COMPATIBLE, "0.701"),
    "a quote of the item's source": Spoken(
        judged(item_quote="booked for good"),
        Answer.INVALIDATES,
        "0.9",
        given={"item_source": "The room is booked for good."},
    ),
    "the prompt is no text to quote from": Spoken(judged(item_quote="earlier statement"), UNSURE, "0.9", "earlier"),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_a_score_against_a_statement_counts_with_both_quotes_only(name: str) -> None:
    spoken = SPOKEN[name]
    verdict = only(Scripted(spoken.said), case(**spoken.given))
    assert isinstance(verdict, Verdict)
    assert (verdict.answer, str(verdict.confidence)) == (spoken.answer, spoken.confidence)
    assert verdict.stale == Decimal(str(json.loads(spoken.said)["judgments"][0]["stale"])), "the score is the model's"
    assert (spoken.note in verdict.note) if spoken.note else verdict.note == ""
    assert (verdict.model, verdict.prompt) == ("scripted", "verify@3")
    assert not verdict.evidence_quote or quoted(verdict.evidence_quote, NEW)
    checked(verdict, what="verdict")


def test_another_threshold_asks_for_quotes_from_there_on() -> None:
    said = judged(0.3, **BARE)
    verdict = only(Scripted(said), case(), suspect_at=Decimal("0.4"))
    assert isinstance(verdict, Verdict)
    assert verdict.answer is Answer.COMPATIBLE


def test_scores_and_lengths_fit_the_record() -> None:
    verdict = only(Scripted(judged(0.123456, premise="p\x1b " * 3_000)), case())
    assert isinstance(verdict, Verdict)
    assert (verdict.stale, verdict.confidence) == (Decimal("0.123"), Decimal("0.877"))
    assert len(verdict.premise) == 2_000
    assert "\x1b" not in verdict.premise
    checked(verdict, what="verdict")


def test_the_request_shows_both_texts_and_their_times() -> None:
    model = Scripted(judged())
    only(model, case(), workspace="w1")
    (ask,) = model.asked
    assert [text in ask.user for text in (OLD, NEW, "statement 1, of 2025-03-01T09:00+00:00")] == [True] * 3
    assert ask.user.index(OLD) < ask.user.index(NEW)
    assert (ask.workspace, ask.prompt, ask.stage, ask.max_tokens) == ("w1", "verify@3", "verify", 512)


@dataclass
class Again:
    first: tuple[str | Failure, ...]
    second: tuple[str | Failure, ...] = ()
    answer: Answer | None = UNSURE
    stale: str | None = None


AGAIN = {
    "the same both ways": Again((judged(), judged(0.7)), (), Answer.INVALIDATES, "0.7"),
    "the least sure of two low scores": Again((judged(0.05), judged(0.4)), (), Answer.COMPATIBLE, "0.4"),
    "another answer when swapped": Again((judged(), judged(0.1))),
    "on either side of even odds": Again((judged(0.5), judged(0.49))),
    "no quotes when swapped": Again((judged(), judged(item_quote="never said"))),
    "low, then doubt without quotes": Again((judged(0.1), judged(0.4, **BARE))),
    "the second model agrees": Again((judged(), judged()), (judged(0.8),), Answer.INVALIDATES, "0.8"),
    "the second model disagrees": Again((judged(), judged()), (judged(0.1),)),
    "the second call fails": Again((judged(), FAILED), (), None),
    "the second model fails": Again((judged(0.1), judged(0.1)), (FAILED,), None),
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
    assert result.answer is again.answer
    assert result.stale == (None if again.stale is None else Decimal(again.stale))
    assert result.prompt == "verify@3+swapped"
    assert result.model == ("scripted + other" if again.second else "scripted")


def test_other_items_are_judged_once() -> None:
    model = Scripted(judged())
    second = Other("never asked")
    result = only(model, case(), swap=True, second=second)
    assert isinstance(result, Verdict)
    assert (len(model.asked), len(second.asked), result.prompt, result.model) == (1, 0, "verify@3", "scripted")


@pytest.mark.parametrize("long", ["item_text", "evidence_text", "item_source"])
def test_a_pair_too_long_to_show_is_unsure_and_not_asked(long: str) -> None:
    model = Scripted(judged(0.1))
    verdict = only(model, case(**{long: "x" * 301}), max_chars=300)
    assert isinstance(verdict, Verdict)
    assert (verdict.answer, verdict.confidence, verdict.stale, model.asked) == (UNSURE, 0, None, [])
    assert "301 characters" in verdict.note
    assert isinstance(only(Scripted(judged()), case(evidence_text=NEW + "\x00" * 60), max_chars=300), Verdict)


def test_hidden_characters_count_as_they_are_shown() -> None:
    model = Scripted(judged(0.1))
    verdict = only(model, case(evidence_text=NEW + "\u200b" * 60), max_chars=300)
    assert isinstance(verdict, Verdict)
    assert (verdict.answer, model.asked) == (Answer.UNSURE, [])


class Knowing:
    """Answers a request with the judgment scripted for each item, or lists it as untouched."""

    name = "knowing"

    def __init__(self, **said: dict[str, Any]) -> None:
        self.said = said
        self.asked: list[Ask] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asked += asks
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> Reply | Failure:
        judgments, untouched = [], []
        for at, other in self.pairs(ask):
            said = self.said[self.shown(ask)[at - 1]]
            if said:
                judgments.append(said | {"statement": at, "observation": other})
            else:
                untouched.append({"statement": at, "observations": [other]})
        return Scripted(json.dumps({"judgments": judgments[::-1], "untouched": untouched})).ask([ask])[0]

    def shown(self, ask: Ask) -> list[str]:
        """The items of a request, in order."""
        found = [name for name in self.said if f"item {name}." in ask.user]
        return sorted(found, key=lambda name: ask.user.index(f"item {name}."))

    def pairs(self, ask: Ask) -> list[tuple[int, int]]:
        """The numbers of the pairs of a request."""
        old, new = (
            list(map(int, re.findall(rf"\] {name} (\d+), of", ask.user))) for name in ("statement", "observation")
        )
        listed = re.findall(r"^statement (\d+): observations (.+)$", ask.user, re.MULTILINE)
        named = [(int(one), int(other)) for one, others in listed for other in others.split(", ")]
        return named or [(one, other) for one in old for other in new]


def named(name: str, news: str = NEW, **changed: Any) -> PairCase:
    pair = Pair(item=name, evidence=digest(news))
    return case(pair=pair, item_text=f"{OLD} This is item {name}.", evidence_text=news, **changed)


OTHER = f"{NEW} For good."


def test_statements_and_observations_share_a_request_and_each_pair_gets_its_own_score() -> None:
    model = Knowing(a=judgment(), b=judgment(0.1), c={}, d=judgment(item_quote="made up"))
    cases = [named("a"), named("b", OTHER), named("c"), named("c", OTHER), named("d"), named("a", OTHER)]
    results = Verifier(model=model).verify(cases)
    assert [(one.pair.item, str(one.answer), str(one.stale)) for one in results if isinstance(one, Verdict)] == [
        ("a", "invalidates", "0.9"),
        ("b", "compatible", "0.1"),
        ("c", "compatible", "0"),
        ("c", "compatible", "0"),
        ("d", "unsure", "0.9"),
        ("a", "invalidates", "0.9"),
    ]
    (ask,) = model.asked
    assert (model.shown(ask), len(model.pairs(ask))) == (["a", "b", "c", "d"], 6), "each shown once, and six of eight"
    assert (ask.user.count(f"\n{NEW}\n"), ask.user.count(f"\n{OTHER}\n")) == (1, 1)
    assert (ask.stage, ask.prompt, ask.max_tokens) == ("verify", "verify@3", 4 * 512 + 5 * 4)


def test_where_every_pair_is_asked_none_is_listed() -> None:
    model = Knowing(a={}, b={})
    Verifier(model=model).verify([named(name, news) for name in "ab" for news in (NEW, OTHER)])
    (ask,) = model.asked
    assert "--- pairs" not in ask.user
    assert len(model.pairs(ask)) == 4


@pytest.mark.parametrize(("most", "requests"), [(1, 12), (4, 4), (100, 1)])
def test_a_request_has_so_many_pairs_at_most(most: int, requests: int) -> None:
    model = Knowing(a={}, b={}, c={}, d={})
    news = [NEW, OTHER, f"{NEW} At last."]
    results = Verifier(model=model, per_call=most).verify([named(name, one) for name in "abcd" for one in news])
    assert len(model.asked) == requests
    assert max(len(model.pairs(ask)) for ask in model.asked) <= most
    assert all(isinstance(one, Verdict) for one in results)


def test_sparse_pairs_repeat_no_observation_more_than_they_have_to() -> None:
    """Of 24 statements each is asked beside 6 of 12 observations: 144 pairs are two requests, not four."""
    names = [chr(ord("a") + n) for n in range(24)]
    model = Knowing(**{name: {} for name in names})
    news = [f"{NEW} {n}." for n in range(12)]
    Verifier(model=model).verify(
        [named(name, one) for row, name in enumerate(names) for column, one in enumerate(news) if (row + column) % 2]
    )
    assert [len(model.pairs(ask)) for ask in model.asked] == [96, 48]


def test_a_source_that_several_statements_share_is_shown_once() -> None:
    model = Knowing(a=judgment(), b=judgment(), c=judgment())
    source = "The whole paragraph about the room."
    cases = [named("a", item_source=source), named("b", item_source="Another."), named("c", item_source=source)]
    Verifier(model=model).verify(cases)
    (ask,) = model.asked
    assert ask.user.count(source) == 1
    assert re.findall(r"\] (source [\w ]+)", ask.user) == ["source of statement 1 and 3", "source of statement 2"]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ([judgment()], [1]),
        ([judgment(), judgment(0.1)], [0, 1]),
        ([judgment(statement=0), judgment(statement=2)], [0]),
        ([judgment(), judgment(statement=2), judgment(statement=3)], []),
        ([judgment(), judgment(statement=2, observation=2)], [1]),
        ([], [0, 1]),
    ],
)
def test_a_pair_that_is_not_judged_exactly_once_fails(said: list[Any], wrong: list[int]) -> None:
    first, again = json.dumps({"judgments": said}), json.dumps({"judgments": []})
    model = Scripted(first, again)
    results = Verifier(model=model).verify([named("a"), named("b")])
    assert [at for at, result in enumerate(results) if isinstance(result, Failure)] == wrong
    assert len(model.asked) == (2 if wrong else 1), "what was left out is asked about once more"


def test_a_request_stays_within_its_size() -> None:
    model = Knowing(a=judgment(), b=judgment(), c=judgment())
    long = "x" * (CALL_CHARS // 5)
    Verifier(model=model).verify([named(name, item_source=long + name) for name in "abc"])
    assert [model.shown(ask) for ask in model.asked] == [["a", "b"], ["c"]]


def test_a_key_distinguishes_what_was_judged_and_by_whom() -> None:
    base = Verifier(model=Scripted("x"))
    keys = [base.key(case())]
    keys += [Verifier(model=Scripted("x"), workspace="w").key(case()), Verifier(model=Other("x")).key(case())]
    keys += [Verifier(model=Scripted("x"), swap=True).key(case(critical=True))]
    keys += [Verifier(model=Scripted("x"), second=Other("x")).key(case(critical=True))]
    keys += [base.key(case(pair=Pair(item="b", evidence=PAIR.evidence)))]
    keys += [base.key(case(**{name: "other"})) for name in ("item_text", "evidence_text", "item_source")]
    assert len(set(keys)) == len(keys)
    assert Verifier(model=Scripted("y"), swap=True, second=Other("x")).key(case()) == keys[0]
    assert Verifier(model=Scripted("x"), per_call=2).key(case()) == keys[0], "the company does not matter"


def test_a_key_is_pinned() -> None:
    """Stored verdicts are found by it: a change here asks for every one of them again."""
    assert Verifier(model=Scripted("x")).key(case())[:16] == "55af73d05da9ee4d"


def test_settings_that_mean_nothing_are_refused() -> None:
    for size in (0, 101):
        with pytest.raises(ModelError, match="per_call"):
            Verifier(model=Scripted("x"), per_call=size)
    with pytest.raises(ModelError, match="second"):
        Verifier(model=Scripted("x"), second=Scripted("y"))


def test_judging_takes_little_besides_the_model() -> None:
    """The bar of 1 ms is the benchmark's. A busy machine is several times slower, a search per turn a hundred times."""
    assert overhead(pairs=50) < 10

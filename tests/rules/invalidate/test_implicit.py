"""Verdicts and suspicions: which count, and what the latest word is."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from readmit import Pair, Reason
from tests.rules.invalidate.build import Board
from tests.scene import Scene

IN: tuple[Reason, ...] = (Reason.COVERS,)
SUSPECTED = (Reason.SUSPECTED,)
CHANGED = (Reason.PREMISE_CHANGED,)
SUSPECT = "suspect"


@dataclass(frozen=True)
class Said:
    """What was said about one pair, in order, and what a return then says of the item."""

    words: tuple[Any, ...]
    reasons: tuple[Reason, ...]
    policy: dict[str, Any] = field(default_factory=dict)


def says(answer: str = "invalidates", **said: Any) -> dict[str, Any]:
    return {"answer": answer, **said}


CASES = {
    "nothing": Said((), IN),
    "a suspicion": Said((SUSPECT,), SUSPECTED),
    "invalidates": Said((says(),), CHANGED),
    "compatible": Said((says("compatible"),), IN),
    "unsure": Said((says("unsure"),), SUSPECTED),
    "a suspicion, then compatible": Said((SUSPECT, says("compatible")), IN),
    "a suspicion, then invalidates": Said((SUSPECT, says()), CHANGED),
    "compatible, then a suspicion again": Said((says("compatible"), SUSPECT), IN),
    "unsure, then compatible": Said((says("unsure"), says("compatible")), IN),
    "compatible, then unsure": Said((says("compatible"), says("unsure")), SUSPECTED),
    "compatible, then invalidates": Said((says("compatible"), says()), CHANGED),
    "invalidates, then compatible": Said((says(), says("compatible")), CHANGED),
    "invalidates, then unsure": Said((says(), says("unsure")), CHANGED),
    "not grounded, then compatible": Said((says(item_quote="nowhere"), says("compatible")), IN),
    "just confident enough": Said((says(confidence=Decimal("0.65")),), CHANGED),
    "not confident enough": Said((says(confidence=Decimal("0.64")),), SUSPECTED),
    "compatible, not confident enough": Said((says("compatible", confidence=Decimal("0.64")),), SUSPECTED),
    "another threshold": Said(
        (says(confidence=Decimal("0.2")),), CHANGED, {"paper": {"min_confidence": Decimal("0.2")}}
    ),
    "quote not in the item": Said((says(item_quote="the text of x"),), SUSPECTED),
    "quote from the item's evidence": Said((says(item_quote="the train confirm"),), CHANGED),
    "quote not in the observation": Said((says(evidence_quote="the train confirm"),), SUSPECTED),
    "quote with other white space": Said((says(evidence_quote="The\n hotel   has"),), CHANGED),
    "empty quotes": Said((says(item_quote="", evidence_quote=""),), SUSPECTED),
    "unsure about what is critical": Said((SUSPECT,), SUSPECTED, {"paper": {"on_unsure": "exclude_critical"}}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_said_of_one_pair(case: str) -> None:
    given = CASES[case]
    scene = Scene(**given.policy)
    scene.duty(critical=("d",))
    scene.fact("h", supports=["d"])
    scene.depart()
    news = scene.news()
    for word in given.words:
        if word == SUSPECT:
            scene.team.judge(Pair(item="h", evidence=news), by="worker")
        else:
            scene.verdict("h", news, **word)
    scene.come_back()
    assert scene.reasons("h") == given.reasons


def test_an_unsure_word_about_what_is_not_critical_may_be_let_pass() -> None:
    scene = Scene(paper={"on_unsure": "exclude_critical"})
    scene.duty(required=("d", "e"), critical=("e",))
    scene.fact("h", supports=["d"])
    scene.fact("k", supports=["e"])
    scene.depart()
    news = scene.news()
    scene.team.judge(Pair(item="h", evidence=news), by="worker")
    scene.team.judge(Pair(item="k", evidence=news), by="worker")
    scene.come_back()
    assert scene.reasons("h") == (Reason.WITHHELD,)
    assert scene.reasons("k") == SUSPECTED


def test_pairs_are_settled_each_by_itself_and_the_latest_invalidator_leads() -> None:
    scene = Scene()
    scene.fact("h")
    scene.depart()
    first, second, third = (scene.news(f"The hotel has closed, part {n}.") for n in range(3))
    scene.verdict("h", second, premise="open in May")
    scene.verdict("h", first)
    scene.team.judge(Pair(item="h", evidence=third), by="worker")
    back = scene.come_back()
    causes = scene.disposition("h").causes
    assert [(cause.reason, cause.ref) for cause in causes] == [
        (Reason.SUSPECTED, third),
        (Reason.PREMISE_CHANGED, second),
        (Reason.PREMISE_CHANGED, first),
    ]
    assert [cause.note for cause in causes] == ["", "", ""], "the audit holds no text"
    said = str(back.explain("h"))
    assert "open in May" in said
    assert said.endswith(": hotel.")


def test_an_overrule_of_one_invalidator_does_not_cover_a_later_one() -> None:
    """Whichever observation is the later one: what counts is when the verdict entered the log."""
    scene = Scene()
    scene.fact("h")
    scene.depart()
    first, second = scene.news("The hotel has closed."), scene.news("The hotel burnt down.")
    scene.verdict("h", second)
    scene.team.admin.overrule("h", by="boss", reason="a rumour", expires=scene.now.replace(year=2030))
    scene.come_back()
    assert scene.reasons("h") == (Reason.NOT_NEEDED,)
    scene.verdict("h", first)
    scene.come_back()
    assert scene.reasons("h") == CHANGED


def test_an_altered_observation_confirms_nothing_and_blocks() -> None:
    scene = Scene()
    scene.fact("h")
    scene.depart()
    news = scene.news()
    scene.verdict("h", news)
    scene.sql("UPDATE event SET body = CAST('{}' AS BLOB) WHERE digest = ?", news)
    assert scene.come_back().reasons == (Reason.LOG_ALTERED,)


def test_altered_evidence_of_an_item_blocks() -> None:
    scene = Scene()
    scene.fact("h")
    scene.depart()
    scene.sql("UPDATE event SET body = CAST('{' AS BLOB) WHERE digest = ?", scene.source)
    assert scene.come_back().reasons == (Reason.LOG_ALTERED,)


def test_a_receipt_from_outside_does_not_make_an_item_later_than_an_observation() -> None:
    board = Board(evidence={"writers": ("bob",)})
    own, news, outside = board.said(1), board.said(10), board.said(20, by="eve")
    board.fact("h", own, outside)
    board.judge("h", news)
    assert board.out() == {"h": f"premise_changed {news}"}


# Her own word.


@dataclass(frozen=True)
class Word:
    """Who wrote the item and who found it compatible, and whether that clears it for ann."""

    author: str
    judge: str
    cleared: bool


WORDS = {
    "her own, of her own item": Word("ann", "ann", cleared=False),
    "her own, of another's item": Word("bob", "ann", cleared=False),
    "another's, of her item": Word("ann", "bob", cleared=True),
    "another's, of his own item": Word("bob", "bob", cleared=True),
}


@pytest.mark.parametrize("raised", ["suspected", "unsure"])
@pytest.mark.parametrize("case", WORDS)
def test_nobody_clears_a_suspicion_in_the_own_return_whoever_wrote_the_item(case: str, raised: str) -> None:
    word = WORDS[case]
    board = Board()
    board.fact("h", by=word.author)
    news = board.said(10)
    if raised == "suspected":
        board.suspect("h", news, by="worker")
    else:
        board.judge("h", news, "unsure", by="worker")
    board.judge("h", news, "compatible", by=word.judge)
    assert board.out() == ({} if word.cleared else {"h": f"suspected {news}"})
    assert board.findings().open_pairs == (0 if word.cleared else 1)


def test_her_own_word_counts_against_an_item_of_hers() -> None:
    board = Board()
    board.fact("h", by="ann")
    news = board.said(10)
    board.judge("h", news, by="ann")
    assert board.out() == {"h": f"premise_changed {news}"}


def test_another_clears_it_before_or_after_her() -> None:
    for first, second in (("ann", "bob"), ("bob", "ann")):
        board = Board()
        board.fact("h", by="ann")
        news = board.said(10)
        board.suspect("h", news, by="worker")
        board.judge("h", news, "compatible", by=first)
        board.judge("h", news, "compatible", by=second)
        assert board.out() == {}


# Open pairs.


def test_open_pairs_are_counted_one_by_one_as_far_as_she_can_see() -> None:
    board = Board(paper={"on_unsure": "exclude_critical"})
    board.fact("h", slot=None)
    board.fact("k", slot=None)
    board.fact("hidden", slot=None, roles=("booker",), hidden=True)
    first, second = board.said(10), board.said(11)
    for name, news in (("h", first), ("h", second), ("k", first), ("hidden", first)):
        board.suspect(name, news)
    board.judge("k", first, "compatible", by="worker")
    board.revoke("k")
    assert board.findings().open_pairs == 2


def test_a_suspicion_inherited_by_a_repetition_is_one_pair() -> None:
    board = Board()
    early = board.said(1)
    board.fact("h", slot=None, text="once")
    board.fact("again", early, slot=None, text="once")
    board.suspect("h", board.said(10))
    assert board.out().keys() == {"h", "again"}
    assert board.findings().open_pairs == 1


def test_what_meets_a_critical_dependency_by_its_slot_is_critical() -> None:
    board = Board(paper={"on_unsure": "exclude_critical"})
    board.duty("o", required=("hotel",), critical=("hotel",))
    board.fact("h", slot="hotel")
    board.fact("k", slot="train")
    news = board.said(10)
    board.suspect("h", news)
    board.suspect("k", news)
    assert board.out() == {"h": f"suspected {news}"}

"""What a score settles: at the borders of the policy's thresholds, for what is critical and what is not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import readmit
from readmit import Answer, Pair, Policy, Reason, Verdict
from readmit.errors import RecordError
from readmit.lab import Ruling, ruling
from readmit.records.verdicts import in_words
from tests.rules.invalidate.build import Board
from tests.scene import Scene

BARE = {"item_quote": "", "evidence_quote": ""}
MADE_UP = {"item_quote": "words that nobody wrote"}


def scored(stale: str, **said: Any) -> dict[str, Any]:
    """A verdict with a score, whose words say the opposite: they must not decide."""
    opposite = "compatible" if Decimal(stale) >= Decimal("0.5") else "invalidates"
    return {"answer": opposite, "stale": Decimal(stale), **said}


@dataclass(frozen=True)
class Scored:
    """What was said of one pair, in order, and what then becomes of an item that is critical and of one that is not."""

    words: tuple[dict[str, Any] | str, ...]
    critical: str
    other: str
    policy: dict[str, Any] = field(default_factory=dict)


OLD_NO: dict[str, Any] = {"answer": "invalidates"}
OLD_YES: dict[str, Any] = {"answer": "compatible"}
OLD_UNSURE: dict[str, Any] = {"answer": "unsure"}
LAX = {"paper": {"on_unsure": "exclude_critical"}}
PAPER = {"evidence": {"invalid_at": Decimal("0.65")}}
CASES = {
    "nothing touches it": Scored((scored("0"),), "in", "in"),
    "just below suspect_at": Scored((scored("0.299"),), "in", "in"),
    "at suspect_at": Scored((scored("0.3"),), "suspected", "in"),
    "just below invalid_at": Scored((scored("0.499"),), "suspected", "in"),
    "at invalid_at": Scored((scored("0.5"),), "premise_changed", "premise_changed"),
    "certain": Scored((scored("1"),), "premise_changed", "premise_changed"),
    "in between, where unsure words are let pass": Scored((scored("0.4"),), "suspected", "in", LAX),
    "the paper's threshold, just below": Scored((scored("0.649"),), "suspected", "in", PAPER),
    "the paper's threshold": Scored((scored("0.65"),), "premise_changed", "premise_changed", PAPER),
    "no room between, just below": Scored(
        (scored("0.599"),), "in", "in", {"evidence": {"invalid_at": Decimal("0.6"), "suspect_at": Decimal("0.6")}}
    ),
    "no room between": Scored(
        (scored("0.6"),),
        "premise_changed",
        "premise_changed",
        {"evidence": {"invalid_at": Decimal("0.6"), "suspect_at": Decimal("0.6")}},
    ),
    "confidence is no threshold of a score": Scored(
        (scored("0.9", confidence=Decimal(0)),), "premise_changed", "premise_changed"
    ),
    "high without quotes": Scored((scored("1", **BARE),), "suspected", "suspected"),
    "high with a made-up quote": Scored((scored("1", **MADE_UP),), "suspected", "suspected"),
    "high without quotes, let pass": Scored((scored("1", **BARE),), "suspected", "in", LAX),
    "in between without quotes": Scored((scored("0.3", **BARE),), "suspected", "suspected"),
    "low without quotes": Scored((scored("0.299", **BARE),), "in", "in"),
    "a suspicion, then low": Scored(("suspect", scored("0.1")), "in", "in"),
    "a suspicion, then in between": Scored(("suspect", scored("0.4")), "suspected", "in"),
    "a suspicion, then high": Scored(("suspect", scored("0.9")), "premise_changed", "premise_changed"),
    "low, then a suspicion again": Scored((scored("0.1"), "suspect"), "in", "in"),
    "high, then low": Scored((scored("0.9"), scored("0")), "premise_changed", "premise_changed"),
    "high, then in between": Scored((scored("0.9"), scored("0.4")), "premise_changed", "premise_changed"),
    "low, then in between": Scored((scored("0"), scored("0.4")), "suspected", "in"),
    "in between, then low": Scored((scored("0.4"), scored("0")), "in", "in"),
    "an old invalidation, then low": Scored((OLD_NO, scored("0")), "premise_changed", "premise_changed"),
    "high, then an old compatible": Scored((scored("0.9"), OLD_YES), "premise_changed", "premise_changed"),
    "an old unsure word, then in between": Scored((OLD_UNSURE, scored("0.4")), "suspected", "in"),
    "in between, then an old unsure word": Scored((scored("0.4"), OLD_UNSURE), "suspected", "suspected"),
    "an old word at its own threshold": Scored(
        ({**OLD_NO, "confidence": Decimal("0.65")},), "premise_changed", "premise_changed"
    ),
    "an old word just below it": Scored(({**OLD_NO, "confidence": Decimal("0.649")},), "suspected", "suspected"),
    "an old word knows no other threshold": Scored(
        ({**OLD_NO, "confidence": Decimal("0.6")},),
        "suspected",
        "suspected",
        {"evidence": {"invalid_at": Decimal("0.3")}},
    ),
    "an old compatible just below it": Scored(({**OLD_YES, "confidence": Decimal("0.64")},), "suspected", "suspected"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_score_settles(name: str) -> None:
    given = CASES[name]
    scene = Scene(returns={"fill": "always"}, **given.policy)
    scene.duty(required=("d",), critical=("d",))
    scene.fact("critical", supports=["d"])
    scene.fact("other")
    scene.depart()
    news = scene.news()
    for word in given.words:
        for item in ("critical", "other"):
            if isinstance(word, str):
                scene.team.judge(Pair(item=item, evidence=news), by="worker")
            else:
                scene.verdict(item, news, **word)
    scene.come_back()
    for item, outcome in (("critical", given.critical), ("other", given.other)):
        found = set(scene.reasons(item)) & {Reason.SUSPECTED, Reason.PREMISE_CHANGED}
        assert found == (set() if outcome == "in" else {outcome}), item


@pytest.mark.parametrize("doubt", ["a suspicion", "a score"])
def test_an_overseer_sets_a_doubt_aside_that_counts_only_against_what_is_critical(doubt: str) -> None:
    scene = Scene(paper={"on_unsure": "exclude_critical"}, evidence={"overseers": ("boss",)})
    scene.duty(required=("d",), critical=("d",))
    scene.fact("critical", supports=["d"])
    scene.depart()
    news = scene.news()
    if doubt == "a score":
        scene.verdict("critical", news, stale=Decimal("0.4"))
    else:
        scene.team.judge(Pair(item="critical", evidence=news), by="worker")
    assert not scene.come_back().admitted
    scene.team.admin.overrule("critical", by="boss", reason="looked at it", expires=timedelta(hours=1))
    assert scene.come_back().admitted


def test_doubt_is_an_open_pair_for_what_is_critical_only() -> None:
    board = Board()
    board.duty("o", required=("d",), critical=("d",))
    board.fact("critical", supports=("d",), slot=None)
    board.fact("other", slot=None)
    news = board.said(10)
    for name in ("critical", "other"):
        board.judge(name, news, stale=Decimal("0.4"))
    assert board.out() == {"critical": f"suspected {news}"}
    assert board.findings().open_pairs == 1


def test_doubt_about_a_statement_holds_for_its_repetition_that_is_critical() -> None:
    board = Board()
    early = board.said(1)
    board.duty("o", required=("d",), critical=("d",))
    board.fact("other", slot=None, text="the text, once")
    board.fact("critical", early, slot=None, text="the text, once", supports=("d",))
    news = board.said(10)
    board.judge("other", news, stale=Decimal("0.4"))
    assert board.out() == {"critical": f"suspected {news}"}


@pytest.mark.parametrize("order", ["suspicion first", "her word first"])
@pytest.mark.parametrize("stale", ["0", "0.4"])
def test_nobody_clears_a_suspicion_against_an_item_of_their_own_by_a_score(stale: str, order: str) -> None:
    board = Board()
    board.fact("h", by="ann")
    news = board.said(10)
    if order == "suspicion first":
        board.suspect("h", news, by="worker")
    board.judge("h", news, by="ann", stale=Decimal(stale))
    if order == "her word first":
        board.suspect("h", news, by="worker")
    assert board.out() == {"h": f"suspected {news}"}
    board.judge("h", news, by="bob", stale=Decimal("0.1"))
    assert board.out() == {}


def test_an_observation_before_the_item_invalidates_nothing() -> None:
    board = Board()
    news = board.said(1)
    board.fact("h", board.said(5))
    board.judge("h", news, stale=Decimal(1))
    assert board.out() == {"h": f"suspected {news}"}


def test_quotes_are_looked_for_only_where_they_matter() -> None:
    def never() -> bool:
        raise AssertionError

    pair = Pair(item="h", evidence="0" * 64)
    low = Verdict(pair=pair, answer=Answer.COMPATIBLE, confidence=Decimal(1), stale=Decimal("0.2"))
    assert ruling(low, Policy(), grounded=never) is Ruling.COMPATIBLE
    old = Verdict(pair=pair, answer=Answer.COMPATIBLE, confidence=Decimal(1))
    assert ruling(old, Policy(), grounded=never) is Ruling.COMPATIBLE


def test_what_a_verdict_settles_is_written_once() -> None:
    """Nothing else compares a score or a confidence with a policy."""
    root = Path(readmit.__file__).parent
    compared = re.compile(r"\.stale\s*[<>]|\.confidence\s*[<>]=?\s*(self\.|state\.)?policy")
    found = [
        path.relative_to(root).as_posix() for path in root.rglob("*.py") if compared.search(path.read_text("utf-8"))
    ]
    assert found == ["records/verdicts.py"]


def test_words_say_what_is_likelier_and_how_likely() -> None:
    assert in_words(Decimal("0.5")) == (Answer.INVALIDATES, Decimal("0.5"))
    assert in_words(Decimal("0.499")) == (Answer.COMPATIBLE, Decimal("0.501"))
    assert in_words(Decimal(1)) == (Answer.INVALIDATES, Decimal(1))
    assert in_words(Decimal(0)) == (Answer.COMPATIBLE, Decimal(1))


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(RecordError, match="suspect_at must not exceed invalid_at"):
        Policy(evidence={"invalid_at": Decimal("0.2")})

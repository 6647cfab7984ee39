"""CUPMem's write and query side, step by step, with answers that are told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.bench.answers_by_file import sections

from readmit.errors import PendingAnswers
from readmit.models import Ask, Failure, Reply, Usage
from readmit_bench.checkpoints import checkpoint
from readmit_bench.episodes import Episode, Session, Turn
from readmit_bench.methods import admitted
from readmit_bench.methods.cupmem import CUPMem

if TYPE_CHECKING:
    from collections.abc import Sequence

OLD, NEW, OTHER = "I cycle to the mill.", "My leg is in plaster.", "I like plums."
FILED = {OLD: ("routine_and_transport", "transport"), NEW: ("health_and_mobility", "condition")}
FILED[OTHER] = ("stable_preferences", "likes")


def history(*texts: str) -> Episode:
    sessions = tuple(
        Session(index=n, at="", turns=(Turn(speaker="user", text=text), Turn(speaker="assistant", text=f"So, {text}")))
        for n, text in enumerate(texts)
    )
    return Episode(id="e", benchmark="stale", tasks=("How do I get to the mill?",), departure=0, sessions=sessions)


@dataclass
class Told:
    """Reads every sentence it knows; decides as it is told."""

    update: str = "add"
    effect: str = "invalidate"
    confidence: float = 0.9
    salience: float = 0.9
    name: str = "told"
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Reply:
        shown = sections(ask.user)
        self.asked.append((ask.stage, shown))
        said = self._said(ask.stage, shown)
        text = said if isinstance(said, str) else json.dumps(said)
        return Reply(text=text, usage=Usage(stage=ask.stage, input=1, output=1), model=self.name)

    def _said(self, stage: str, shown: dict[str, str]) -> Any:
        if stage == "cup-chunks":
            held = [one for one in FILED if one in shown["session"]]
            return {"passages": [{"quote": one, "salience": self.salience} for one in held]}
        if stage == "cup-extract":
            return {
                "propositions": [
                    {"quote": one, "statement": one, "bucket": bucket, "track": track, "confidence": self.confidence}
                    for one, (bucket, track) in FILED.items()
                    if one in shown["passages"]
                ]
            }
        if stage == "cup-affected":
            return {"buckets": ["routine_and_transport"] if NEW in shown["what is new"] else []}
        if stage == "cup-update":
            item = int(shown["filed items"].partition(".")[0])
            return {"updates": [{"proposition": 1, "decision": self.update, "item": item}]}
        if stage == "cup-invalidate":
            return {"effects": [self._effect(line) for line in shown["older items"].splitlines()]}
        if stage == "cup-parse":
            return {"needed": ["routine_and_transport"], "affected": [], "taken_for_granted": "that I cycle"}
        if stage == "cup-premise":
            return {"reason": "the leg", "verdict": "outdated"}
        if stage == "cup-ground":
            return {"rest_on": ["the leg"], "avoid": ["cycling"]}
        return "By boat."

    def _effect(self, line: str) -> dict[str, Any]:
        decision = self.effect if OLD in line else "none"
        new = 2 if decision != "none" else 0
        return {
            "item": int(line.partition(".")[0]),
            "decision": decision,
            "new_item": new,
            "confidence": self.confidence,
        }


@dataclass
class InRounds(Told):
    """Answers a request in the round after the one that asks it."""

    known: set[str] = field(default_factory=set)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        if new := {ask.digest(self.name) for ask in asks} - self.known:
            self.known |= new
            self.asked += [(ask.stage, {}) for ask in asks if ask.digest(self.name) in new]
            raise PendingAnswers(len(new), "")
        return super().ask(asks)


def test_all_sessions_are_read_in_one_round_and_the_questions_side_by_side() -> None:
    made = checkpoint(replace(history(OLD, OTHER, NEW), tasks=("How do I get there?", "What shall I eat?")))
    model = InRounds()
    rounds: list[list[str]] = []
    while True:
        model.asked = []
        method = CUPMem(model, answer_tokens=64)
        try:
            view = admitted(method, made)
            method.respond(model, made, view)
            break
        except PendingAnswers:
            rounds.append([stage for stage, shown in model.asked if not shown])
    assert rounds[:3] == [["cup-chunks"] * 3, ["cup-extract"] * 3, ["cup-affected"] * 3]
    assert rounds[-4:] == [["cup-parse"] * 2, ["cup-premise"] * 2, ["cup-ground"] * 2, ["answer"] * 2]
    assert rounds[3:-4] == [["cup-invalidate"]], "only what the memory decides goes session by session"
    assert view == admitted(CUPMem(Told(), answer_tokens=64), made), "rounds change nothing"


def test_an_update_goes_along_with_an_invalidation_that_cannot_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pears = "I like pears."
    monkeypatch.setitem(FILED, pears, FILED[OTHER])
    made = checkpoint(history(OTHER, OLD, NEW, pears))
    model = InRounds(effect="none")
    rounds: list[list[str]] = []
    while True:
        model.asked = []
        try:
            admitted(CUPMem(model, answer_tokens=64), made)
            break
        except PendingAnswers:
            rounds.append([stage for stage, shown in model.asked if not shown])
    assert ["cup-invalidate", "cup-update"] in rounds[3:], rounds


def test_something_new_in_another_bucket_makes_the_old_stale_and_takes_its_place() -> None:
    made = checkpoint(history(OLD, NEW, OTHER))
    model = Told()
    method = CUPMem(model, answer_tokens=64)
    view = admitted(method, made)
    assert set(view.rows) == {"s1.t1", "s2.t1"}
    assert view.left_out == {"s0.t1": ("stale",)}
    assert "[assistant]" in model.asked[0][1]["session"], "conversations are read whole"
    (answer,) = method.respond(model, made, view)
    assert answer == "By boat."
    stages = [stage for stage, _ in model.asked]
    assert stages[-4:] == ["cup-parse", "cup-premise", "cup-ground", "answer"]
    memory = model.asked[-3][1]["memory"]
    assert f"stale, replaced by 2] {OLD}" in memory, "an outdated premise is recognized by the stale item"
    notes = model.asked[-1][1]["notes"]
    assert "takes for granted is outdated" in notes
    assert "Rest on: the leg\nAvoid: cycling" in notes


@pytest.mark.parametrize(
    ("told", "left_out"),
    [
        (Told(effect="invalidate", confidence=0.54), {}),
        (Told(effect="invalidate", confidence=0.56), {"s0.t1": ("stale",)}),
        (Told(effect="challenge"), {}),
        (Told(effect="none"), {}),
    ],
    ids=["too weak", "strong", "only a challenge", "no effect"],
)
def test_what_is_not_clearly_invalidated_stays(told: Told, left_out: dict[str, tuple[str, ...]]) -> None:
    assert admitted(CUPMem(told, answer_tokens=64), checkpoint(history(OLD, NEW))).left_out == left_out


@pytest.mark.parametrize(
    ("told", "extracted"), [(Told(salience=0.29), False), (Told(confidence=0.44), True)], ids=["dull", "vague"]
)
def test_dull_passages_and_vague_propositions_are_not_filed(told: Told, extracted: bool) -> None:
    assert admitted(CUPMem(told, answer_tokens=64), checkpoint(history(OLD))).rows == ()
    assert ("cup-extract" in {stage for stage, _ in told.asked}) is extracted


@pytest.mark.parametrize(
    ("update", "rows", "left_out"),
    [
        ("replace", {"s1.t1"}, {"s0.t1": ("stale",)}),
        ("refine", {"s1.t1"}, {}),
        ("add", {"s0.t1", "s1.t1"}, {}),
        ("none", {"s0.t1"}, {}),
    ],
)
def test_the_update_judge_decides_within_a_track(
    update: str, rows: set[str], left_out: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FILED, "I like pears.", FILED[OTHER])
    view = admitted(CUPMem(Told(update=update), answer_tokens=64), checkpoint(history(OTHER, "I like pears.")))
    assert (set(view.rows), view.left_out) == (rows, left_out)

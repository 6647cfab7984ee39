"""A stand-in with perfect answers drives every shape of the benchmark to a view that was admitted."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.bench.answers_by_file import pairs_shown, sections

from readmit.errors import PendingAnswers
from readmit.models import Ask, Lexical, Reply, Usage
from readmit_bench.episode_runs import Roles, attempt, method_named
from readmit_bench.episodes import Episode, Row, Session, Turn
from readmit_bench.settings import Settings, overridden

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Model
    from readmit_bench.episode_runs import Attempt

OLD = "I take the night ferry to Bergen every Friday."
NEW = "The harbor was closed for good last week, so nothing sails from here any more."
KEPT = "My sister lives in Bergen."
IDLE = "Hi there! I was hoping you could help me get to Bergen by ferry."
HOBBY = "I collect old maps."
LATER = "I planted beans on the balcony."
ANSWERS = {"a1": "heron", "a2": "crane"}

SLOTS = {OLD: "travel.weekly", NEW: "travel.harbor", KEPT: "family.sister", HOBBY: "hobby", LATER: "balcony"}
_TURN = re.compile(r"^\[[0-9a-f]{16}\] turn (\d+), user\n(.+)$", re.MULTILINE)


class Perfect:
    """Takes down what is said, plans what is asked, and knows which statement ended which."""

    name = "perfect"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.shown: list[str] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Reply:
        self.asked[ask.stage] += 1
        self.shown.append(ask.user)
        said = getattr(self, ask.stage)(sections(ask.user))
        return Reply(text=json.dumps(said), usage=Usage(stage=ask.stage, input=1, output=1), model=self.name)

    def extract(self, shown: dict[str, str]) -> Any:
        claims = []
        for label, text in shown.items():
            for number, words in _TURN.findall(text):
                if words in SLOTS:
                    claims.append(_claim(int(label.split()[-1]), int(number), words))
        return {"items": claims}

    def plan(self, _: dict[str, str]) -> Any:
        needs = [
            {
                "name": "way",
                "needed": "How the user gets to Bergen by ferry from the harbor.",
                "critical": True,
                "many": False,
            },
            {"name": "zeppelin", "needed": "The zeppelin timetable.", "critical": True, "many": False},
        ]
        return {
            "obligations": [{"obligation": "Say how to get to Bergen.", "needs": needs}],
            "queries": ["ferry to Bergen", "harbor", "sister"],
        }

    def link(self, shown: dict[str, str]) -> Any:
        lines = [line.partition(": ") for line in shown["statements"].splitlines()]
        met = [(number, text) for number, _, text in lines if text in (KEPT, OLD, NEW)]
        return {"links": [{"need": 1, "statement": int(number), "quote": text} for number, text in met]}

    def premises(self, _: dict[str, str]) -> Any:
        return {"lines": ["The ferry sails."]}

    def scan(self, shown: dict[str, str]) -> Any:
        later = [label for label in shown if label.startswith("observation")]
        cells = [(int(label.split()[-1]), OLD in shown["earlier statement"] and NEW in shown[label]) for label in later]
        return {"labels": [{"observation": number, "may_change": change} for number, change in cells]}

    def verify(self, shown: dict[str, str]) -> Any:
        judged = []
        for (old, new), (text, later) in pairs_shown(shown).items():
            ended = OLD in text and NEW in later
            quotes = {"item_quote": OLD if ended else text, "evidence_quote": NEW if ended else later}
            score = {"premise": "the ferry sails", "stale": 0.95 if ended else 0.02}
            judged.append({"statement": old, "observation": new, **quotes, **score})
        return {"judgments": judged}

    def settle(self, _: dict[str, str]) -> Any:
        return {"reason": "it is so", "answerable": True, "answer": "heron", "confidence": 1.0}


def _claim(observation: int, turn: int, words: str) -> dict[str, Any]:
    return {
        "observation": observation, "turn": turn, "quote": words, "slot": SLOTS[words], "statement": words,
        "operation": "add", "premises": ["It is still so."], "confidence": 0.95,
    }  # fmt: skip


def _history(*said: str) -> tuple[Session, ...]:
    return tuple(
        Session(
            index=index,
            at=f"2026-01-{index + 1:02}",
            turns=(
                Turn(speaker="user", text=IDLE),
                Turn(speaker="assistant", text="I love ferries myself. " * 40 + "What is new with you?"),
                Turn(speaker="user", text=words),
                Turn(speaker="assistant", text="Noted. I keep bees, by the way."),
            ),
        )
        for index, words in enumerate(said)
    )


def _episode(benchmark: str) -> Episode:
    return Episode(
        id="e",
        benchmark=benchmark,
        tasks=("How do I get to Bergen by ferry?",),
        departure=2,
        sessions=_history(KEPT, OLD, HOBBY, LATER, NEW),
        haystack="official" if benchmark == "stale" else None,
    )


def _attempt(method: str, episode: Episode, model: Model) -> Attempt:
    roles = Roles(extractor=model, verifier=model, embedder=Lexical())
    settings = overridden(Settings(), ("memora.changes=asked",))
    return attempt(episode, method_named(method, episode.benchmark, roles, settings), roles, settings)


class ByRounds:
    """Answers by file: what was not asked before waits until the round is answered."""

    name = "by-rounds"

    def __init__(self, model: Perfect) -> None:
        self.model = model
        self.known: dict[str, Reply] = {}
        self.waiting: dict[str, Ask] = {}
        self.rounds: list[Counter[str]] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        fresh = {ask.digest(self.name): ask for ask in asks if ask.digest(self.name) not in self.known}
        self.waiting |= fresh
        if fresh:
            raise PendingAnswers(len(self.waiting), "answers")
        return [self.known[ask.digest(self.name)] for ask in asks]

    def answer(self) -> None:
        self.rounds.append(Counter(ask.stage for ask in self.waiting.values()))
        self.known |= zip(self.waiting, self.model.ask(list(self.waiting.values())), strict=True)
        self.waiting.clear()


def test_all_that_can_be_asked_at_once_goes_out_in_one_round() -> None:
    """The actor's answers and the judge take two rounds more, of the six that are promised."""
    model = ByRounds(Perfect())
    made: Attempt | None = None
    while made is None:
        try:
            made = _attempt("readmit", _episode("stale"), model)
        except PendingAnswers:
            model.answer()
    assert made.failure == ""
    assert sorted(model.rounds[0]) == ["extract", "plan"], "a plan needs the task alone"
    assert len(model.rounds) <= 4, model.rounds
    assert {stage for one in model.rounds for stage in one} == {"extract", "plan", "link", "verify"}, "no premises"


@pytest.mark.parametrize("benchmark", ["stale", "memora"])
def test_a_history_ends_in_a_view_of_what_is_true_now(benchmark: str) -> None:
    model = Perfect()
    made = _attempt("readmit", _episode(benchmark), model)
    assert made.failure == ""
    assert made.view is not None
    assert made.checkpoint is not None
    assert not made.view.blocked, "a need that nobody ever met is a question"
    texts = {row.id: row.text for row in (*made.checkpoint.observations, *made.checkpoint.rows)}
    handed = {made.view.excerpts.get(name, texts[name]) for name in made.view.rows}
    assert NEW in handed, "what took the place of what fell"
    assert KEPT in handed
    assert handed.isdisjoint({OLD, IDLE, HOBBY, LATER}), "nothing stale, no small talk, nothing beside the point"
    (confirmed,) = [one for one in made.view.findings if one.confirmed]
    assert (texts[confirmed.row], confirmed.observation_quote) == (OLD, NEW)
    assert confirmed.signals == (), "every pair was judged"
    assert {made.view.excerpts.get(name, texts[name]) for name in made.view.linked} >= {NEW}
    assert model.asked["implied"] == model.asked["premises"] == 0, "the extraction has written both"


def test_the_papers_pipeline_takes_out_what_was_drawn_from_a_superseded_session() -> None:
    made = _attempt("trace-paper", _episode("stale"), Perfect())
    assert made.failure == ""
    assert made.view is not None
    assert not made.view.blocked
    assert made.checkpoint is not None
    texts = {row.id: row.text for row in (*made.checkpoint.observations, *made.checkpoint.rows)}
    assert {texts[name] for name in made.view.left_out} == {OLD, IDLE}, "everything that the session said"
    assert NEW in {texts[name] for name in made.view.rows}


def test_a_contest_is_settled_and_the_right_answer_handed_over() -> None:
    rows = tuple(
        Row(id=name, text=answer, at=at, source=name, departure=at == 1, slot="answer", task_version="q", answer=answer)
        for at, (name, answer) in enumerate(ANSWERS.items(), start=1)
    )
    first, second = rows
    fields = {name: getattr(second, name) for name in second.__struct_fields__}
    second = Row(**{**fields, "operation": "update", "supersedes": ("a1",)})
    task = "Which bird?\n\nAnswer choices:\n(A) heron\n(B) crane"
    episode = Episode(id="m", benchmark="manbench", tasks=(task,), departure=0, rows=(first, second), task_version="q")
    made = _attempt("readmit", episode, Perfect())
    assert made.failure == ""
    assert made.view is not None
    assert made.view.rows == ("a1",)


def test_the_extractor_reads_the_users_turns_and_the_questions_they_reply_to() -> None:
    model = Perfect()
    _attempt("Static", _episode("stale"), model)
    (read,) = model.shown
    assert "What is new with you?" in read
    assert "bees" not in read
    assert "ferries myself" not in read
    assert all(words in read for words in SLOTS)

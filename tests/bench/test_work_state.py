"""The shared work state: what is drawn from conversations, and that every method starts from the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.bench.answers_by_file import plain, sections
from tests.bench.data import SMOKE

from readmit.lab import canonical
from readmit.models import Ask, Failure, Fault, Lexical, Reply, Usage
from readmit_bench.checkpoints import work_state
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.datasets.stale_cases import read_stale
from readmit_bench.episode_runs import Roles, attempt, method_named
from readmit_bench.episodes import Case, Checkpoint, Dataset, Episode, Session, Turn
from readmit_bench.methods import MODEL_FREE, admitted
from readmit_bench.settings import MemoraSettings, Settings, StaleSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Reader:
    """An extractor that takes down what it is told to, and remembers what it was asked."""

    claims: Callable[[dict[str, str]], list[dict[str, Any]] | None] = lambda _: []
    plan: dict[str, Any] | None = None
    name: str = "reader"
    asked: list[Ask] = field(default_factory=list)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asked += asks
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Reply | Failure:
        usage = Usage(stage=ask.stage, input=10, output=5)
        claims = self.claims(sections(ask.user)) if ask.stage == "extract" else None
        said = self.plan if ask.stage == "plan" else None if claims is None else {"items": claims}
        if said is None:
            return Failure(fault=Fault.UNAVAILABLE, message="no answer", usage=usage)
        return Reply(text=json.dumps(said), usage=usage, model=self.name)


def claim(quote: str, slot: str = "a.b", operation: str = "add", **fields: Any) -> dict[str, Any]:
    return {
        "observation": 1, "turn": 0, "quote": quote, "slot": slot, "statement": f"They said: {quote}",
        "operation": operation, "premises": ["so it is"], "confidence": 0.9, **fields,
    }  # fmt: skip


def session(index: int, *turns: str) -> Session:
    said = tuple(Turn(speaker="assistant" if n % 2 else "user", text=text) for n, text in enumerate(turns))
    return Session(index=index, at="", turns=said)


HISTORY = (
    session(0, "I brew tea at five.", "Shall I note tea at five?", "Yes, and I sing bass."),
    session(1, "Lovely weather.", "Is it?"),
    session(2, "No tea any more. I brew coffee at six.", "Coffee at six, noted."),
)
EPISODE = Episode(
    id="e", benchmark="stale", tasks=("What do I brew?", "tea?", "song?"), departure=1, sessions=HISTORY
)  # fmt: skip
# One conversation a request, as the paper has it, so that a test is about that conversation alone.
WHOLE = Settings(stale=StaleSettings(extraction_sessions=1, assistant_turns="whole"))


def by_text(shown: dict[str, str]) -> list[dict[str, Any]]:
    text = shown["observation 1"]
    if "sing bass" in text:
        return [claim("I brew tea at five.", "drink.habit"), claim("I sing bass", "voice", turn=2)]
    if "coffee" in text:
        return [
            claim("I brew coffee at six.", "drink.habit", "add"),
            claim("No tea any more.", "drink.habit", "delete"),
        ]
    return []


def test_rows_are_the_users_words_with_slot_operation_and_premises() -> None:
    reader = Reader(by_text)
    made = work_state(EPISODE, WHOLE, reader)
    assert [(row.id, row.text, row.slot, row.operation, row.turn) for row in made.rows] == [
        ("s0.t1.e00", "I brew tea at five.", "drink.habit", "add", "s0.t1"),
        ("s0.t3.e00", "I sing bass", "voice", "add", "s0.t3"),
        ("s1.t1", "Lovely weather.", None, "add", None),
        ("s2.t1.e00", "No tea any more.", "drink.habit", "delete", "s2.t1"),
        ("s2.t1.e01", "I brew coffee at six.", "drink.habit", "add", "s2.t1"),
    ]
    assert [row.departure for row in made.rows] == [True, True, True, False, False]
    assert {row.source for row in made.rows} == {"user"}
    assert made.rows[0].premises == ("so it is",)
    assert [row.id for row in made.observations] == ["s0.t1", "s0.t3", "s1.t1", "s2.t1"]
    assert [sorted(ranking) for ranking in made.relevance] == [sorted(row.id for row in made.rows)] * 3
    assert len(reader.asked) == 3, "one session a request"
    assert "Shall I note tea" in reader.asked[0].user, "conversations are read whole"


def test_by_default_sessions_share_a_request_and_of_the_assistant_only_questions_are_read() -> None:
    reader = Reader(lambda _: [claim("I brew coffee at six.", observation=3)])
    made = work_state(EPISODE, Settings(), reader)
    (asked,) = reader.asked
    assert "Shall I note tea at five?" in asked.user, "the user replies to it"
    assert "Is it?" not in asked.user, "nobody replies to it"
    assert "Coffee at six, noted." not in asked.user
    assert [row.text for row in made.rows if row.turn] == ["I brew coffee at six."]


def test_what_only_the_assistant_said_is_nobodys_statement() -> None:
    def taken(shown: dict[str, str]) -> list[dict[str, Any]]:
        if "noted" not in shown["observation 1"]:
            return []
        # Both said the second, and the answer binds it to the wrong turn.
        return [claim("Coffee at six, noted.", turn=1), claim("offee at six", turn=1)]

    made = work_state(EPISODE, WHOLE, Reader(taken))
    assert [(row.id, row.text) for row in made.rows if row.turn] == [("s2.t1.e00", "offee at six")]


def test_a_session_that_could_not_be_read_keeps_its_turns() -> None:
    made = work_state(EPISODE, WHOLE, Reader(lambda shown: None if "bass" in str(shown) else by_text(shown)))
    assert [row.id for row in made.rows] == ["s0.t1", "s0.t3", "s1.t1", "s2.t1.e00", "s2.t1.e01"]


def test_a_row_is_found_by_its_statement() -> None:
    reader = Reader(
        lambda shown: [claim("I sing bass", statement="a song part", turn=2)] if "bass" in str(shown) else []
    )
    made = work_state(EPISODE, WHOLE, reader)
    assert made.relevance[2][0] == "s0.t3.e00", "the probe asks for a song"


def test_conversations_are_read_with_their_date_where_it_is_known() -> None:
    reader = Reader()
    dated = replace(EPISODE, sessions=(replace(HISTORY[0], at="2025-03-01 18:15"), replace(HISTORY[1], at="in May")))
    work_state(dated, WHOLE, reader)
    assert ["2025-03-01T18:15:00" in ask.user for ask in reader.asked] == [True, False]
    assert "in May" not in reader.asked[1].user


def test_the_end_of_what_nobody_had_stated_is_a_statement() -> None:
    def taken(shown: dict[str, str]) -> list[dict[str, Any]]:
        words = next((one for one in ("offee at six", "tea") if one in shown["observation 1"]), "")
        return [claim(words, "drink", "delete")] if words else []

    made = work_state(EPISODE, WHOLE, Reader(taken))
    assert [(row.text, row.operation) for row in made.rows if row.turn] == [("tea", "add"), ("offee at six", "delete")]


def test_ledgers_and_transactions_work_on_the_extracted_slots() -> None:
    made = work_state(EPISODE, WHOLE, Reader(by_text))
    shown = {name: set(admitted(method, made).rows) for name, method in MODEL_FREE.items()}
    old, bass, weather, new = "s0.t1.e00", "s0.t3.e00", "s1.t1", "s2.t1.e01"
    assert shown["Static"] == {old, bass, weather, new}
    assert shown["Restore"] == {old, bass, weather}
    assert shown["MemStrata"] == {bass, weather, new}
    assert shown["MemTX"] == {bass, weather, new}
    assert shown["readmit-lexical"] == {bass, weather, new}


def test_the_same_value_again_is_a_duplicate_to_one_and_agreement_to_the_other() -> None:
    twice = (session(0, "I brew tea."), session(1, "I brew tea."))
    episode = Episode(id="e", benchmark="stale", tasks=("tea?",), departure=0, sessions=twice)
    made = work_state(episode, WHOLE, Reader(lambda _: [claim("I brew tea.")]))
    assert admitted(MODEL_FREE["MemStrata"], made).rows == ("s0.t1.e00",)
    assert set(admitted(MODEL_FREE["MemTX"], made).rows) == {"s0.t1.e00", "s1.t1.e00"}


def test_without_an_extractor_rows_are_the_turns() -> None:
    made = work_state(EPISODE, WHOLE, None)
    assert [row.id for row in made.rows] == ["s0.t1", "s0.t3", "s1.t1", "s2.t1"]
    assert made.observations == ()
    assert made.heard == made.rows


MEMORA = Episode(
    id="m",
    benchmark="memora",
    tasks=("cargo?",),
    departure=50,
    sessions=tuple(session(n, f"The cargo is number {n}." if n % 2 else f"A walrus, {n}.") for n in range(1, 101)),
)
PLAN = {
    "obligations": [
        {"obligation": "answer", "needs": [{"name": "cargo", "needed": "the cargo", "critical": True, "many": False}]},
        {"obligation": "greet", "needs": [{"name": "name", "needed": "the name", "critical": False, "many": False}]},
    ],
    "queries": ["walrus", "cargo", "number"],
}


def test_memora_retrieves_with_the_question_and_the_planned_queries() -> None:
    reader = Reader(plan=PLAN)
    made = work_state(MEMORA, Settings(), reader)
    before = [row for row in made.observations if row.departure]
    after = [row for row in made.observations if not row.departure]
    assert (len(before), len(after)) == (12, 18)
    assert any("walrus" in row.text for row in before[:-2]), "the question alone would find none"
    assert len(made.relevance) == 4
    (planned,) = made.plans
    assert planned is not None
    (duty,) = planned.duties
    assert (duty.required, duty.critical) == (("cargo", "name"), ("cargo",))
    stages = [ask.stage for ask in reader.asked]
    assert stages.count("plan") == 1
    assert stages.count("extract") == 5, "thirty sessions, six a request"
    assert {ask.max_tokens for ask in reader.asked if ask.stage == "extract"} == {4096}


def test_memora_goes_on_with_the_question_alone_when_no_plan_came() -> None:
    made = work_state(MEMORA, Settings(), Reader())
    assert made.plans == (None,)
    assert len(made.relevance) == 1
    assert not any("walrus" in row.text for row in made.observations[:10])


def test_memora_selects_facts_and_keeps_the_turns_of_what_could_not_be_read() -> None:
    def taken(shown: dict[str, str]) -> list[dict[str, Any]] | None:
        first = shown["observation 1"]
        return [claim("The cargo is", turn=0)] if "cargo" in first else None if "walrus" in first else []

    made = work_state(MEMORA, Settings(memora=MemoraSettings(batch_sessions=1)), Reader(taken, PLAN))
    drawn = {row.at // 1000 % 2: row.turn is not None for row in made.rows}
    assert drawn == {1: True, 0: False}
    none = work_state(MEMORA, Settings(), Reader(plan=PLAN))
    assert none.rows == ()
    assert len(none.observations) == 30


def test_memora_confidence_is_the_selectors() -> None:
    reader = Reader(lambda _: [claim("The cargo is", confidence=0.6)], PLAN)
    assert any(row.turn for row in work_state(MEMORA, Settings(), reader).rows)
    strict = Settings(memora=MemoraSettings(selector_confidence=0.7))
    assert not any(row.turn for row in work_state(MEMORA, strict, reader).rows)


@dataclass
class Anything:
    """A model that answers every request in its form, and counts."""

    name: str = "anything"
    asked: list[Ask] = field(default_factory=list)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asked += asks
        return [
            Reply(
                text=plain(sections(ask.user), json.loads(ask.schema) if ask.schema else None),
                usage=Usage(stage=ask.stage, input=1, output=1),
                model=self.name,
            )
            for ask in asks
        ]


METHODS = (*MODEL_FREE, "trace-paper", "readmit", "trace-without-ii", "trace-without-sbpr")


@pytest.mark.parametrize("benchmark", ["stale", "memora"])
def test_every_method_starts_from_the_same_checkpoint(benchmark: str) -> None:
    read: Callable[..., Dataset[Any]] = read_stale if benchmark == "stale" else read_memora
    episode = read(SMOKE / benchmark).episodes[0]
    seen: dict[str, bytes] = {}
    extractions: dict[str, list[str]] = {}
    for name in METHODS:
        model = Anything()
        roles = Roles(extractor=model, verifier=model, embedder=Lexical())
        made = attempt(episode, method_named(name, episode.benchmark, roles, Settings()), roles, Settings())
        assert made.failure == ""
        assert isinstance(made.checkpoint, Checkpoint)
        seen[name] = canonical(made.checkpoint)
        extractions[name] = sorted(ask.digest("m") for ask in model.asked if ask.stage == "extract")
    assert len(set(seen.values())) == 1
    assert len({tuple(asked) for asked in extractions.values()}) == 1, "paid for once, and in every account"
    assert extractions["Static"]


def test_a_method_with_a_memory_of_its_own_is_not_charged_with_the_shared_one() -> None:
    episode = read_stale(SMOKE / "stale").episodes[0]
    model = Anything()
    roles = Roles(extractor=model, verifier=model, embedder=Lexical())
    made = attempt(episode, method_named("CUPMem", "stale", roles, Settings()), roles, Settings())
    assert made.failure == ""
    assert "extract" not in {ask.stage for ask in model.asked}


@pytest.mark.parametrize("benchmark", ["stale", "memora"])
def test_shuffled_labels_give_the_same_work_state_and_views_byte_for_byte(benchmark: str) -> None:
    read: Callable[..., Dataset[Any]] = read_stale if benchmark == "stale" else read_memora
    data = read(SMOKE / benchmark)
    shuffled = [Case(case.episode, data.cases[n - 1].labels) for n, case in enumerate(data.cases)]

    def made(cases: Sequence[Case[Any]]) -> list[bytes]:
        views = []
        for case in cases[:2]:
            roles = Roles(extractor=Anything(), verifier=Anything(), embedder=Lexical())
            for name in ("MemTX", "trace-paper"):
                tried = attempt(
                    case.episode, method_named(name, case.episode.benchmark, roles, Settings()), roles, Settings()
                )
                views.append(canonical(tried.view) + canonical(tried.checkpoint))
        return views

    assert made(shuffled) == made(data.cases)

"""Which pairs are judged: all of them while they are few, those of statements only, and each statement once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from readmit.inference import Inference, Settings, Signal, Turn
from readmit.models import Fault, Lexical
from tests.inference.world import SHIFT, SHOES, Ruled, away, hear, home, judgment, numbered, pairs_of, states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit import Workspace
    from readmit.models import Ask

THANKS = "Thanks, that was great!"


def inferring(workspace: Workspace, model: Ruled, **settings: object) -> Inference:
    """The product's defaults, with every model that a signal could ask."""
    chosen = Settings(**settings)  # type: ignore[arg-type]
    return Inference(
        workspace, chosen, verifier=model, implier=model, scanner=model, extractor=model, embedder=Lexical()
    )


def read(*quotes: str) -> Any:
    """An extractor that takes down these words where it finds them."""

    def answer(ask: Ask) -> str:
        items = [
            {
                "observation": 1, "turn": 0, "quote": quote, "slot": f"slot.s{n}", "statement": quote,
                "operation": "add", "premises": [], "confidence": 0.9,
            }
            for n, quote in enumerate(quotes)
            if quote in ask.user
        ]  # fmt: skip
        return json.dumps({"items": items})

    return answer


def asked(model: Ruled) -> list[Ask]:
    return [one for one in model.seen if one.stage == "verify"]


def test_every_pair_is_judged_in_one_request_and_no_signal_asks_anything() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES, "It rained.")
        model = Ruled()
        prepared = inferring(workspace, model, linking=False).prepare(agent)
        assert (prepared.open, prepared.judged, prepared.signals) == (6, 6, ())
        assert model.asked == {"verify": 1}
        (ask,) = asked(model)
        assert len(pairs_of(ask)) == 6
        assert "advice/helper" not in ask.user, "the use is no part of it"


def test_beyond_the_limit_signals_choose() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES, "It rained.")
        prepared = inferring(workspace, Ruled(), linking=False, all_pairs=5).prepare(agent)
        assert prepared.signals
        assert prepared.judged < prepared.open == 6
        assert inferring(workspace, Ruled(), linking=False, all_pairs=6).prepare(agent).signals == ()


@pytest.mark.parametrize("again", [True, False], ids=["answered when asked again", "left out twice"])
def test_a_pair_that_the_answer_leaves_out_is_asked_again_and_never_taken_for_compatible(again: bool) -> None:
    def forgetful(ask: Ask) -> str:
        said = json.loads(judgment(ask))
        kept = [one for one in said["judgments"] if "10:30" not in one["item_quote"]]
        return json.dumps(said if again and len(pairs_of(ask)) == 1 else {"judgments": kept, "untouched": []})

    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        model = Ruled(rules={"verify": forgetful})
        returned = inferring(workspace, model).come_back(agent)
        assert [len(pairs_of(ask)) for ask in asked(model)] == [2, 1], "only what was left out is asked again"
        assert states(returned)["bedtime"] == ("admitted" if again else "suspected")
        assert returned.admitted == again


@pytest.mark.parametrize(
    "untouched",
    [
        [],
        [{"statement": 1, "observations": [1, 1]}],
        [{"statement": 1, "observations": [2]}],
        [{"statement": 1, "observations": [1]}, {"statement": 1, "observations": [1]}],
    ],
)
def test_an_untouched_pair_is_named_once_or_it_is_not_judged(untouched: list[dict[str, object]]) -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        model = Ruled(rules={"verify": lambda _: json.dumps({"judgments": [], "untouched": untouched})})
        prepared = inferring(workspace, model, linking=False).prepare(agent)
        assert (prepared.judged, prepared.unanswered) == (0, 2)


def test_what_is_listed_as_untouched_is_compatible() -> None:
    def listed(ask: Ask) -> str:
        rows = [{"statement": n, "observations": list(numbered(ask, "later observations"))} for n in (1, 2)]
        return json.dumps({"judgments": [], "untouched": rows})

    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES, SHIFT)
        returned = inferring(workspace, Ruled(rules={"verify": listed})).come_back(agent)
        assert returned.admitted
        assert states(returned)["bedtime"] == "admitted"


def test_a_message_that_states_nothing_is_no_evidence_and_is_counted() -> None:
    with home() as workspace:
        agent = away(workspace)
        model = Ruled(rules={"extract": read("I bought new running shoes today")})
        inference = inferring(workspace, model, linking=False)
        shoes, thanks = hear(workspace, SHOES, THANKS)
        inference.ingest([shoes, thanks], by="A5")
        prepared = inference.prepare(agent)
        shown = {text for ask in asked(model) for text in numbered(ask, "later observations").values()}
        assert shown == {SHOES}
        assert (prepared.nothing_stated, prepared.observations, model.asked["premises"]) == (1, 1, 0)
        returned = agent.come_back()
        assert returned.decision.examination is not None
        assert (returned.decision.examination.unexamined, returned.decision.examination.nothing_stated) == (0, 1)
        assert "1 observation read, nothing stated" in returned.expose().markdown()


def test_where_explicit_operations_decide_nothing_is_asked_and_nothing_counts_as_examined() -> None:
    with home() as workspace:
        agent = away(workspace)
        model = Ruled(rules={"extract": read("I bought new running shoes today")})
        inference = inferring(workspace, model, linking=False, changes="explicit")
        (shoes,) = hear(workspace, SHOES)
        inference.ingest([shoes], by="A5")
        prepared = inference.prepare(agent)
        assert (prepared.open, prepared.judged, asked(model)) == (0, 0, [])
        assert agent.come_back().decision.examination is None, "nobody looked for implicit changes"
        hear(workspace, SHIFT)
        assert inference.prepare(agent).judged > 0, "what nobody read is asked about"


def test_what_nobody_read_and_what_is_no_message_is_evidence_as_before() -> None:
    with home() as workspace:
        agent = away(workspace)
        model = Ruled(rules={"extract": read()})
        inference = inferring(workspace, model, linking=False)
        report = workspace.observe(THANKS, by="A5", task="advice", source="tool_result")
        inference.ingest([report], by="A5")
        hear(workspace, "Nobody read this.")
        # Of this conversation the extractor is shown one turn: it has not read it whole.
        turns = [Turn("user", "Hello."), Turn("A5", "I moved.")]
        inference.converse(turns, by="A5", speakers=["user"], task="advice")
        prepared = inference.prepare(agent)
        assert (prepared.nothing_stated, prepared.observations) == (0, 3)


def test_a_reading_that_lost_a_statement_says_nothing_about_what_was_stated() -> None:
    with home() as workspace:
        agent = away(workspace)
        unfounded = {**json.loads(read(SHOES)(_Shown(SHOES)))["items"][0], "quote": "words that nobody said"}
        model = Ruled(rules={"extract": lambda _: json.dumps({"items": [unfounded]})})
        inference = inferring(workspace, model, linking=False)
        (shoes,) = hear(workspace, SHOES)
        inference.ingest([shoes], by="A5")
        assert inference.prepare(agent).nothing_stated == 0


class _Shown:
    def __init__(self, user: str) -> None:
        self.user = user


def test_of_a_long_message_the_verifier_is_shown_the_paragraphs_that_state_something() -> None:
    with home() as workspace:
        agent = away(workspace)
        model = Ruled(rules={"extract": read("I started the evening shift at the bookstore.")})
        inference = inferring(workspace, model, linking=False)
        (said,) = hear(workspace, f"{THANKS}\n\n{SHIFT}\n\nWhat would you wear?")
        inference.ingest([said], by="A5")
        inference.prepare(agent)
        assert list(numbered(asked(model)[0], "later observations").values()) == [SHIFT]


class Noting(Lexical):
    """Keeps every text that a signal reads."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def embed(self, texts: Sequence[str]) -> Any:
        self.seen.update(texts)
        return super().embed(texts)


@pytest.mark.parametrize("known", [True, False], ids=["read by an extractor", "read by nobody"])
def test_signals_read_what_the_verifier_is_shown(known: bool) -> None:
    with home() as workspace:
        agent = away(workspace)
        model, embedder = Ruled(rules={"extract": read("I started the evening shift at the bookstore.")}), Noting()
        settings = Settings(signals=(Signal.EMBEDDING, Signal.PASSAGE), all_pairs=0, linking=False)
        inference = Inference(workspace, settings, verifier=model, extractor=model, embedder=embedder)
        (said,) = hear(workspace, f"{THANKS}\n\n{SHIFT}")
        if known:
            inference.ingest([said], by="A5")
        inference.prepare(agent)
        assert any(THANKS in text for text in embedder.seen) is not known
        assert any("bookstore" in text for text in embedder.seen)


@pytest.mark.parametrize(("known", "judged"), [(True, 0), (False, 2)], ids=["its implications are known", "unknown"])
def test_the_threshold_is_that_of_what_is_known(known: bool, judged: int) -> None:
    """Of two pairs of an item neither stands out: only where a remark may be buried they are judged."""
    with home() as workspace:
        agent = away(workspace)
        model = Ruled()
        signals = (Signal.EMBEDDING, Signal.IMPLIED_FACTS) if known else (Signal.EMBEDDING,)
        settings = Settings(signals=signals, all_pairs=0, linking=False, near=-100, near_stated=100)
        hear(workspace, SHOES)
        inference = Inference(workspace, settings, verifier=model, implier=model, embedder=Lexical())
        assert inference.prepare(agent).judged == judged


def test_a_suspicion_about_a_message_without_a_statement_is_still_judged() -> None:
    from readmit import Pair

    with home() as workspace:
        agent = away(workspace)
        model = Ruled(rules={"extract": read()})
        inference = inferring(workspace, model, linking=False)
        (thanks,) = hear(workspace, THANKS)
        inference.ingest([thanks], by="A5")
        workspace.judge(Pair(item="bedtime", evidence=thanks), by="A2")
        prepared = inference.prepare(agent)
        assert [one.pair.item for one in prepared.proposed] == ["bedtime"]
        assert agent.come_back().admitted


def test_a_statement_and_its_repetitions_are_judged_once() -> None:
    """The verdict holds for those that are older than the observation; saying it again afterwards confirms it."""
    with home(critical=False) as workspace:
        agent = away(workspace)
        first = workspace.observe("The gate is locked at 10:30 p.m.", by="A1", task="advice")
        workspace.record("The gate is locked at 10:30.", id="g1", sources=[first], by="A1", task="advice")
        second = workspace.observe("As always, the gate is locked at 10:30 p.m.", by="A1", task="advice")
        workspace.record("The gate is locked at 10:30.", id="g2", sources=[second], by="A1", task="advice")
        hear(workspace, SHIFT)
        model = Ruled()
        prepared = inferring(workspace, model, linking=False, since="departure").prepare(agent)
        about = [one.pair.item for one in prepared.proposed if one.pair.item.startswith("g")]
        # The first is held against its own repetition's evidence, and the shift is judged beside the second alone.
        assert sorted(about) == ["g1", "g2"]
        found = states(agent.come_back())
        assert (found["g1"], found["g2"]) == ("premise_changed", "premise_changed")
        third = workspace.observe("From May on the gate is locked at 10:30 p.m. again.", by="A1", task="advice")
        workspace.record("The gate is locked at 10:30.", id="g3", sources=[third], by="A1", task="advice")
        again = inferring(workspace, model, linking=False, since="departure").prepare(agent)
        assert not any(one.pair.item == "g3" for one in again.proposed), "nothing is later than it"
        found = states(agent.come_back())
        assert found["g2"] == "premise_changed"
        assert found["g3"] not in {"premise_changed", "suspected"}


def test_a_failed_request_loses_no_pair_of_it() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        returned = inferring(workspace, Ruled(broken={"verify": Fault.TIMEOUT})).come_back(agent)
        assert (states(returned)["bedtime"], returned.kind) == ("suspected", "blocked")

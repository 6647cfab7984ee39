"""From a planned task and a conversation to a view, without a hand-written link between the two."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Pair, Reason, Workspace
from readmit.cli.model_use.model_options import prepared_lines
from readmit.errors import ModelError, PendingAnswers
from readmit.events import EventKind
from readmit.inference import Inference, Prepared, RequestBudgets, Settings, Turn
from readmit.lab import Link, as_readmit, decode, digest
from readmit.models import Batch, Fault, Lexical, batch_status
from readmit.models.batch import unanswered_requests
from readmit.policies import Policy
from readmit.records.identity import own_id
from readmit.types import Obligation
from tests.inference.test_batch import answered
from tests.inference.test_ingesting import claim
from tests.inference.world import STRUCTURE, Ruled, scored, texts_of, ticking

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit import Agent
    from readmit.models import Ask

NEEDS = [
    {"name": "lodging.place", "needed": "Where the group sleeps on Friday.", "critical": True, "many": False},
    {"name": "train.time", "needed": "When the train leaves.", "critical": False, "many": False},
]
SUNRISE = "Two rooms are reserved at the Sunrise Inn."
TRAIN = "The train leaves at nine."
DOG = "My dog is called Rex."
INSTEAD = "The Riverside takes us in instead"
FLOODED = f"The Sunrise Inn is flooded. {INSTEAD}."
BOOKED = SUNRISE
ITEMS = [
    claim(BOOKED, BOOKED, "inn.reservation"),
    claim("The train leaves at nine", "The train leaves at nine.", "departure.hour", turn=1),
    claim("My dog is called Rex", "The dog is called Rex.", "pet.name", turn=2),
]
MEANT = {"sleeps": ("Sunrise", "Riverside"), "train leaves": ("train leaves",)}
"""Words of a need, and of the statements that meet it."""


def numbered(text: str) -> dict[int, str]:
    return {int(number): line for number, line in re.findall(r"^(\d+): (.*)$", text, re.MULTILINE)}


def perfect(ask: Ask) -> str:
    needs, statements = (numbered(texts_of(ask)[label]) for label in ("needs", "statements"))
    return json.dumps(
        {
            "links": [
                {"need": need, "statement": at, "quote": next(word for word in words if word in text)}
                for need, wanted in needs.items()
                for key, words in MEANT.items()
                for at, text in statements.items()
                if key in wanted and any(word in text for word in words)
            ]
        }
    )


def verdict(ask: Ask) -> str:
    return scored(
        ask,
        lambda old, new: 0.9 if "Sunrise" in old and "flooded" in new else 0.1,
        evidence_quote=lambda _, new: INSTEAD if "flooded" in new else new,
    )


def answering(**rules: Callable[[Ask], str]) -> Ruled:
    """Every role with perfect answers."""
    plan = {
        "obligations": [{"obligation": "Inform everyone how the trip begins.", "needs": NEEDS}],
        "queries": ["inn", "train", "rooms"],
    }

    def extracted(ask: Ask) -> str:
        text = " ".join(texts_of(ask).values())
        return json.dumps({"items": [one for one in ITEMS if str(one["quote"]) in text]})

    ordinary = {"plan": lambda _: json.dumps(plan), "extract": extracted, "verify": verdict, "link": perfect}
    return Ruled(rules={**ordinary, **rules})


def opened(model: Ruled, *, linker: bool = True, policy: dict[str, Any] | None = None, **settings: Any) -> Inference:
    workspace = Workspace.open(clock=ticking(), policy=Policy(**policy or {}))
    return Inference(
        workspace,
        Settings(**{"signals": STRUCTURE, "all_pairs": 0, "near": -100, **settings}),
        verifier=model,
        planner=model,
        extractor=model,
        linker=model if linker else None,
        embedder=Lexical(),
    )


def begun(inference: Inference) -> Agent:
    """A task, a conversation, and an agent that has left."""
    inference.plan("Inform everyone how the trip begins.", by="A1", role="planner", task="trip")
    inference.converse([Turn("user", SUNRISE), Turn("user", TRAIN), Turn("user", DOG)], by="A2", task="trip")
    agent = inference.workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    return agent


def links(workspace: Workspace) -> dict[tuple[str, str], Link]:
    """Every link on the log, by need and text."""
    events = [event for event in workspace._desk.log.tail() if event.kind is EventKind.LINK]
    assert {event.by for event in events} <= {"readmit", "A1"}
    found = [event.payload for event in events if isinstance(event.payload, Link)]
    return {(one.need, workspace._desk.log.item(one.item).text): one for one in found}


def suspected(workspace: Workspace, inference: Inference, agent: Agent) -> None:
    """The observation reaches the verifier whatever the signals say."""
    seen = workspace.observe(FLOODED, by="A2", task="trip")
    held = {workspace._desk.log.item(item.item).text: item.item for item in agent.come_back().dispositions}
    workspace.judge(Pair(item=held[BOOKED], evidence=seen), by="A2")


def test_plan_converse_and_come_back_end_in_a_view() -> None:
    model = answering()
    inference = opened(model)
    agent = begun(inference)
    returned = inference.come_back(agent)
    assert (returned.kind, returned.missing) == ("admitted", ())
    assert {BOOKED, TRAIN} <= {item.text for item in returned.expose().items}
    found = links(inference.workspace)
    assert set(found) == {("lodging.place", BOOKED), ("train.time", TRAIN)}
    link = found["lodging.place", BOOKED]
    assert (link.drafted, link.quote) == ("ruled/link@1", "Sunrise")
    assert inference.workspace.returned(returned.id).replay().matches


def test_a_duty_that_was_planned_says_so_and_keeps_its_needs_in_words() -> None:
    model = answering()
    inference = opened(model)
    begun(inference)
    (duty,) = inference.plan("Inform everyone how the trip begins.", by="A1", role="planner", task="trip").obligations
    drafted = inference.workspace._desk.log.item(duty).drafted
    assert drafted is not None
    assert drafted.model == "ruled/plan@2"


def test_one_request_shows_needs_in_words_and_a_second_return_asks_nothing() -> None:
    model = answering()
    inference = opened(model)
    agent = begun(inference)
    first = inference.prepare(agent)
    (ask,) = [ask for ask in model.seen if ask.stage == "link"]
    assert numbered(texts_of(ask)["needs"]) == {
        1: "lodging place. Where the group sleeps on Friday.",
        2: "train time. When the train leaves.",
    }
    assert (first.links, first.links_dropped, first.unmet) == (2, 0, ())
    assert {one.stage: one.calls for one in first.usage}["link"] == 1
    head = inference.workspace.epoch
    again = inference.prepare(agent)
    assert (again.links, model.asked["link"], inference.workspace.epoch) == (0, 1, head)


def test_what_was_asked_once_is_not_asked_again_though_the_need_is_still_open() -> None:
    model = answering(link=lambda _: json.dumps({"links": []}))
    inference = opened(model)
    agent = begun(inference)
    assert inference.prepare(agent).unmet == ("lodging.place", "train.time")
    inference.prepare(agent)
    assert model.asked["link"] == 1
    # A new statement is asked about, and nothing else.
    said = inference.workspace.observe("It rains.", by="A2", task="trip")
    inference.workspace.record("It rains.", sources=[said], by="A2", task="trip")
    inference.prepare(agent)
    assert model.asked["link"] == 2
    assert numbered(texts_of(model.seen[-1])["statements"]) == {1: "It rains."}


@pytest.mark.parametrize(
    "nonsense",
    [
        '{"links": [{"need": 1, "statement": 1, "quote": "the Grand Hotel"}]}',
        '{"links": [{"need": 7, "statement": 1, "quote": "Sunrise"}]}',
        '{"links": [{"need": 1, "statement": 99, "quote": "Sunrise"}]}',
        '{"links": [{"need": "all", "statement": "all", "quote": ""}]}',
        "Everything is evidence for everything.",
        "",
    ],
)
def test_a_linker_that_answers_nonsense_links_nothing(nonsense: str) -> None:
    inference = opened(answering(link=lambda _: nonsense))
    prepared = inference.prepare(begun(inference))
    assert (prepared.links, links(inference.workspace)) == (0, {})
    assert prepared.unmet == ("lodging.place", "train.time")
    assert prepared.links_dropped or prepared.faults[0].startswith("link: ")


def test_a_linker_that_fails_is_reported_and_asked_again() -> None:
    model = answering()
    model.broken["link"] = Fault.TIMEOUT
    inference = opened(model)
    agent = begun(inference)
    prepared = inference.prepare(agent)
    assert prepared.faults == ("link: as scripted",)
    assert prepared.unlinked == ("lodging.place", "train.time")
    # A failed link does not make the need an open question, which would not block.
    refused = inference.come_back(agent)
    assert (refused.kind, refused.reasons) == ("blocked", (Reason.INTERNAL_ERROR,))
    del model.broken["link"]
    assert inference.prepare(agent).links == 2
    assert inference.come_back(agent).admitted


def test_a_linker_that_links_everything_is_held_to_the_limit() -> None:
    def all_of_it(ask: Ask) -> str:
        needs, statements = (numbered(texts_of(ask)[label]) for label in ("needs", "statements"))
        ties = [{"need": need, "statement": at, "quote": text} for need in needs for at, text in statements.items()]
        return json.dumps({"links": ties})

    inference = opened(answering(link=all_of_it), links_per_need=2)
    assert inference.prepare(begun(inference)).links == 4


def test_names_and_slots_meet_without_a_model() -> None:
    model = answering()
    inference = opened(model, linker=False)
    workspace = inference.workspace
    workspace.oblige("Travel.", id="o", required=["train_time"], by="A1", task="trip")
    said = workspace.observe(TRAIN, by="A2", task="trip")
    workspace.record(TRAIN, id="first", slot="train.time", sources=[said], by="A2", task="trip")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    assert inference.prepare(agent).links == 1
    later = workspace.observe("The train leaves at ten.", by="A2", task="trip")
    workspace.record("The train leaves at ten.", id="second", slot="train.time", sources=[later], by="A2", task="trip")
    assert inference.prepare(agent).links == 1
    assert {text: one.drafted for (_, text), one in links(workspace).items()} == {
        TRAIN: "name",
        "The train leaves at ten.": "name",
    }


def test_what_takes_a_slot_meets_what_its_predecessor_was_linked_to() -> None:
    model = answering()
    inference = opened(model)
    agent = begun(inference)
    inference.prepare(agent)
    workspace = inference.workspace
    later = workspace.observe("The train leaves at ten.", by="A2", task="trip")
    ten = workspace.record("Ten it is.", slot="departure.hour", sources=[later], by="A2", task="trip")
    inference.prepare(agent)
    assert links(workspace)["train.time", "Ten it is."] == Link(item=ten, need="train.time", drafted="slot")
    assert model.asked["link"] == 1


def test_without_a_linker_planned_needs_are_met_by_nearness_and_those_of_people_are_not() -> None:
    inference = opened(answering(), linker=False)
    workspace = inference.workspace
    workspace.oblige("Say when the train leaves.", id="o", required=["d_train"], by="A1", task="trip")
    agent = begun(inference)
    prepared = inference.prepare(agent)
    found = {key: one.drafted for key, one in links(workspace).items()}
    assert found["train.time", TRAIN] == "nearness"
    assert {need for need, _ in found} <= {"train.time", "lodging.place"}
    assert "The dog is called Rex." not in {text for _, text in found}
    assert "d_train" in prepared.unmet


def test_a_second_choice_does_not_take_the_place_of_the_nearest_and_news_may() -> None:
    inference = opened(answering(), linker=False, links_per_need=1)
    workspace = inference.workspace
    agent = begun(inference)

    def recorded(text: str) -> str:
        said = workspace.observe(text, by="A2", task="trip")
        return workspace.record(text, sources=[said], by="A2", task="trip")

    second = "When the other train leaves is on the board."
    recorded(second)
    inference.prepare(agent)
    (first,) = (one.item for (need, _), one in links(workspace).items() if need == "train.time")
    workspace.revoke(first, by="A2")
    known = set(links(workspace))
    inference.prepare(agent)
    assert set(links(workspace)) == known
    recorded("The train leaves at time of ten.")
    inference.prepare(agent)
    assert set(links(workspace)) == {*known, ("train.time", "The train leaves at time of ten.")}


@pytest.mark.parametrize("critical", [True, False])
def test_a_critical_need_of_a_person_is_never_put_to_a_model(critical: bool) -> None:
    model = answering()
    inference = opened(model)
    workspace = inference.workspace
    workspace.oblige(
        "Say where everyone sleeps.", id="o", required=["d_bed"], critical=["d_bed"] if critical else [], by="A1",
        task="trip",
    )  # fmt: skip
    said = workspace.observe(SUNRISE, by="A2", task="trip")
    workspace.record(BOOKED, id="inn", sources=[said], by="A2", task="trip")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    prepared = inference.prepare(agent)
    assert (prepared.links, prepared.unmet, model.asked["link"]) == ((0, ("d_bed",), 0) if critical else (1, (), 1))


def test_a_link_that_a_person_withdrew_is_not_drawn_again() -> None:
    inference = opened(answering())
    workspace = inference.workspace
    agent = begun(inference)
    inference.prepare(agent)
    inn = links(workspace)["lodging.place", BOOKED].item
    workspace.link(inn, "lodging.place", by="A1", withdrawn=True)
    again = inference.prepare(agent)
    assert (again.links, again.unmet) == (0, ("lodging.place",))
    assert links(workspace)["lodging.place", BOOKED].withdrawn


@pytest.mark.parametrize("off", [{"linking": False}, {"policy": {"evidence": {"drafts": "refuse"}}}])
def test_it_can_be_left_out(off: dict[str, Any]) -> None:
    model = answering()
    inference = opened(model, **off)
    agent = begun(inference)
    suspected(inference.workspace, inference, agent)
    prepared = inference.prepare(agent)
    assert (prepared.links, prepared.replacements, model.asked["link"]) == (0, (), 0)


def needing_the_inn(inference: Inference, observed: str = FLOODED) -> Agent:
    """A person's critical need, met by a statement that an observation has put in doubt since."""
    workspace = inference.workspace
    said = workspace.observe(SUNRISE, by="A2", task="trip")
    workspace.record(BOOKED, id="inn", sources=[said], by="A2", supports=["d_bed"], task="trip")
    workspace.oblige("Check in.", id="o", required=["d_bed"], critical=["d_bed"], by="A1", task="trip")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    workspace.judge(Pair(item="inn", evidence=workspace.observe(observed, by="A2", task="trip")), by="A2")
    return agent


@pytest.mark.parametrize(
    ("options", "drafted"), [({}, 1), ({"linking": False}, 0), ({"policy": {"evidence": {"drafts": "refuse"}}}, 0)]
)
def test_where_drafts_are_refused_nothing_takes_a_place(options: dict[str, Any], drafted: int) -> None:
    inference = opened(answering(), **options)
    prepared = inference.prepare(needing_the_inn(inference))
    assert (prepared.invalidated, len(prepared.replacements)) == (("inn",), drafted)


def test_an_item_that_is_linked_to_a_critical_need_is_critical_in_the_same_preparation() -> None:
    model = answering()
    model.broken["implied"] = Fault.UNAVAILABLE
    inference = opened(model, signals=("implied_facts",))
    inference.team.implier = model
    agent = begun(inference)
    inference.workspace.observe("The Sunrise Inn has a new sign.", by="A2", task="trip")
    prepared = inference.prepare(agent)
    # Of what the failed answer hid, the pair of what the critical need rests on is a suspicion now.
    assert len(prepared.unseen) > 1
    assert prepared.suspected == 1


def test_a_need_whose_evidence_is_only_suspected_is_met_until_the_verifier_has_spoken() -> None:
    inference = opened(answering())
    workspace = inference.workspace
    agent = begun(inference)
    inference.prepare(agent)
    inn = links(workspace)["lodging.place", BOOKED].item
    workspace.judge(Pair(item=inn, evidence=workspace.observe("It rains.", by="A2", task="trip")), by="A2")
    again = inference.prepare(agent)
    assert (again.judged, again.invalidated, again.unmet) == (1, (), ())


def test_links_alone_are_worth_an_audit_row() -> None:
    inference = opened(answering(), linker=False)
    workspace = inference.workspace
    workspace.oblige("Travel.", id="o", required=["train_time"], by="A1", task="trip")
    said = workspace.observe(TRAIN, by="A2", task="trip")
    workspace.record(TRAIN, slot="train.time", sources=[said], by="A2", task="trip")
    workspace.agent("A1", role="planner", task="trip").depart()
    watch = inference.watch()
    for _ in range(3):
        watch.look()
    assert [row.kind for row in workspace._desk.log.audit.rows()].count("inference") == 1


def test_what_took_the_place_of_a_needed_item_is_drafted_and_linked() -> None:
    model = answering()
    inference = opened(model)
    workspace = inference.workspace
    agent = begun(inference)
    suspected(workspace, inference, agent)
    prepared = inference.prepare(agent)
    (name,) = prepared.replacements
    item = workspace._desk.log.item(name)
    fallen = links(workspace)["lodging.place", BOOKED].item
    assert prepared.invalidated == (fallen,)
    assert (item.text, item.by, item.slot, item.supports) == (INSTEAD, "A2", None, ())
    assert item.scope.task == "trip"
    assert item.drafted is not None
    assert (item.drafted.instead_of, item.drafted.quote) == (fallen, f"{item.text}.")
    assert item.drafted.model.startswith("ruled/verify")
    assert links(workspace)["lodging.place", item.text].drafted == "ruled/link@1"
    returned = inference.come_back(agent)
    assert returned.admitted
    assert item.text in {one.text for one in returned.expose().items}
    # Once: another look drafts, links and asks nothing.
    assert inference.prepare(agent).replacements == ()


def test_what_already_says_it_is_not_drafted_again() -> None:
    """An item drawn from the same observation meets the need: the view says what is true now."""
    inference = opened(answering())
    workspace = inference.workspace
    agent = begun(inference)
    suspected(workspace, inference, agent)
    seen = next(event.digest for event in workspace._desk.log.tail() if FLOODED in str(event.payload))
    workspace.record("The Riverside takes the group in.", id="river", sources=[seen], by="A2", task="trip")
    prepared = inference.prepare(agent)
    assert (len(prepared.invalidated), prepared.replacements) == (1, ())
    assert links(workspace)["lodging.place", "The Riverside takes the group in."].item == "river"


@pytest.mark.parametrize(
    ("observed", "quote", "drafted"),
    [
        ("The inn is flooded. We will not sleep at the Riverside.", "sleep at the Riverside", "We will not sleep at"),
        ("The inn is flooded. Shall we sleep at the Riverside?", "sleep at the Riverside", None),
    ],
)
def test_words_that_would_say_something_else_alone_come_whole_or_not_at_all(
    observed: str, quote: str, drafted: str | None
) -> None:
    inference = opened(answering(verify=lambda ask: scored(ask, lambda *_: 0.9, evidence_quote=quote)))
    workspace = inference.workspace
    agent = needing_the_inn(inference, observed)
    prepared = inference.prepare(agent)
    texts = [workspace._desk.log.item(name).text for name in prepared.replacements]
    assert prepared.invalidated == ("inn",)
    assert [text.startswith(drafted or "?") for text in texts] == ([] if drafted is None else [True])


def test_a_replacement_does_not_stand_in_for_what_a_person_called_critical() -> None:
    model = answering()
    inference = opened(model, policy={"returns": {"fill": "always"}})
    workspace = inference.workspace
    agent = needing_the_inn(inference)
    reported: list[Any] = []
    returned = inference.come_back(agent, report=reported.append)
    assert (returned.kind, returned.missing) == ("blocked", ("d_bed",))
    (name,) = reported[0].replacements
    assert workspace._desk.log.item(name).text == INSTEAD
    assert links(workspace) == {}
    assert model.asked["link"] == 0


def test_a_replacement_that_is_replaced_itself_ends() -> None:
    """Each observation says something else about the inn; the last one is what is true."""
    names = ["Sunrise", "Riverside", "Lakeside", "Hillside", "Parkside", "Roadside"]

    def changed(ask: Ask) -> str:
        return scored(
            ask,
            lambda old, new: 0.9 if any(name in old and f"not {name}" in new for name in names) else 0.1,
            evidence_quote=lambda _, new: new.split(". ")[0],
        )

    model = answering(verify=changed)
    inference = opened(model, signals=("embedding",))
    workspace = inference.workspace
    said = workspace.observe(SUNRISE, by="A2", task="trip")
    workspace.record(BOOKED, id="inn", sources=[said], by="A2", supports=["d_bed"], task="trip")
    workspace.oblige("Check in.", id="o", required=["d_bed"], critical=["d_bed"], by="A1", task="trip")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    for before, after in pairwise(names):
        workspace.observe(f"We stay at the {after}. It is not {before}.", by="A2", task="trip")
    prepared = inference.prepare(agent)
    texts = [workspace._desk.log.item(name).text for name in prepared.replacements]
    assert texts == [f"We stay at the {name}" for name in names[1:]]
    assert prepared.invalidated[0] == "inn"
    assert len(prepared.invalidated) == 5
    assert inference.prepare(agent).replacements == ()


def test_many_statements_are_put_to_the_linker_by_nearness() -> None:
    model = answering()
    inference = opened(model)
    workspace = inference.workspace
    agent = begun(inference)
    said = workspace.observe("A long list.", by="A2", task="trip")
    for number in range(60):
        workspace.record(f"Remark {number} about nothing much.", sources=[said], by="A2", task="trip")
    assert inference.prepare(agent).links == 2
    (ask,) = [ask for ask in model.seen if ask.stage == "link"]
    assert len(numbered(texts_of(ask)["statements"])) <= 24


def test_requests_are_as_long_as_the_settings_say() -> None:
    model = answering()
    inference = opened(model, budgets=RequestBudgets(link_tokens=77, link_chars=120))
    assert inference.prepare(begun(inference)).links == 2
    asks = [ask for ask in model.seen if ask.stage == "link"]
    assert len(asks) > 1
    assert {ask.max_tokens for ask in asks} == {77}


def test_an_item_that_stood_at_departure_is_linked_though_it_has_fallen() -> None:
    """So that a need which has lost its support can be distinguished from one that nobody ever met."""
    inference = opened(answering())
    workspace = inference.workspace
    agent = begun(inference)
    inn = next(one.item for one in agent.come_back().dispositions if workspace._desk.log.item(one.item).text == BOOKED)
    workspace.revoke(inn, by="A2")
    prepared = inference.prepare(agent)
    assert links(workspace)["lodging.place", BOOKED].item == inn
    assert prepared.unmet == ("lodging.place",)


def test_another_process_that_drew_the_same_link_was_first() -> None:
    inference = opened(answering())
    workspace = inference.workspace
    agent = begun(inference)
    inn = next(one.item for one in agent.come_back().dispositions if workspace._desk.log.item(one.item).text == BOOKED)
    drafted = "ruled/link@1"
    theirs = Link(item=inn, need="lodging.place", quote="rooms", drafted=drafted)
    name = own_id("readmit", digest((inn, "lodging.place", drafted)))

    def meanwhile(ask: Ask) -> str:
        as_readmit(workspace)._desk.writer.write(EventKind.LINK, theirs, id=name)
        return perfect(ask)

    inference.team.linker.rules["link"] = meanwhile  # type: ignore[union-attr]
    assert inference.prepare(agent).links == 1
    assert links(workspace)["lodging.place", BOOKED].quote == "rooms"


def test_a_linker_that_answers_by_file_resumes_where_it_stopped(tmp_path: Path) -> None:
    directory = tmp_path / "answers"
    inference = opened(answering())
    agent = begun(inference)
    suspected(inference.workspace, inference, agent)
    head = inference.workspace.epoch
    away = Batch(directory, "strong")
    inference.team.linker = inference.team.verifier = away
    # The needs and the pair go out together, and nothing is written before they are answered.
    with pytest.raises(PendingAnswers, match=r"^2 requests wait"):
        inference.come_back(agent)
    assert inference.workspace.epoch == head
    # Then what took its place beside the need that has lost its support.
    for round_ in (1, 2):
        answered(directory, round_, model=answering())
        if round_ == 1:
            with pytest.raises(PendingAnswers, match=r"^1 request wait"):
                inference.come_back(agent)
    returned = inference.come_back(agent)
    assert returned.admitted
    assert INSTEAD in {item.text for item in returned.expose().items}
    assert batch_status(directory).requests == 3
    # The audit shows what was found before the last answers were awaited, and what came of them.
    bodies = [row.body for row in inference.workspace._desk.log.audit.rows() if row.kind == "inference"]
    found, linked = (decode(body, Prepared, what="row") for body in bodies)
    assert (len(found.invalidated), len(found.replacements), found.links) == (1, 1, 2)
    assert (linked.invalidated, linked.replacements, linked.links) == ((), (), 1)


def test_what_signals_and_linker_ask_goes_out_in_one_round(tmp_path: Path) -> None:
    away = Batch(tmp_path / "answers", "strong")
    inference = opened(answering(), signals=("implied_facts",))
    agent = begun(inference)
    inference.workspace.observe(FLOODED, by="A2", task="trip")
    inference.team.linker = inference.team.implier = away
    with pytest.raises(PendingAnswers):
        inference.come_back(agent)
    asked = [
        json.loads(line)["body"]["response_format"]["json_schema"]["name"]
        for line in unanswered_requests(away.directory)
    ]
    assert {name.partition("-")[0] for name in asked} == {"link", "implied"}


def test_what_linker_and_verifier_ask_goes_out_in_one_round(tmp_path: Path) -> None:
    away = Batch(tmp_path / "answers", "strong")
    inference = opened(answering(), all_pairs=400)
    agent = begun(inference)
    inference.workspace.observe(FLOODED, by="A2", task="trip")
    inference.team.linker = inference.team.verifier = away
    with pytest.raises(PendingAnswers):
        inference.come_back(agent)
    asked = [
        json.loads(line)["body"]["response_format"]["json_schema"]["name"]
        for line in unanswered_requests(away.directory)
    ]
    assert sorted(name.partition("-")[0] for name in asked) == ["link", "verify"]


def test_the_command_line_says_what_was_linked_and_what_took_a_place() -> None:
    inference = opened(answering())
    agent = begun(inference)
    suspected(inference.workspace, inference, agent)
    prepared = inference.prepare(agent)
    said = list(prepared_lines(prepared))
    assert f"  says what is true instead: {prepared.replacements[0]}" in said
    assert "  3 links between needs and items, 0 dropped" in said
    assert any(line.startswith("  link: 2 calls") for line in said)
    silent = opened(answering(link=lambda _: json.dumps({"links": []})))
    assert "  nothing meets: lodging.place" in prepared_lines(silent.prepare(begun(silent)))


def test_a_watch_draws_the_same_links_and_comes_to_rest() -> None:
    inference = opened(answering())
    begun(inference)
    watch = inference.watch()
    assert watch.look().prepared[0].links == 2
    assert watch.look().prepared[0].links == 0
    assert watch.look().prepared == ()


def test_what_is_no_evidence_may_be_suspected_too() -> None:
    inference = opened(answering())
    workspace = inference.workspace
    agent = begun(inference)
    (duty,) = (one.payload.id for one in workspace._desk.log.tail() if isinstance(one.payload, Obligation))
    workspace.judge(Pair(item=duty, evidence=workspace.observe("It rains.", by="A2", task="trip")), by="A2")
    assert inference.prepare(agent).links == 2


def test_the_linker_opens_from_a_line() -> None:
    with pytest.raises(ModelError, match="must begin with one of"):
        Inference(Workspace.open(), linker="gpt")

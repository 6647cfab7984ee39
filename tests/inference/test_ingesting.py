from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import ModelError
from readmit.inference import Inference, Settings, Turn
from readmit.inference.derive import maker, source_of
from readmit.models import Fault, Lexical
from readmit.models.stages.extract import PROMPT
from readmit.models.stages.imply import PREMISES
from readmit.types import Drafted
from tests.inference.world import Ruled, scored, states, texts_of, ticking

if TYPE_CHECKING:
    from readmit.models import Ask


def claim(quote: str, statement: str, slot: str, **more: object) -> dict[str, object]:
    fields = {"observation": 1, "turn": 0, "quote": quote, "slot": slot, "statement": statement}
    return {**fields, "operation": "add", "premises": ["p: holds"], "confidence": 0.9, **more}


def reader(*claims: dict[str, object]) -> Ruled:
    """Takes down those claims whose quote is in what it reads; ``invented`` always."""

    def read(ask: Ask) -> str:
        (text,) = texts_of(ask).values()
        return json.dumps({"items": [one for one in claims if str(one["quote"]) in text or one["slot"] == "invented"]})

    return Ruled(name="reader", rules={"extract": read})


HOTEL = claim("Sunrise confirms two nights", "Sunrise is booked for two nights.", "hotel.booking")
MOVED = claim("Riverside took over", "Riverside is booked instead.", "hotel.booking", operation="update")
INVENTED = claim("nobody said this", "The moon is booked.", "invented")


def space(model: Ruled) -> tuple[Workspace, Inference]:
    workspace = Workspace.open(clock=ticking())
    return workspace, Inference(workspace, verifier=model, extractor=model, embedder=Lexical())


def test_statements_are_recorded_with_receipts_and_what_has_no_quote_is_dropped_and_counted() -> None:
    model = reader(HOTEL, INVENTED)
    workspace, inference = space(model)
    said = workspace.observe("Sunrise confirms two nights.", by="A2", task="trip", roles=["planner"])
    (one,) = inference.ingest([said], by="A2", supports={"hotel.booking": ["d_h"]})
    assert one.dropped == {"quote_not_found": 1}
    (name,) = one.items
    item = workspace._desk.log.item(name)
    # The quote does not say "booked": it stands in the place of the statement.
    assert (item.text, item.slot, item.by, item.supports) == (HOTEL["quote"], "hotel.booking", "A2", ("d_h",))
    assert item.drafted == Drafted(model=f"reader/{PROMPT}", quote="Sunrise confirms two nights.")
    assert one.quoted == 1
    assert [receipt.evidence for receipt in item.receipts] == [said]
    # Only those who may see the evidence may see the item.
    assert (item.scope.task, item.scope.roles) == ("trip", ("planner",))
    assert workspace._desk.log.derived.read(PREMISES.stored, maker("reader", PROMPT), [source_of(item.text)])


def test_extracting_again_changes_and_costs_nothing() -> None:
    model = reader(HOTEL)
    workspace, inference = space(model)
    said = workspace.observe("Sunrise confirms two nights.", by="A2")
    first = inference.ingest([said], by="A2")
    head = workspace.epoch
    assert inference.ingest([said], by="A2") == first
    assert (workspace.epoch, model.asked["extract"]) == (head, 1)
    assert [(stage.stage, stage.calls) for stage in inference.usage()] == [("extract", 1)]


def test_premises_that_came_with_an_item_are_not_asked_for() -> None:
    model = reader(HOTEL)
    workspace = Workspace.open(clock=ticking())
    inference = Inference(
        workspace,
        Settings(all_pairs=0, near=-100, near_stated=-100),
        verifier=model,
        extractor=model,
        implier=model,
        embedder=Lexical(),
    )
    model.rules["verify"] = lambda ask: scored(ask, lambda *_: 0.1)
    inference.ingest([workspace.observe("Sunrise confirms two nights.", by="A2")], by="A2")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    workspace.observe("It rained.", by="A3")
    inference.prepare(agent)
    assert (model.asked["premises"], model.asked["implied"]) == (0, 1)
    assert "Sunrise confirms two nights" in model.seen[-1].user


def test_what_items_were_drawn_from_implies_what_they_state() -> None:
    model = reader(HOTEL)
    workspace = Workspace.open(clock=ticking())
    inference = Inference(
        workspace,
        Settings(all_pairs=0, near=-100, near_stated=-100),
        verifier=model,
        extractor=model,
        implier=model,
        embedder=Lexical(),
    )
    workspace.record(
        "The bus stops there.", id="bus", sources=[workspace.observe("The bus stops there.", by="A2")], by="A2"
    )
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    inference.ingest([workspace.observe("Sunrise confirms two nights.", by="A2")], by="A2")
    assert inference.prepare(agent).open
    assert (model.asked["premises"], model.asked["implied"]) == (1, 0)


def read_in_order(*claims: dict[str, object], by: tuple[str, ...] = ()) -> dict[str, str]:
    """Ingest the quote of each claim as a conversation of its own, and say how each statement stands."""
    workspace, inference = space(reader(*claims))
    for number, one in enumerate(claims):
        said = workspace.observe(f"{one['quote']}.", by="A2")
        inference.ingest([said], by=by[number] if by else "A2")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    return {workspace._desk.log.item(item).text: state for item, state in states(agent.come_back()).items()}


def test_two_drafts_in_one_slot_stand_side_by_side() -> None:
    lisbon = claim("I like Lisbon in March", "The user likes Lisbon in March.", "travel.preference")
    alps = claim("I am keen on the Alps", "The user is keen on the Alps.", "travel.preference", operation="update")
    assert set(read_in_order(lisbon, alps).values()) == {"admitted"}


def test_an_update_takes_the_place_of_what_it_names_and_of_nothing_else() -> None:
    lisbon = claim("I like Lisbon in March", "I like Lisbon in March.", "travel.preference")
    porto = claim("I like Porto", "I like Porto.", "travel.preference")
    moved = claim("I no longer like Lisbon", "I no longer like Lisbon.", "travel.preference", operation="delete")
    assert read_in_order(lisbon, porto, moved) == {
        "I like Lisbon in March.": "superseded",
        "I like Porto.": "admitted",
        "I no longer like Lisbon.": "admitted",
    }
    added = {**moved, "operation": "add"}
    assert set(read_in_order(lisbon, porto, added).values()) == {"admitted"}
    # Nobody ends by a model's reading what somebody else recorded: that is for the verifier.
    assert set(read_in_order(lisbon, moved, by=("A2", "A3")).values()) == {"admitted"}


def test_a_draft_competes_with_what_a_person_recorded() -> None:
    workspace, inference = space(reader(HOTEL, MOVED))
    old = workspace.observe("Sunrise confirms two nights.", by="A2")
    new = workspace.observe("Riverside took over.", by="A2")
    inference.ingest([old], by="A2")
    workspace.record("Riverside is booked.", id="r", slot="hotel.booking", sources=[new], by="A2")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    found = {workspace._desk.log.item(item).text: state for item, state in states(agent.come_back()).items()}
    assert found == {"Riverside is booked.": "admitted", "Sunrise confirms two nights": "superseded"}


def test_the_later_conversation_keeps_a_persons_slot_whatever_the_order_of_extraction() -> None:
    workspace, inference = space(reader(HOTEL, MOVED))
    old = workspace.observe("Sunrise confirms two nights.", by="A2")
    new = workspace.observe("Riverside took over.", by="A2")
    (one,) = inference.ingest([new], by="A2")
    workspace.confirm(one.items[0], by="A3")
    inference.ingest([old], by="A2")
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    found = {workspace._desk.log.item(item).text: state for item, state in states(agent.come_back()).items()}
    assert found == {"Riverside took over": "admitted", "Sunrise confirms two nights": "superseded"}


def test_a_conversation_is_evidence_whole_and_read_in_part() -> None:
    model = reader(HOTEL)
    workspace, inference = space(model)
    turns = (Turn("user", "Sunrise confirms two nights."), Turn("assistant", "A very long suggestion."))
    one = inference.converse(turns, by="A2", speakers=("user",), task="trip")
    assert len(one.items) == 1
    assert "very long suggestion" not in model.seen[0].user
    assert "very long suggestion" in workspace._desk.log.sighting(one.evidence)[one.evidence].text


def test_a_statement_that_its_quote_carries_is_recorded_as_it_is() -> None:
    likes = claim("I prefer a quiet room", "The user prefers a quiet room.", "hotel.room")
    workspace, inference = space(reader(likes))
    one = inference.converse([Turn("user", "Well, I prefer a quiet room.")], by="A2")
    (name,) = one.items
    assert (workspace._desk.log.item(name).text, one.quoted) == ("The user prefers a quiet room.", 0)


def test_nothing_is_drawn_from_an_assistant_unless_the_caller_asks_for_it() -> None:
    reported = claim("I have booked Sunrise", "Sunrise is booked.", "hotel.booking", turn=1)
    workspace, inference = space(reader(reported))
    turns = (Turn("user", "Please book Sunrise."), Turn("assistant", "Done. I have booked Sunrise for you."))
    one = inference.converse(turns, by="A2")
    assert (one.items, one.dropped) == ((), {"assistant": 1})
    (again,) = inference.ingest([one.evidence], by="A2", turns={one.evidence: turns}, without=())
    assert [workspace._desk.log.item(name).text for name in again.items] == ["I have booked Sunrise for you."]


def test_what_the_evidence_does_not_hold_is_not_recorded() -> None:
    workspace, inference = space(reader(HOTEL))
    said = workspace.observe("It rained.", by="A2")
    (one,) = inference.ingest([said], by="A2", turns={said: [Turn("user", "Sunrise confirms two nights.")]})
    assert (one.items, one.dropped) == ((), {"quote_not_found": 1})


def test_what_is_held_back_and_too_long_to_quote_is_dropped_and_counted() -> None:
    workspace, inference = space(reader(HOTEL))
    said = workspace.observe("It is a rumor that " + "really " * 400 + "Sunrise confirms two nights.", by="A2")
    (one,) = inference.ingest([said], by="A2")
    assert (one.items, one.dropped) == ((), {"held_back": 1})


def test_a_failure_records_nothing_and_can_be_tried_again() -> None:
    model = reader(HOTEL)
    model.broken["extract"] = Fault.TIMEOUT
    workspace, inference = space(model)
    said = workspace.observe("Sunrise confirms two nights.", by="A2")
    (failed,) = inference.ingest([said], by="A2")
    assert (failed.items, failed.failure) == ((), "as scripted")
    del model.broken["extract"]
    assert len(inference.ingest([said], by="A2")[0].items) == 1


def test_a_plan_opens_obligations_bound_to_the_task() -> None:
    plan = {
        "obligations": [
            {
                "obligation": "Send the itinerary.",
                "needs": [
                    {"name": "hotel", "needed": "Which hotel is booked.", "critical": True, "many": False},
                    {"name": "train", "needed": "Which train is taken.", "critical": False, "many": False},
                ],
            }
        ],
        "queries": ["hotel booking", "train", "pickup"],
    }
    model = Ruled(rules={"plan": lambda _: json.dumps(plan)})
    workspace = Workspace.open(clock=ticking())
    inference = Inference(workspace, planner=model)
    planned = inference.plan("Send the final itinerary.", by="A1", role="planner", task="trip")
    assert (planned.required, planned.critical) == (("hotel", "train"), ("hotel",))
    agent = workspace.agent("A1", role="planner", task="trip")
    agent.depart()
    returned = agent.come_back()
    # Nothing ever met the need that the model proposed, so it is a question and does not block.
    assert (returned.kind, returned.decision.duties[0].questions) == ("admitted", ("hotel", "train"))
    model.broken["plan"] = Fault.MALFORMED
    with pytest.raises(ModelError, match="planner: as scripted; nothing was opened"):
        inference.plan("Another task.", by="A1", role="planner", task="trip")


def test_without_an_extractor_or_planner_the_message_says_what_to_do() -> None:
    workspace = Workspace.open()
    with pytest.raises(ModelError, match="extractor: none is given"):
        Inference(workspace).ingest([], by="A2")
    with pytest.raises(ModelError, match="planner: none is given"):
        Inference(workspace).plan("x", by="A1", role="r", task="t")

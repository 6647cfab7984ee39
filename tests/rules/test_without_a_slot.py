"""Of two items that meet a need without a slot, the newer one is handed over."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from readmit import Reason
from readmit.errors import ExposureError
from readmit.types import Drafted
from tests.scene import HOUR, Scene

LONG = "Riverside is booked for two nights, breakfast included"
SHORT = "Sunrise is booked"
SELECTIONS = ("greedy_then_exact", "greedy", "cheapest")


class SlotlessScene(Scene):
    """A duty needs d, and each item says by itself what it supports."""

    def __init__(self, **policy: Any) -> None:
        super().__init__(**policy)
        self.duty()

    def says(self, id: str, text: str, **fields: Any) -> str:
        """A statement from an observation of its own, an hour later than the last."""
        self.wait(HOUR)
        fields.setdefault("sources", [self.news(f"seen for {id}: {text}")])
        return self.fact(id, text=text, **{"supports": ["d"], **fields})

    def view(self, **asked: Any) -> set[str]:
        outcome = self.away(**asked)
        assert outcome.admitted, outcome.reasons
        return set(outcome.items) - {"o"}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("texts", [(SHORT, LONG), (LONG, SHORT)], ids=["the newer is longer", "the newer is shorter"])
def test_of_two_items_that_meet_a_need_without_a_slot_the_newer_one_is_handed_over(
    selection: str, texts: tuple[str, str]
) -> None:
    scene = SlotlessScene(paper={"selection": selection})
    scene.says("old", texts[0])
    scene.says("new", texts[1])
    assert scene.view() == {"new"}
    assert scene.reasons("old") == (Reason.NOT_NEEDED,)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_an_item_that_meets_two_needs_does_not_make_up_for_the_newest_of_each(selection: str) -> None:
    scene = SlotlessScene(paper={"selection": selection})
    scene.duty("o2", required=("e",))
    scene.says("both", "Both", supports=["d", "e"])
    scene.says("d", LONG, supports=["d"])
    scene.says("e", LONG.replace("Riverside", "The train"), supports=["e"])
    assert scene.view() == {"o2", "d", "e"}


def test_newer_is_what_the_evidence_says_not_the_log() -> None:
    scene = SlotlessScene()
    early = scene.news("Sunrise confirms.")
    scene.says("new", LONG)
    scene.says("late", SHORT, sources=[early])
    assert scene.view() == {"new"}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("limit", [{"budgets": {"chars": 60}}, {"budgets": {"item_chars": 40}}], ids=["view", "item"])
def test_if_the_newest_does_not_fit_the_return_blocks_and_names_it(selection: str, limit: dict[str, int]) -> None:
    scene = SlotlessScene(paper={"selection": selection}, **limit)
    scene.says("old", SHORT)
    assert scene.view() == {"old"}
    scene.says("new", LONG)
    outcome = scene.away()
    assert (outcome.kind, outcome.reasons, outcome.items) == ("blocked", (Reason.BUDGET_SHORT,), ())
    assert (outcome.missing, outcome.decision.absent) == (("d",), ("new",))
    (lack,) = outcome.why().lacks
    assert (lack.name, [one.item for one in lack.last]) == ("d", ["new", "old"])
    assert "o requires d; new, the newest that supplies it, does not fit the policy's budget" in str(outcome.why())
    exec(lack.remedies[0].call, {"workspace": scene.team, "msgspec": msgspec})  # noqa: S102 - as printed
    assert scene.view() == {"new"}


def test_the_newest_that_a_duty_of_a_partial_view_needs_does_not_fit() -> None:
    scene = SlotlessScene(returns={"on_incomplete": "partial"}, budgets={"chars": 60})
    scene.duty("o2", required=("e",))
    scene.says("old", SHORT)
    scene.says("e", "The train is late", supports=["e"])
    scene.says("new", LONG)
    outcome = scene.away()
    assert outcome.partial
    assert set(outcome.items) == {"o2", "e"}


def test_what_stands_in_a_slot_and_is_newer_meets_the_need() -> None:
    scene = SlotlessScene()
    scene.says("old", SHORT)
    scene.says("slot", LONG, slot="hotel")
    assert scene.view() == {"slot"}
    scene.says("note", LONG.replace("breakfast", "dinner"))
    assert scene.view() == {"note"}


def test_what_is_not_eligible_is_not_the_newest() -> None:
    scene = SlotlessScene()
    scene.says("old", SHORT, purposes=["sleep"])
    others: list[dict[str, Any]] = [{"sources": []}, {"roles": ["driver"]}, {"purposes": ["eat"]}]
    for number, fields in enumerate(others):
        scene.says(f"other{number}", f"{LONG} {number}", **fields)
    scene.says("new", LONG)
    scene.team.revoke("new", by="bob")
    assert scene.view(purpose="sleep") == {"old"}


def test_a_link_makes_a_supporter_as_new_as_its_evidence() -> None:
    scene = SlotlessScene()
    scene.says("old", "An old note", supports=[])
    scene.says("new", LONG)
    scene.team.link("old", "d", by="bob")
    assert scene.view() == {"new"}


def test_a_newer_supporter_between_return_and_exposure_stops_the_view() -> None:
    scene = SlotlessScene()
    scene.says("old", SHORT)
    scene.depart()
    outcome = scene.come_back()
    scene.fact("new", text=LONG, supports=["d"], sources=[scene.news("just seen")])
    with pytest.raises(ExposureError) as refused:
        outcome.expose()
    assert refused.value.reasons == (Reason.VIEW_OUTDATED,)


def test_a_repetition_between_return_and_exposure_changes_nothing() -> None:
    scene = SlotlessScene()
    scene.says("old", SHORT)
    scene.depart()
    outcome = scene.come_back()
    scene.fact("again", text=SHORT, supports=["d"], sources=[scene.news("just seen")])
    assert SHORT in outcome.expose().markdown()


@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_papers_selection_takes_the_shorter_one(selection: str) -> None:
    scene = SlotlessScene(paper={"selection": selection, "newest": "as_needed"})
    scene.says("old", SHORT)
    scene.says("new", LONG)
    assert scene.view() == {"old"}


def test_a_threshold_does_not_hide_what_is_newest() -> None:
    scene = SlotlessScene(paper={"gamma": "0.5"}, budgets={"chars": 80})
    scene.duty("o2", required=("e",))
    scene.says("old", SHORT)
    scene.says("e", "The train is late", supports=["e"])
    assert scene.view() == {"o2", "old", "e"}
    scene.says("new", LONG)
    assert not scene.away().admitted


def drafted(scene: SlotlessScene, id: str, text: str) -> str:
    said = scene.news(text)
    return scene.says(id, text, slot="d", supports=(), sources=[said], drafted=Drafted(model="m", quote=text))


def test_in_a_slot_that_only_a_model_wrote_in_both_stand_and_the_newest_is_in_the_view() -> None:
    scene = SlotlessScene()
    drafted(scene, "lisbon", "I like Lisbon in March.")
    drafted(scene, "alps", "I am keen on the Alps in May, above all on the long walks.")
    assert "alps" in scene.view()
    assert scene.reasons("lisbon") != (Reason.SLOT_UPDATED,)
    # A person who confirms what was drafted, or records there, makes it one thing.
    scene.team.confirm("alps", by="bob")
    assert scene.view() == {"alps"}
    assert scene.reasons("lisbon") == (Reason.SLOT_UPDATED,)
    scene.says("porto", "I like Porto.", slot="d", supports=())
    assert scene.view() == {"porto"}


def test_under_a_policy_of_confirmed_drafts_a_slot_has_one_value() -> None:
    scene = SlotlessScene(evidence={"overseers": ("boss",), "drafts": "confirm"})
    for name in ("lisbon", "alps"):
        drafted(scene, name, f"I like {name}.")
        scene.team.confirm(name, by="bob")
    assert scene.view() == {"alps"}
    assert scene.reasons("lisbon") == (Reason.SLOT_UPDATED,)

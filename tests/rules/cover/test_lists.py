"""A need that is a list: one item meets it, and a view takes as many different items as fit."""

from __future__ import annotations

from typing import Any

import pytest

from readmit import Reason
from readmit.errors import RecordError
from readmit.types import Drafted
from tests.scene import HOUR, Scene

TEXTS = {name: f"She likes {name}" for name in ("lyon", "porto", "lisbon", "rome")}


class ListScene(Scene):
    """A duty needs likes, a list, and a hotel, which is one thing."""

    def __init__(self, **policy: Any) -> None:
        super().__init__(**policy)
        self.duty(required=("likes", "hotel"), lists=("likes",))
        self.likes("hotel", text="The Sunrise is booked", supports=["hotel"])

    def likes(self, id: str, **fields: Any) -> None:
        self.wait(HOUR)
        text = fields.pop("text", TEXTS.get(id, ""))
        self.fact(id, text=text, **{"supports": ["likes"], "sources": [self.news(f"{text}.")], **fields})

    def view(self) -> list[str]:
        outcome = self.away()
        assert outcome.admitted, outcome.reasons
        return [name for name in outcome.items if name not in ("o", "hotel")]


def test_every_member_is_handed_over_the_newest_first() -> None:
    scene = ListScene()
    for name in TEXTS:
        scene.likes(name)
    assert scene.view() == ["rome", "lisbon", "porto", "lyon"]
    assert scene.reasons("lyon") == (Reason.COVERS,)


def test_one_member_meets_it_and_none_does_not() -> None:
    scene = ListScene()
    assert scene.away().missing == ("likes",)
    scene.likes("lyon")
    assert scene.view() == ["lyon"]


@pytest.mark.parametrize(("budgets", "shown"), [({"items": 4}, 2), ({"chars": 15 + 21 + 15 + 16}, 2)])
def test_the_newest_are_in_where_not_all_fit(budgets: dict[str, int], shown: int) -> None:
    scene = ListScene(budgets=budgets)
    for name in TEXTS:
        scene.likes(name)
    assert scene.view() == ["rome", "lisbon", "porto", "lyon"][:shown]


def test_other_needs_are_met_first() -> None:
    scene = ListScene(budgets={"items": 3})
    for name in TEXTS:
        scene.likes(name)
    assert scene.away().items == ("o", "hotel", "rome")


def test_a_value_is_one_line() -> None:
    scene = ListScene()
    scene.likes("lyon")
    scene.likes("again", text=TEXTS["lyon"], roles=["planner"])
    assert scene.view() == ["again"]


def test_what_fell_is_no_member() -> None:
    scene = ListScene()
    for name in TEXTS:
        scene.likes(name)
    scene.team.revoke("rome", by="bob")
    assert scene.view() == ["lisbon", "porto", "lyon"]


def test_a_need_that_is_no_list_takes_one() -> None:
    scene = ListScene()
    scene.likes("lyon")
    scene.likes("riverside", text="The Riverside is booked", supports=["hotel"])
    assert scene.away().items == ("o", "riverside", "lyon")


def test_drafts_side_by_side_in_one_slot_are_a_list() -> None:
    scene = Scene()
    scene.duty(required=("travel",))
    for name in ("lyon", "porto"):
        text = f"{TEXTS[name]}."
        scene.wait(HOUR)
        drafted = Drafted(model="m", quote=text)
        scene.fact(name, text=text, slot="travel", sources=[scene.news(text)], drafted=drafted)
    assert scene.away().items == ("o", "porto", "lyon")


def test_a_list_is_one_of_the_needs() -> None:
    scene = Scene()
    with pytest.raises(RecordError, match="lists must be a subset of required"):
        scene.duty(required=("d",), lists=("e",))


def test_a_list_is_shown_as_one() -> None:
    scene = ListScene()
    scene.likes("lyon")
    assert "- Lists: `likes`" in scene.away().expose().markdown()
    assert scene.outcome is not None
    assert '"lists":["likes"]' in scene.come_back().expose().json().replace(" ", "")

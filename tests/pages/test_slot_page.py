"""The page of a slot says what stood when, what replaced it, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit.pages import slot_page
from readmit.pages.gather_slot import MOMENTS, slot_values
from readmit.records.errors import UnknownError
from tests.pages import stories
from tests.pages.test_return_page import text_of
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.pages.values import SlotPage


def values(scene: Scene, slot: str = "hotel", **said: Any) -> SlotPage:
    return slot_values(scene.team.log, slot, now=scene.now, **said)


def standing(page: SlotPage) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.happening.words, one.standing) for one in page.moments]


def test_each_moment_says_what_stands_from_then_on() -> None:
    assert standing(values(stories.hotel())) == [
        ("bob recorded h0", ("h0",)),
        ("bob recorded h1", ("h1",)),
        ("bob recorded h2", ("h2",)),
        ("bob recorded rumor", ("h2",)),
        ("carl recorded hidden", ("h2",)),
        ("h2 expires", ()),
        ("bob recorded h3", ("h3",)),
    ]


def test_what_falls_is_explained_by_what_replaced_it_then() -> None:
    page = values(stories.hotel())
    fell = {name: why.sentence for one in page.moments for name, why in one.fell}
    assert "By h1, at epoch" in fell["h0"]
    assert "By h2, at epoch" in fell["h1"]
    assert fell["h2"].startswith("Its validity interval ended.")
    assert fell["rumor"] == "No receipt binds it to evidence."
    (shown,) = [one.entry.whys for one in page.items if one.entry.id == "h0"]
    assert [quote.text for quote in shown[0].quotes] == ["Sunrise Hotel is booked.", "Riverside Hotel is booked."]


def test_an_item_that_came_back_stood_twice() -> None:
    scene = Scene()
    scene.fact("h0", slot="hotel")
    dispute = scene.team.dispute(["h0"], by="bob", reason="Is it?")
    scene.team.resolve(dispute, keep=["h0"], by="bob")
    assert [(span.first, span.last) for span in values(scene).items[0].spans] == [(0, 1), (2, 3)]


def test_a_premise_that_falls_elsewhere_is_a_moment_of_the_slot() -> None:
    scene = Scene()
    scene.fact("road", text="The road is open.")
    scene.fact("h0", slot="hotel", depends_on=["road"])
    scene.wait(HOUR)
    scene.team.revoke("road", by="bob", reason="A landslide.")
    page = values(scene)
    assert standing(page)[-1] == ("Revoked road, by bob", ())
    assert "road is revoked" in page.moments[-1].fell[0][1].sentence


def test_what_is_private_to_others_is_listed_apart_without_its_text() -> None:
    html = slot_page(stories.hotel().team, "hotel")
    assert "keeps to himself" not in html
    assert "Private to others: its text is not shown." in html


def test_the_one_it_is_private_to_finds_it_standing() -> None:
    page = values(stories.hotel(), principal="carl")
    assert page.apart == ()
    assert standing(page)[4] == ("carl recorded hidden", ("hidden",))


def test_a_slot_of_several_tasks_needs_one_named() -> None:
    scene = Scene()
    scene.fact("a", slot="hotel", task="trip")
    scene.fact("b", slot="hotel", task="fair")
    with pytest.raises(UnknownError, match="task: the slot 'hotel' is used on fair, trip; name one"):
        values(scene)
    assert [one.entry.id for one in values(scene, task="fair").items] == ["b"]
    with pytest.raises(UnknownError, match="on task 'none'; it is used on fair, trip"):
        values(scene, task="none")


def test_an_unknown_slot_is_named() -> None:
    with pytest.raises(UnknownError, match="no item is about the slot 'hostel'"):
        values(Scene(), "hostel")


def test_a_busy_slot_shows_its_latest_moments_and_says_so() -> None:
    scene = Scene()
    with scene.team.batch():
        for number in range(MOMENTS + 5):
            scene.fact(
                f"h{number}", slot="hotel", text=f"Room {number} is booked.", sources=[scene.news(f"Room {number}.")]
            )
    page = values(scene)
    assert (len(page.moments), page.earlier) == (MOMENTS, 5)
    assert "5 earlier moments not shown." in text_of(slot_page(scene.team, "hotel"))


def test_the_page_opens_with_what_stands_now() -> None:
    assert "Stands now: h3: Castle Hotel is booked for" in text_of(slot_page(stories.hotel().team, "hotel"))

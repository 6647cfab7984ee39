"""The page of a slot says what stood when, what replaced it, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from readmit import Policy, State, Workspace
from readmit.errors import NotAllowedError, UnknownError
from readmit.pages import slot_page
from readmit.pages.gather_slot import MOMENTS, slot_values
from tests.conftest import examples
from tests.pages import stories
from tests.pages.test_return_page import text_of
from tests.properties.test_life import WHO, Life
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.pages.page_values import SlotPage
    from tests.simulator import Who


FALLEN = {
    State.REVOKED, State.SUPERSEDED, State.EXPIRED, State.NOT_YET_VALID, State.PREMISE_CHANGED, State.DISPUTED,
    State.SUSPECTED, State.UNPROVEN,
}  # fmt: skip


def values(scene: Scene, slot: str = "hotel", **said: Any) -> SlotPage:
    return slot_values(scene.team._desk.log, slot, now=scene.now, **said)


def standing(page: SlotPage) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.happening.words, one.standing) for one in page.moments]


def test_each_moment_says_what_stands_from_then_on() -> None:
    assert standing(values(stories.hotel())) == [
        ("bob recorded h0", ("h0",)),
        ("bob recorded h1", ("h1",)),
        ("bob recorded h2", ("h2",)),
        ("bob recorded rumor", ("h2",)),
        ("carl recorded @carl/hidden", ("h2",)),
        ("h2 expires", ()),
        ("bob recorded h3", ("h3",)),
    ]


def test_what_falls_is_explained_by_what_replaced_it_then() -> None:
    page = values(stories.hotel())
    fell = {name: why.sentence for one in page.moments for name, why in one.fell}
    assert fell["h0"].startswith("It fell because bob replaced it by `h1` at epoch")
    assert fell["h1"].startswith("It fell because bob replaced it by `h2` at epoch")
    assert fell["h2"].startswith("It fell because its time is over: valid until")
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
    assert (
        "It fell because it depends on `road`, which no longer holds (road is revoked)."
        in page.moments[-1].fell[0][1].sentence
    )


def test_a_premise_that_is_replaced_elsewhere_is_a_moment_of_the_slot() -> None:
    scene = Scene()
    scene.fact("road", text="The road is open.", slot="road")
    scene.fact("h0", slot="hotel", depends_on=["road"])
    scene.fact("other", text="The road is closed.", slot="road")
    assert standing(values(scene)) == [("bob recorded h0", ("h0",)), ("bob recorded other", ())]


def test_a_policy_that_changes_what_stands_is_a_moment_of_the_slot() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.fact("h0", slot="hotel")
    scene.team.as_owner().admin.govern(Policy(evidence={"writers": ("bob", "eve")}))
    scene.team.as_owner().admin.govern(Policy(evidence={"writers": ("eve",)}))
    assert standing(values(scene)) == [("bob recorded h0", ("h0",)), ("The policy changed, by owner", ())]


def test_a_premise_that_expires_out_of_the_slot_is_a_moment_of_it() -> None:
    scene = Scene()
    scene.fact("pass", valid_until=scene.now + HOUR)
    scene.fact("h0", slot="hotel", depends_on=["pass"])
    scene.wait(2 * HOUR)
    assert standing(values(scene))[-1] == ("pass expires", ())


class ComparedLife(Life):
    """A life of a team. When it is over, everybody returns, and the pages of the slots say what stands."""

    compared = 0

    def teardown(self) -> None:
        if hasattr(self, "team"):
            for who in WHO:
                self.compare(self.team.workspace, who)
        super().teardown()

    def compare(self, team: Workspace, who: Who) -> None:
        agent = team.agent(who.principal, role=who.role, task=who.task)
        agent.depart()
        try:
            returned = agent.come_back()
        except NotAllowedError:
            return  # it is away in another role, and departing again does not change that
        judged = {one.item: one.reasons for one in returned.dispositions}
        slots = {slot for task, slot in team._desk.log.slots() if task in ("", who.task)}
        for slot in sorted(slots) if judged else ():
            asked = {"principal": who.principal, "role": who.role, "task": who.task}
            page = slot_values(team._desk.log, slot, now=returned.request.moment, **asked)
            stands = {one.entry.id: one.entry.id in page.moments[-1].standing for one in page.items}
            expected = {name: not any(why.state in FALLEN for why in judged[name]) for name in stands}
            assert stands == expected, (who, slot)
            ComparedLife.compared += len(stands)


def test_what_stands_now_is_what_a_return_finds_standing() -> None:
    """In lives of teams, for everybody in them."""
    run_state_machine_as_test(ComparedLife, settings=settings(max_examples=examples(8), stateful_step_count=30))
    assert ComparedLife.compared > 20


def test_what_is_private_to_others_is_listed_apart_without_its_text() -> None:
    html = slot_page(stories.hotel().team, "hotel")
    assert "keeps to himself" not in html
    assert "Private to others: its text is not shown." in html


def test_the_one_it_is_private_to_finds_it_standing() -> None:
    page = values(stories.hotel(), principal="carl")
    assert page.apart == ()
    assert standing(page)[4] == ("carl recorded @carl/hidden", ("@carl/hidden",))


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


@pytest.mark.many_events
def test_a_busy_slot_shows_its_latest_moments_and_says_so() -> None:
    scene = Scene()
    with scene.team.batch():
        for number in range(MOMENTS + 5):
            scene.fact(
                f"h{number}", slot="hotel", text=f"Room {number} is booked.", sources=[scene.news(f"Room {number}.")]
            )
    page = values(scene)
    assert (len(page.moments), page.earlier, page.past) == (MOMENTS, 5, 5)
    text = text_of(slot_page(scene.team, "hotel"))
    assert "5 earlier moments not shown." in text
    assert "5 items had fallen before these moments." in text
    assert "It never stood." not in text


def test_the_page_opens_with_what_stands_now() -> None:
    assert "Stands now: h3: Castle Hotel is booked for" in text_of(slot_page(stories.hotel().team, "hotel"))

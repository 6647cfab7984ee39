"""The log's order counts, not a host's clock: hosts that are ahead or behind, on both kinds of store."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from readmit.errors import ConflictError
from tests.scene import HOUR, START, Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
SKEWS = {"2 s ahead": 2 * SECOND, "2 s behind": -2 * SECOND, "half an hour ahead": HOUR / 2, "a day behind": -DAY}


@contextmanager
def host(scene: Scene, ahead: timedelta) -> Iterator[None]:
    """What is written meanwhile comes from a host whose clock is ahead or behind by so much."""
    true = scene.now
    scene.now = true + ahead
    yield
    scene.now = true


def said(scene: Scene, id: str, text: str = "", **fields: object) -> None:
    """Observe something and record it in the slot ``hotel``."""
    source = scene.team.observe(f"what {id} rests on", by="bob")
    scene.fact(id, text=text or f"the text of {id}", slot="hotel", sources=[source], **fields)


def standing(scene: Scene) -> tuple[str, ...]:
    """What an agent that was away for a moment is handed, beside its duty."""
    return tuple(name for name in scene.away().items if name != "o")


@pytest.mark.parametrize("later", [SECOND, 3 * DAY], ids=["a second later", "days later"])
@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("first", [True, False], ids=["the old one is skewed", "the new one is skewed"])
def test_of_two_undated_statements_the_later_in_the_log_stands(skew: str, later: timedelta, first: bool) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    with host(scene, SKEWS[skew] if first else timedelta(0)):
        said(scene, "old")
    scene.wait(SECOND)
    with host(scene, timedelta(0) if first else SKEWS[skew]):
        said(scene, "new")
    scene.wait(later + HOUR)
    assert standing(scene) == ("new",)
    assert "slot_updated" in scene.reasons("old")


@pytest.mark.parametrize("skew", SKEWS)
def test_an_undated_revocation_takes_effect_at_once_whatever_its_host_says(skew: str) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h")
    with host(scene, SKEWS[skew]):
        scene.team.revoke("h", by="bob")
    assert standing(scene) == ()
    assert "revoked" in scene.reasons("h")


@pytest.mark.parametrize("skew", SKEWS)
def test_a_repetition_after_a_revocation_stands_whatever_either_host_says(skew: str) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h", "Sunrise is booked")
    with host(scene, SKEWS[skew]):
        scene.team.revoke("h", by="bob")
    said(scene, "again", "Sunrise is booked")
    assert standing(scene) == ("again",)
    with host(scene, SKEWS[skew]):
        said(scene, "third", "Sunrise is booked")
    scene.team.revoke("again", by="bob")
    assert standing(scene) == ()


@pytest.mark.parametrize("skew", SKEWS)
def test_an_undated_resolution_settles_at_once_whatever_its_host_says(skew: str) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h")
    dispute = scene.team.dispute(["h"], by="bob")
    with host(scene, SKEWS[skew]):
        scene.team.resolve(dispute, keep=["h"], by="carol")
    assert standing(scene) == ("h",)


@pytest.mark.parametrize("skew", SKEWS)
def test_an_undated_overrule_counts_at_once_whatever_its_host_says(skew: str) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h")
    with host(scene, SKEWS[skew]):
        scene.team.revoke("h", by="bob")
    with host(scene, min(-SKEWS[skew], HOUR / 2)):
        scene.team.admin.overrule("h", by="boss", reason="asked them", expires=HOUR)
    assert standing(scene) == ("h",)
    with host(scene, SKEWS[skew]):
        said(scene, "new")
    assert standing(scene) == ("new",)


def test_only_a_given_date_orders_by_date() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.wait(DAY)
    said(scene, "new")
    late = scene.team.observe("Last night they wrote", by="bob", at=START)
    scene.fact("late", slot="hotel", sources=[late])
    assert standing(scene) == ("new",)
    # Not given: it is the newest, though its host says that it is of the night before.
    with host(scene, -DAY):
        said(scene, "behind")
    assert standing(scene) == ("behind",)


def test_a_given_date_is_never_later_than_the_log_learnt_it() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    ahead = scene.team.observe("They will have written", by="bob", at=START + DAY)
    scene.fact("postdated", slot="hotel", sources=[ahead])
    said(scene, "new")
    assert standing(scene) == ("new",)
    scene.wait(2 * DAY)
    assert standing(scene) == ("new",)


@pytest.mark.parametrize("skew", [2 * SECOND, -2 * SECOND], ids=["ahead", "behind"])
def test_a_given_start_orders_by_date_and_takes_effect_on_it(skew: timedelta) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    with host(scene, skew):
        said(scene, "now")
        said(scene, "tomorrow", valid_from=START + DAY)
    assert standing(scene) == ("now",)
    scene.wait(DAY + HOUR)
    assert standing(scene) == ("tomorrow",)


def test_a_given_date_of_an_act_says_when_it_takes_effect() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h")
    scene.team.revoke("h", by="bob", at=START + DAY)
    assert standing(scene) == ("h",)
    scene.wait(DAY)
    assert standing(scene) == ()


def test_every_text_of_several_keeps_whether_its_date_was_given() -> None:
    scene = Scene()
    log = scene.team._desk.log
    scene.team.observe_many(["one", "two", {"text": "three", "at": START + HOUR}], by="bob", at=START)
    scene.team.observe_many(["four", "five"], by="bob")
    scene.team.observe("six", by="bob")
    scene.team.observe("seven", by="bob", at=START)
    scene.team.observe("eight", by="bob")
    events = [log.event(log.head - back) for back in reversed(range(8))]
    assert [event.given for event in events] == [True, True, True, False, False, False, True, False]


def test_a_write_repeated_with_a_date_that_was_not_given_is_another_one() -> None:
    scene = Scene()
    scene.team.observe("It is so.", by="bob", id="e")
    with pytest.raises(ConflictError, match="'observe:e' is already used"):
        scene.team.observe("It is so.", by="bob", id="e", at=scene.now)
    scene.team.observe("So it was.", by="bob", id="f", at=START)
    scene.wait(HOUR)
    head = scene.team.epoch
    scene.team.observe("So it was.", by="bob", id="f")
    assert scene.team.epoch == head

"""Writing the same content under the same id changes nothing; without an id every observation is new."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Verdict
from readmit.errors import ConflictError
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit import Workspace

HOUR = timedelta(hours=1)
MOMENT = datetime.fromisoformat("2026-01-01T09:00:00Z")


def scene() -> Scene:
    made = Scene()
    made.fact("a", slot="s", supports=["d"])
    made.fact("b")
    made.duty()
    made.fact("out")
    made.team.revoke("out", by="bob")
    return made


def judgment(team: Workspace) -> Verdict:
    source = team._desk.log.item("a").receipts[0].evidence
    return Verdict(pair=Pair(item="a", evidence=source), answer=Answer.UNSURE, confidence=Decimal(1))


VERBS: dict[str, Callable[[Workspace], Any]] = {
    "observe": lambda team: team.observe("seen", by="bob", id="w"),
    "observe with a moment": lambda team: team.observe("seen", by="bob", id="w", at=MOMENT),
    "observe many": lambda team: team.observe_many([{"text": "seen", "id": "w"}, {"text": "2", "id": "v"}], by="bob"),
    "record": lambda team: team.record("so", by="bob", id="w", slot="s"),
    "record what inherits": lambda team: team.record(
        "so",
        by="bob",
        id="w",
        slot="s",
        supersedes="a",
        inherits=True,
        sources=[team._desk.log.item("a").receipts[0].evidence],
    ),
    "record what supersedes": lambda team: team.record("so", by="bob", id="w", supersedes="a"),
    "oblige": lambda team: team.oblige("do", by="bob", id="w", required=["d"]),
    "progress": lambda team: team.progress("half", by="bob", id="w", obligation="o"),
    "revoke": lambda team: team.revoke("a", by="bob", id="w"),
    "supersede": lambda team: team.supersede("a", "b", by="bob", id="w"),
    "close": lambda team: team.close_validity("a", end=MOMENT, by="bob", id="w"),
    "settle": lambda team: team.settle("o", by="bob", id="w"),
    "dispute": lambda team: team.dispute(["a"], by="bob", id="w"),
    "suspect": lambda team: team.judge(
        Pair(item="a", evidence=team._desk.log.item("a").receipts[0].evidence), by="bob", id="w"
    ),
    "judge": lambda team: team.judge(judgment(team), by="bob", id="w"),
    "link": lambda team: team.link("b", "d", by="bob", id="w"),
    "overrule for a while": lambda team: team.admin.overrule("out", by="boss", reason="checked", expires=HOUR, id="w"),
    "govern": lambda team: team.as_owner().admin.govern(team.admin.policy, id="w"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_under_the_same_id_changes_nothing_whatever_the_clock_says(verb: str) -> None:
    made = scene()
    first = VERBS[verb](made.team)
    epoch = made.team.epoch
    made.now += HOUR
    assert VERBS[verb](made.team) == first
    assert made.team.epoch == epoch


def test_what_inherits_is_the_same_also_when_its_slot_has_moved_on() -> None:
    made = scene()
    VERBS["record what inherits"](made.team)
    made.fact("c", slot="s", supports=["e"])
    epoch = made.team.epoch
    VERBS["record what inherits"](made.team)
    assert made.team.epoch == epoch
    assert made.team._desk.log.item("w").supports == ("d",)


OTHERWISE: dict[str, Callable[[Workspace], Any]] = {
    "another text": lambda team: team.observe("otherwise", by="bob", id="w"),
    "another observer": lambda team: team.observe("seen", by="eve", id="w"),
    "another audience": lambda team: team.observe("seen", by="bob", id="w", roles=["planner"]),
    "another source": lambda team: team.observe("seen", by="bob", id="w", source="document"),
    "another moment, if it is given": lambda team: team.observe("seen", by="bob", id="w", at=MOMENT),
    "many, of which one is another text": lambda team: team.observe_many(["x", {"text": "y", "id": "w"}], by="bob"),
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_another_observation_under_the_same_id_is_refused(case: str) -> None:
    team = scene().team
    team.observe("seen", by="bob", id="w")
    epoch = team.epoch
    with pytest.raises(ConflictError, match="'observe:w' is already used for a different observe"):
        OTHERWISE[case](team)
    assert team.epoch == epoch


def test_another_moment_of_a_lifecycle_event_is_refused_if_it_is_given() -> None:
    made = scene()
    epoch = made.team.revoke("a", by="bob", id="w", at=MOMENT)
    assert made.team.revoke("a", by="bob", id="w") == epoch, "left out, it is not compared"
    with pytest.raises(ConflictError, match="already used"):
        made.team.revoke("a", by="bob", id="w", at=MOMENT + HOUR)


def test_an_item_rests_on_the_first_of_two_observations_under_one_id() -> None:
    made = scene()
    first = made.team.observe("seen", by="bob", id="w")
    made.now += HOUR
    again = made.team.observe("seen", by="bob", id="w")
    assert made.team.record("so", by="bob", id="m", sources=[first]) == "m"
    assert made.team.record("so", by="bob", id="m", sources=[again]) == "m"


@pytest.mark.parametrize("at", [None, MOMENT])
def test_without_an_id_every_observation_is_new_even_at_one_moment(at: datetime | None) -> None:
    team = scene().team
    epoch = team.epoch
    team.observe("seen", by="bob", at=at)
    team.observe("seen", by="bob", at=at)
    team.observe_many(["seen", "seen"], by="bob")
    assert team.epoch == epoch + 4

"""Thousands of slots, two tasks, and for every second slot a statement out of sight that was recorded before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from readmit import Reason
from readmit.rules.capture.checkpoint import unchanged
from tests.scene import HOUR, START, Scene


@pytest.mark.parametrize("slots", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_rivals_out_of_sight_are_read_as_background_and_alter_no_checkpoint(slots: int) -> None:
    scene = Scene(returns={"fill": "nothing_owed"}, budgets={"items": 0, "chars": 0})
    team = scene.team
    with team.batch():
        early, late = team.observe("Early.", by="bob"), team.observe("Late.", by="bob")
        for number in range(0, slots, 2):
            # Recorded first, from later evidence, for a role that ann is not in.
            team.record(
                f"auditors' {number}", id=f"w{number}", by="bob", slot=f"s.{number}", roles=["auditor"], sources=[late],
                task=None if number % 4 else "trip",
            )  # fmt: skip
    scene.depart(id="before")
    departed = scene.ann().departed()
    with team.batch():
        for number in range(slots):
            team.record(
                f"everybody's {number}", id=f"v{number}", by="bob", slot=f"s.{number}", sources=[early],
                task="trip" if number % 4 else None,
            )  # fmt: skip
    scene.wait(HOUR)
    outcome = scene.come_back()
    assert len(outcome.dispositions) == slots
    stale = {one.item for one in outcome.dispositions if one.reasons == (Reason.SLOT_UPDATED,)}
    assert stale == {f"v{number}" for number in range(0, slots, 2)}
    assert {one.reasons for one in outcome.dispositions if one.item not in stale} == {(Reason.NOT_NEEDED,)}
    assert unchanged(departed, team._desk.log.seen(departed.identity, until=departed.epoch))


def test_what_others_keep_to_themselves_in_a_slot_costs_each_reader_once() -> None:
    scene = Scene()
    team = scene.team
    with team.batch():
        for number in range(600):
            team.record(f"shared {number}", id=f"v{number}", by="bob", slot="s", sources=[scene.source])
        for number in range(600):
            seen = team.observe(f"Eve saw {number}.", by="eve", at=START + timedelta(seconds=number))
            team.record(
                f"eve's {number}", id=f"@eve/e{number}", by="eve", slot="s", sources=[seen], private=True,
                principals=["eve"],
            )  # fmt: skip
    scene.wait(HOUR)
    outcome = scene.away()
    assert [one.item for one in outcome.dispositions if one.reasons == (Reason.NOT_NEEDED,)] == ["v599"]

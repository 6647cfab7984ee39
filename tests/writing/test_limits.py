"""Limits count what an event ends, not the events."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.errors import RateError
from readmit.events import EventKind
from readmit.policies import Policy
from tests.scene import HOUR, START, Scene, audited

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIMIT = 5
YEARS = timedelta(days=3_650)


def team_of(*, items: int = 0, **policy: Any) -> Scene:
    """Bob has recorded some items, each in a slot of its own below ``plan``."""
    scene = Scene(**{"limits": {"invalidations": LIMIT}, **policy})
    with scene.team.batch():
        for number in range(items):
            scene.fact(f"m{number}", slot=f"plan.s{number}", task="trip")
    return scene


def ended(scene: Scene, by: str = "eve") -> int:
    return scene.team._desk.log.ended(by, since=START - YEARS)


def replace(scene: Scene, number: int, by: str = "eve", **fields: Any) -> str:
    """Another statement in the slot of an item."""
    fields = {"slot": f"plan.s{number}", "task": "trip", **fields}
    return scene.fact(f"@{by}/{number}-{scene.team.epoch}", by=by, **fields)


def allowed(times: int, write: Callable[[int], object]) -> int:
    """How often a write is let through."""
    done = 0
    for number in range(times):
        try:
            write(number)
        except RateError:
            continue
        done += 1
    return done


# What counts.


@pytest.mark.many_events
def test_records_that_replace_what_others_said_are_limited() -> None:
    scene = team_of(items=295)
    assert allowed(295, lambda number: replace(scene, number)) == LIMIT
    scene.duty(required=("plan.s290",), task="trip")
    assert scene.away().admitted, "what the limit kept eve from stands"


@pytest.mark.many_events
def test_a_dispute_counts_each_item_it_contests() -> None:
    scene = team_of(items=300)
    names = [f"m{number}" for number in range(300)]
    before = scene.team.epoch
    with pytest.raises(RateError, match=r"this dispute would end 300 things; 'eve' may end 5 within 3600 s"):
        scene.team.dispute(names, by="eve")
    assert [event.kind for event in scene.team._desk.log.tail(since=before)] == [EventKind.WAIT]
    scene.team.dispute(names[:LIMIT], by="eve")
    with pytest.raises(RateError, match=r"would end 1 thing, and it has ended 5"):
        scene.team.revoke("m9", by="eve")


def test_obligations_that_end_count() -> None:
    scene = team_of()
    for number in range(LIMIT + 1):
        scene.duty(f"o{number}", roles=["planner"])
    scene.team.as_owner().admin.reassign("eve", task="trip", role="planner")
    assert allowed(6, lambda number: scene.team.settle(f"o{number}", by="eve")) == LIMIT


def test_frontiers_that_move_another_writers_frontier_count() -> None:
    scene = team_of()
    for number in range(LIMIT + 1):
        scene.duty(f"o{number}")
        scene.frontier(f"f{number}", obligation=f"o{number}")
    assert allowed(6, lambda number: scene.frontier(f"e{number}", obligation=f"o{number}", by="eve")) == LIMIT


def test_revocations_closings_and_supersessions_count_one_each() -> None:
    scene = team_of(items=4)
    scene.team.revoke("m0", by="eve")
    scene.team.close_validity("m1", end=START + HOUR, by="eve")
    scene.team.supersede("m2", "m3", by="eve")
    assert ended(scene) == 3


def test_a_resolution_counts_each_item_it_does_not_keep() -> None:
    scene = team_of(items=4)
    quarrel = scene.team.dispute(["m0", "m1", "m2", "m3"], by="bob")
    scene.team.resolve(quarrel, keep=["m0"], by="eve")
    assert ended(scene) == 3


def test_withdrawing_a_link_counts() -> None:
    scene = team_of(items=6)
    for number in range(6):
        scene.team.link(f"m{number}", "need", by="bob")
    assert allowed(6, lambda number: scene.team.link(f"m{number}", "need", by="eve", withdrawn=True)) == LIMIT


def test_one_record_for_every_task_counts_the_slot_on_each_task() -> None:
    scene = team_of()
    for number in range(LIMIT + 1):
        scene.fact(f"m{number}", slot="hotel", task=f"task{number}")
    with pytest.raises(RateError, match="this record would end 6 things"):
        scene.fact("e", slot="hotel", by="eve")
    scene.fact("one", slot="hotel", task="task0", by="eve")
    assert ended(scene) == 1


# What does not count.


def test_updating_ones_own_statements_is_not_limited() -> None:
    scene = team_of()
    for turn in range(4):
        for number in range(LIMIT):
            replace(scene, number, by="eve", text=f"measured {turn}")
    assert ended(scene) == 0


def test_the_first_statement_a_repetition_and_one_without_evidence_end_nothing() -> None:
    scene = team_of(items=3)
    replace(scene, 99, text="the first of its slot")
    replace(scene, 0, text="the text of m0")
    replace(scene, 1, sources=[])
    replace(scene, 2, principals=["eve"])
    assert ended(scene) == 0


def test_statements_for_other_principals_purposes_or_tasks_end_nothing() -> None:
    scene = team_of()
    for name, use in {"a": {"principals": ["ann"]}, "b": {"purposes": ["book"]}, "c": {"applies_to": ["trip"]}}.items():
        scene.fact(f"@bob/{name}", slot=name, **use)
    scene.fact("@eve/ea", slot="a", principals=["cy", "eve"], by="eve")
    scene.fact("eb", slot="b", purposes=["cancel"], by="eve")
    scene.fact("ec", slot="c", applies_to=["fair"], by="eve")
    assert ended(scene) == 0
    scene.fact("all", slot="a", by="eve")
    assert ended(scene) == 1, "it is for ann as well"


def test_repeating_a_statement_does_not_make_it_ones_own() -> None:
    scene = team_of(items=10)
    for number in range(10):
        replace(scene, number, text=f"the text of m{number}")
    assert allowed(10, lambda number: replace(scene, number, text="something else")) == LIMIT


def test_a_refused_record_leaves_the_slot_to_its_author() -> None:
    scene = team_of(items=10)
    allowed(10, lambda number: replace(scene, number))
    scene.wait(2 * HOUR)
    assert allowed(10, lambda number: replace(scene, number)) == 10
    assert ended(scene) == 10, "the five that were refused still were bob's"


# When and by whom.


def test_each_writer_has_its_own_limit_and_an_overseer_can_raise_it() -> None:
    scene = team_of(items=20)
    allowed(20, lambda number: replace(scene, number))
    scene.team.revoke("m19", by="cy")
    with pytest.raises(RateError, match=r"let an overseer \(boss\) raise the limit"):
        scene.team.revoke("m18", by="eve")
    scene.team.admin.govern(Policy(evidence={"overseers": ("boss",)}, limits={"invalidations": 20}), by="boss")
    scene.team.revoke("m18", by="eve")


def test_without_overseers_the_owner_can_raise_the_limit() -> None:
    scene = team_of(items=1, evidence={"overseers": ()})
    scene.team.dispute(["m0"], by="eve")
    scene.team.as_owner().admin.govern(Policy(limits={"invalidations": 0}))
    with pytest.raises(RateError, match=r"let 'owner' raise the limit"):
        scene.team.revoke("m0", by="cy")


@pytest.mark.parametrize("lag", [timedelta(minutes=90), YEARS])
def test_a_clock_that_is_behind_does_not_hide_what_was_ended(lag: timedelta) -> None:
    """What is written with the clock set back still counts once it is right again."""
    scene = team_of(items=10)
    scene.wait(-lag)
    assert allowed(10, lambda number: replace(scene, number)) == LIMIT
    for ahead in (lag / 2, lag / 2):
        scene.wait(ahead)
        assert allowed(5, lambda number: replace(scene, number + 5)) == 0


def test_a_clock_that_was_ahead_for_a_while_hides_nothing_from_one_that_is_right() -> None:
    scene = team_of(items=20)
    assert allowed(10, lambda number: replace(scene, number)) == LIMIT
    scene.wait(YEARS)
    scene.team.observe("Written with a clock that is years ahead.", by="cy")
    scene.wait(-YEARS)
    assert allowed(10, lambda number: replace(scene, number + 10)) == 0


def test_a_date_given_by_the_writer_changes_no_window() -> None:
    scene = team_of(items=20)
    moments = [START - YEARS, START + YEARS]
    assert allowed(10, lambda n: scene.team.revoke(f"m{n}", by="eve", at=moments[n % 2])) == LIMIT


def test_a_batch_counts_its_own_events_and_a_batch_that_failed_counts_nothing() -> None:
    scene = team_of(items=20)

    def too_much() -> None:
        with scene.team.batch():
            for number in range(LIMIT + 1):
                replace(scene, number)

    with pytest.raises(RateError):
        too_much()
    assert ended(scene) == 0
    with scene.team.batch():
        assert allowed(LIMIT + 1, lambda number: replace(scene, number)) == LIMIT
    assert ended(scene) == LIMIT


def test_a_bulk_of_observations_is_not_limited_and_ends_nothing() -> None:
    scene = team_of(items=1)
    scene.team.observe_many([f"text {number}" for number in range(50)], by="eve")
    assert ended(scene) == 0


def test_two_handles_of_one_writer_share_its_limit(place: Path | str) -> None:
    with Workspace.open(place, policy=Policy(limits={"invalidations": LIMIT})) as team:
        source = team.observe("The hotel confirms.", by="bob")
        for number in range(20):
            team.record(f"text {number}", id=f"m{number}", by="bob", slot=f"s{number}", sources=[source])
    done: list[str] = []

    def flood(name: str, numbers: range) -> None:
        with Workspace.open(place) as team:
            for number in numbers:
                try:
                    done.append(team.record(name, by="eve", slot=f"s{number}", sources=[source]))
                except RateError:
                    continue

    threads = [threading.Thread(target=flood, args=(f"t{n}", range(10 * n, 10 * n + 10))) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == LIMIT
    with Workspace.open(place) as team:
        assert audited(team).intact


def test_a_limit_of_zero_leaves_ordinary_work_alone() -> None:
    scene = Scene(limits={"invalidations": 0})
    scene.covered(slot="hotel")
    scene.fact("h2", slot="hotel")
    assert [event.kind for event in scene.team._desk.log.tail()][-1] is EventKind.RECORD

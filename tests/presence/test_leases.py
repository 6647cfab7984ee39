"""Leases: who is not heard of in time counts as departed, and writes nothing until it returns."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import AsyncWorkspace, Workspace
from readmit.errors import LeaseError, NotAllowedError, QuarantineError, RecordError
from readmit.events import EventKind
from readmit.types import Checkpoint, Sweeper, Trouble
from tests.scene import HOUR, START, Clock, Scene

if TYPE_CHECKING:
    from pathlib import Path

MINUTE = timedelta(minutes=1)


def count_leases(scene: Scene) -> int:
    return sum(event.kind is EventKind.LEASE for event in scene.team._desk.log.tail())


def test_an_agent_that_is_not_heard_of_is_departed_for_at_the_last_epoch_it_had_seen() -> None:
    scene = Scene()
    scene.covered()
    seen = scene.team.epoch
    scene.ann().present(lease=MINUTE)
    scene.fact("later", supports=["d"])
    scene.wait(MINUTE / 2)
    assert scene.team.admin.sweep(trust_clock=True).departed == ()
    scene.wait(MINUTE / 2)
    (departed,) = scene.team.admin.sweep(trust_clock=True).departed
    assert (departed.reason, departed.epoch, departed.identity.principal) == ("lease_expired", seen, "ann")
    assert scene.team._desk.log.event(scene.team.epoch).by == "readmit"
    outcome = scene.come_back()
    assert outcome.admitted
    assert outcome.request.checkpoint == departed.id
    assert scene.team.returned(outcome.id).replay().matches


def test_calls_renew_a_lease_and_most_of_them_write_nothing() -> None:
    scene = Scene()
    scene.covered()
    ann = scene.ann()
    desk = ann.present(lease=MINUTE).workspace
    for number in range(60):
        desk.observe(f"note {number}")
        scene.wait(MINUTE / 12)
    assert scene.team.admin.sweep(trust_clock=True).departed == ()
    assert count_leases(scene) <= 1 + 5 * 3, "one at the beginning, and one for each third of a lease"
    ann.recall()
    ann.remember("a hunch", bound_to="h")


def test_reading_its_bank_keeps_an_agent_present() -> None:
    scene = Scene()
    ann = scene.ann()
    ann.present(lease=MINUTE)
    for _ in range(5):
        scene.wait(MINUTE * 2 / 3)
        ann.recall()
    assert scene.team.admin.sweep(trust_clock=True).departed == ()


def test_what_a_swept_agent_writes_is_refused_until_it_returns() -> None:
    scene = Scene()
    scene.covered()
    ann = scene.ann()
    presence = ann.present(lease=MINUTE)
    scene.wait(MINUTE)
    (departed,) = scene.team.admin.sweep(trust_clock=True).departed
    before = scene.team.epoch
    writes: list[Any] = [
        lambda: presence.workspace.observe("I am still here"),
        lambda: presence.workspace.record("so am I"),
        presence.renew,
        lambda: presence.until,
        lambda: ann.settle("o"),
        ann.depart,
        lambda: scene.team.observe("through another handle", by="ann"),
        lambda: scene.team.observe_many(["one", "two"], by="ann"),
        lambda: scene.team.revoke("h", by="ann"),
        lambda: scene.ann().depart(),
        lambda: scene.ann().present(lease=MINUTE),
    ]
    for write in writes:
        with pytest.raises(LeaseError, match="come back"):
            write()
    with pytest.raises(LeaseError, match=departed.id):
        presence.workspace.observe("I am still here")
    with pytest.raises(QuarantineError):
        ann.remember("what I know", bound_to="h")
    assert scene.team.epoch == before
    outcome = ann.come_back()
    outcome.expose()
    scene.team.observe("I am back", by="ann")
    with pytest.raises(LeaseError, match="is not the one under which"):
        presence.workspace.observe("with the old token")
    again = ann.present(lease=MINUTE)
    assert again.token > presence.token
    again.workspace.observe("with the new one")


def test_a_lease_that_ran_out_is_over_whether_or_not_a_sweeper_came_by() -> None:
    scene = Scene()
    scene.covered()
    ann = scene.ann()
    desk = ann.present(lease=MINUTE).workspace
    desk.observe("noted")
    scene.wait(MINUTE)
    with pytest.raises(LeaseError, match="ran out at"):
        desk.observe("too late")
    with pytest.raises(LeaseError, match="come back"):
        ann.present(lease=MINUTE)
    assert ann.come_back().admitted
    assert ann.departed().reason == "lease_expired"


def test_workers_of_one_agent_share_a_presence() -> None:
    scene = Scene()
    first = scene.ann().present(lease=MINUTE)
    scene.wait(MINUTE / 2)
    second = scene.ann().present(lease=MINUTE)
    assert second.token == first.token
    scene.wait(MINUTE * 2 / 3)
    first.workspace.observe("the second worker has renewed it")
    second.workspace.agent("ann", role="planner", task="trip").depart()
    for one in (first, second):
        with pytest.raises(LeaseError, match="departed from 'trip'"):
            one.workspace.observe("after the departure")


def test_a_token_names_one_presence_and_no_later_one() -> None:
    scene = Scene()
    scene.covered()
    token = scene.ann().present(lease=MINUTE).token
    assert scene.ann().present(lease=MINUTE, token=token).token == token
    scene.depart()
    scene.come_back().expose()
    with pytest.raises(LeaseError, match="is not the one under which"):
        scene.ann().present(lease=MINUTE, token=token)


def test_a_renewal_that_comes_first_keeps_the_agent_present_and_two_sweepers_depart_once() -> None:
    scene = Scene()
    presence = scene.ann().present(lease=MINUTE)
    sweepers = [Sweeper(scene.team._desk.writer, trust_clock=True), Sweeper(scene.team._desk.writer, trust_clock=True)]
    scene.wait(MINUTE * 0.9)
    presence.renew()
    scene.wait(MINUTE * 0.9)
    assert [one.sweep().departed for one in sweepers] == [(), ()]
    scene.wait(MINUTE)
    assert [len(one.sweep().departed) for one in sweepers] == [1, 0]


def test_without_a_lease_nobody_is_swept_and_nothing_is_refused() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.wait(1000 * HOUR)
    assert scene.team.admin.sweep(trust_clock=True).departed == ()
    scene.team.observe("as before", by="ann")
    scene.ann().depart()


def test_a_task_on_which_the_agent_is_present_is_not_held_up_by_another() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    other = scene.ann(task="garden").present(lease=HOUR)
    scene.wait(MINUTE)
    assert [one.identity.task for one in scene.team.admin.sweep(trust_clock=True).departed] == ["trip"]
    other.workspace.observe("the roses")
    with pytest.raises(LeaseError, match="'trip'"):
        scene.team.observe("from nowhere in particular", by="ann")
    scene.ann(task="garden").depart()


def test_a_clock_that_was_set_back_keeps_no_lease_alive() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    scene.wait(2 * MINUTE)
    scene.news()
    scene.now = START
    assert len(scene.team.admin.sweep().departed) == 1
    scene.wait(3 * HOUR)
    scene.news("Three hours later.")
    scene.now = START
    with pytest.raises(LeaseError, match="max_clock_skew"):
        scene.team.admin.sweep()


def test_a_clock_that_was_set_forward_ends_no_lease_by_itself() -> None:
    scene = Scene()
    presence = scene.ann().present(lease=MINUTE)
    elapsed = 0.0
    sweeper = Sweeper(scene.team._desk.writer, elapsed=lambda: elapsed)
    scene.wait(5 * HOUR)
    (unjudged,) = sweeper.sweep().unjudged
    assert (unjudged.identity.principal, unjudged.ahead) == ("ann", 5 * 3600)
    scene.now = START + MINUTE / 2
    presence.workspace.observe("I am here, and the clock is right again")
    scene.wait(5 * HOUR)
    elapsed = 59.0
    assert sweeper.sweep().departed == ()
    elapsed = 119.0
    (departed,) = sweeper.sweep().departed
    assert departed.at < START + HOUR, "the log must not learn the moment of a clock that may be wrong"


def test_an_idle_team_is_swept_by_a_clock_that_the_operator_trusts() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    scene.wait(5 * HOUR)
    assert scene.team.admin.sweep().departed == ()
    assert len(scene.team.admin.sweep(trust_clock=True).departed) == 1


def test_a_presence_after_a_return_begins_with_what_the_view_showed() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    outcome = scene.come_back()
    outcome.expose()
    scene.fact("afterwards")
    scene.ann().present(lease=MINUTE)
    scene.wait(MINUTE)
    (departed,) = scene.team.admin.sweep(trust_clock=True).departed
    assert departed.epoch == outcome.request.epoch


def test_an_undone_batch_shows_the_agent_nothing() -> None:
    scene = Scene()
    presence = scene.ann().present(lease=MINUTE)
    presence.workspace.observe("kept")
    seen = scene.team.epoch

    def undone() -> None:
        with presence.workspace.batch():
            for number in range(5):
                presence.workspace.observe(f"undone {number}")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    for number in range(5):
        scene.fact(f"of-bob-{number}")
    scene.wait(MINUTE / 2)
    presence.workspace.observe("renewed here")
    scene.wait(MINUTE)
    (departed,) = scene.team.admin.sweep(trust_clock=True).departed
    assert departed.epoch == seen


@pytest.mark.parametrize("lease", [0, -5, True, "60", 1.5, timedelta(milliseconds=1500), float("nan"), 10**12])
def test_a_lease_is_whole_seconds(lease: Any) -> None:
    with pytest.raises(RecordError, match=r"^lease: "):
        Scene().ann().present(lease=lease)


def test_a_lease_is_taken_by_the_agent_itself() -> None:
    scene = Scene()
    with pytest.raises(NotAllowedError):
        scene.team.principal("bob").agent("ann", role="planner", task="trip").present(lease=60)
    with pytest.raises(NotAllowedError, match="readmit itself"):
        scene.team._desk.writer.write(
            EventKind.LEASE,
            {
                "identity": {"workspace": "default", "principal": "ann", "role": "r", "task": "t"},
                "epoch": 0,
                "seconds": 10**9,
                "until": START,
            },
            by="ann",
        )


def test_an_event_loop_has_leases_too(place: Path | str) -> None:
    async def story() -> None:
        clock = Clock()
        async with AsyncWorkspace.open(place, clock=clock) as team:
            ann = team.agent("ann", role="planner", task="trip")
            presence = await ann.present(lease=60)
            await presence.workspace.observe("noted")
            clock.now += MINUTE / 2
            assert await presence.renew() == clock.now + MINUTE == await presence.until()
            clock.now += MINUTE
            assert len((await team.admin.sweep(trust_clock=True)).departed) == 1
            with pytest.raises(LeaseError, match="come back"):
                await presence.workspace.observe("too late")
            assert (await ann.come_back()).kind == "admitted"

    asyncio.run(story())


def test_the_doctor_finds_a_lease_that_ran_out_while_no_sweeper_runs() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    assert Trouble.UNSWEPT not in [one.trouble for one in scene.team.doctor().workspace.symptoms]
    scene.wait(MINUTE)
    (found,) = [one for one in scene.team.doctor().workspace.symptoms if one.trouble is Trouble.UNSWEPT]
    assert found.remedies[0].command == "readmit admin sweep --trust-clock"
    scene.team.admin.sweep(trust_clock=True)
    assert Trouble.UNSWEPT not in [one.trouble for one in scene.team.doctor().workspace.symptoms]


def test_of_many_sweepers_at_once_one_departs(place: Path | str) -> None:
    clock = Clock()
    with Workspace.open(place, clock=clock) as team:
        team.agent("ann", role="planner", task="trip").present(lease=60)
    clock.now += MINUTE
    start = threading.Barrier(4)
    swept: list[Checkpoint] = []

    def sweep() -> None:
        with Workspace.open(place, clock=clock) as team:
            start.wait()
            swept.extend(team.admin.sweep(trust_clock=True).departed)

    sweepers = [threading.Thread(target=sweep) for _ in range(4)]
    for one in sweepers:
        one.start()
    for one in sweepers:
        one.join()
    assert len(swept) == 1

"""What hits a limit waits for an overseer, without effect until it is approved."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from readmit.errors import ConflictError, NotAllowedError, RateError, UnknownError
from readmit.events import EventKind
from readmit.policies import Policy
from readmit.records.acts.operation import Wait
from readmit.writing.limits import MOST
from tests.scene import Scene, audited
from tests.writing.test_limits import ended, replace, team_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def limited(write: Callable[[], object]) -> str:
    """Write something beyond a limit; returns the id that it waits as."""
    with pytest.raises(RateError, match=r"It waits as (\w+): `readmit admin approve \1 --by boss`") as refused:
        write()
    return str(refused.value).partition("It waits as ")[2].partition(":")[0]


def test_what_hits_a_limit_takes_effect_once_an_overseer_approves_it() -> None:
    scene = team_of(items=6)
    names = [f"m{number}" for number in range(6)]
    scene.duty(required=("plan.s0",), task="trip")
    waiting = limited(lambda: scene.team.dispute(names, by="eve", reason="all wrong", id="quarrel"))
    assert [event.name for event in scene.team.admin.waiting()] == [waiting]
    assert scene.away().admitted, "nothing of it counts yet"
    scene.team.admin.approve(waiting, by="boss", reason="eve is right")
    assert scene.team.admin.waiting() == ()
    (approval, dispute) = list(scene.team._desk.log.tail())[-2:]
    assert (approval.kind, approval.by) == (EventKind.APPROVE, "boss")
    assert (dispute.name, dispute.by) == ("quarrel", "eve")
    assert not scene.away().admitted
    assert audited(scene.team).intact


def test_what_is_declined_never_takes_effect() -> None:
    scene = team_of(items=6)
    waiting = limited(lambda: scene.team.dispute([f"m{n}" for n in range(6)], by="eve"))
    scene.team.admin.decline(waiting, by="boss", reason="no")
    assert scene.team.admin.waiting() == ()
    with pytest.raises(ConflictError, match="already used for a different decline"):
        scene.team.admin.approve(waiting, by="boss")
    assert ended(scene) == 0


def test_a_record_and_what_it_supersedes_wait_together() -> None:
    scene = team_of(items=10, limits={"invalidations": 0})
    waiting = limited(
        lambda: scene.fact("new", slot="plan.s0", task="trip", by="eve", supersedes="m1", text="another plan")
    )
    with pytest.raises(UnknownError):
        scene.team._desk.log.item("new")
    scene.team.admin.approve(waiting, by="boss")
    assert [event.kind for event in scene.team._desk.log.tail()][-3:] == ["approve", "record", "supersede"]


def test_a_duty_beyond_the_limit_waits() -> None:
    scene = Scene(limits={"duties": 0})
    waiting = limited(lambda: scene.team.oblige("Write the plan", id="o", required=["d"], by="eve"))
    scene.team.admin.approve(waiting, by="boss")
    assert scene.team._desk.log.item("o").by == "eve"


def test_the_same_attempt_again_does_not_wait_twice() -> None:
    scene = team_of(items=1, limits={"invalidations": 0})
    first = limited(lambda: scene.team.revoke("m0", by="eve"))
    before = scene.team.epoch
    assert limited(lambda: scene.team.revoke("m0", by="eve")) == first
    assert scene.team.epoch == before
    scene.team.admin.approve(first, by="boss")
    scene.team.admin.approve(first, by="boss")
    assert limited(lambda: scene.team.revoke("m0", by="eve")) != first, "a new attempt needs a new answer"


def test_so_many_acts_of_one_writer_wait_and_no_more() -> None:
    scene = team_of(items=30, limits={"invalidations": 0})
    for number in range(MOST):
        limited(lambda number=number: scene.team.revoke(f"m{number}", by="eve"))  # type: ignore[misc]
    before = scene.team.epoch
    with pytest.raises(RateError, match="It does not wait for that: 20 other acts of 'eve' do already"):
        scene.team.revoke("m29", by="eve")
    assert scene.team.epoch == before
    limited(lambda: scene.team.revoke("m29", by="cy"))


def test_only_overseers_and_the_owner_answer() -> None:
    scene = team_of(items=1, limits={"invalidations": 0})
    waiting = limited(lambda: scene.team.revoke("m0", by="eve"))
    for answer in (scene.team.admin.approve, scene.team.admin.decline):
        with pytest.raises(NotAllowedError, match="add it to the policy's overseers"):
            answer(waiting, by="eve")
        with pytest.raises(UnknownError, match="nothing waits as 'unknown'"):
            answer("unknown", by="boss")
    with pytest.raises(NotAllowedError, match="written by readmit itself"):
        scene.team._desk.writer.write(EventKind.WAIT, {"events": (), "limit": "x"}, by="eve")


def test_what_is_not_allowed_otherwise_does_not_wait() -> None:
    scene = team_of(items=1, limits={"invalidations": 0}, evidence={"writers": ("bob",)})
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match="writers") as refused:
        scene.team.revoke("m0", by="eve")
    assert not isinstance(refused.value, RateError)
    with pytest.raises(UnknownError):
        scene.team.revoke("unknown", by="bob")
    assert scene.team.epoch == before


def test_what_no_longer_fits_is_refused_when_it_is_approved_and_nothing_is_written() -> None:
    scene = team_of(items=2, limits={"invalidations": 1})
    scene.team.revoke("m0", by="eve")
    waiting = limited(lambda: scene.fact("new", slot="plan.s1", task="trip", by="eve", text="another plan"))
    scene.fact("new", text="somebody was faster")
    before = scene.team.epoch
    with pytest.raises(ConflictError):
        scene.team.admin.approve(waiting, by="boss")
    assert scene.team.epoch == before


def test_in_a_batch_nothing_waits() -> None:
    scene = team_of(items=1, limits={"invalidations": 0})
    before = scene.team.epoch
    with scene.team.batch(), pytest.raises(RateError, match=r"raise the limit$"):
        replace(scene, 0)
    assert scene.team.epoch == before
    assert scene.team.admin.waiting() == ()


def test_what_was_approved_counts_for_its_writer() -> None:
    scene = team_of(items=8)
    waiting = limited(lambda: scene.team.dispute([f"m{n}" for n in range(7)], by="eve"))
    scene.team.admin.approve(waiting, by="boss")
    assert ended(scene) == 7
    limited(lambda: scene.team.revoke("m7", by="eve"))


def test_an_approved_resolution_concerns_the_items_of_its_dispute() -> None:
    scene = team_of(items=7)
    quarrel = scene.team.dispute([f"m{n}" for n in range(5)], by="bob")
    scene.team.admin.govern(Policy(evidence={"overseers": ("boss",)}, limits={"invalidations": 0}), by="boss")
    waiting = limited(lambda: scene.team.resolve(quarrel, keep=["m0"], by="cy"))
    scene.team.admin.approve(waiting, by="boss")
    assert [event.kind for event in scene.team._desk.log.about(["m4"], until=scene.team.epoch)][-1] is EventKind.RESOLVE
    assert audited(scene.team).intact


def test_the_doctor_reports_what_waits_and_how_to_answer() -> None:
    scene = team_of(items=1, limits={"invalidations": 0})
    scene.covered()
    scene.depart()
    assert scene.team.doctor().healthy
    waiting = limited(lambda: scene.team.revoke("m0", by="eve", reason="a secret"))
    found = scene.team.doctor()
    assert not found.healthy
    (symptom,) = found.workspace.symptoms
    assert symptom.about == (waiting,)
    assert [remedy.command for remedy in symptom.remedies] == [
        f"readmit admin approve {waiting} --by boss",
        f"readmit admin decline {waiting} --by boss",
    ]
    assert "would end 1 thing" in str(found)
    assert "a secret" not in str(found)


def test_an_act_that_fails_for_another_reason_does_not_wait() -> None:
    scene = team_of(items=1, limits={"invalidations": 0})
    with pytest.raises(UnknownError):
        replace(scene, 0, supersedes="unknown")
    assert scene.team.admin.waiting() == ()


def test_what_another_thread_writes_is_no_part_of_an_act(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db", limits={"invalidations": 0})
    scene.fact("m0")
    refused: list[Exception] = []

    def observe() -> None:
        scene.team.observe("From another thread.", by="cy")

    def act() -> None:
        with scene.team._desk.writer.act():
            scene.team.revoke("m0", by="eve")
            thread.start()
            thread.join(0.2)

    thread = threading.Thread(target=observe)
    try:
        act()
    except RateError as error:
        refused.append(error)
    thread.join()
    assert refused
    (waits,) = scene.team.admin.waiting()
    assert isinstance(waits.payload, Wait)
    assert [one.kind for one in waits.payload.events] == ["revoke"]

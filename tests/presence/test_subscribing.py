"""Subscriptions: an agent that holds a view learns that an item of it fell, and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import AsyncWorkspace, State, Workspace
from readmit.errors import RecordError
from readmit.types import FallenItem
from tests.conftest import ROOT
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from pathlib import Path


LONG = 240.0


class Desk(Scene):
    """Ann holds a view with the hotel h, which rests on the train t."""

    def __init__(self, path: Path | str | None = None, **policy: Any) -> None:
        super().__init__(path, **policy)
        self.fact("t", supports=["train"])
        self.duty(required=("d", "train"))
        self.fact("h", supports=["d"], slot="hotel", depends_on=["t"])
        self.depart()
        self.view = self.come_back()
        self.view.expose()

    def subscribed(self, **fields: Any) -> Any:
        return self.ann().subscribe(**fields)

    def fallen(self, *names: str, state: State) -> tuple[FallenItem, ...]:
        return tuple(FallenItem(self.view.id, name, state) for name in names)


def test_a_holder_learns_at_once_what_fell_and_only_once() -> None:
    desk = Desk()
    held = desk.subscribed()
    assert held.wait(0) == ()
    desk.news("Nothing in particular.")
    desk.fact("other")
    assert held.wait(0) == ()
    desk.fact("h2", slot="hotel", text="SECRET", by="bob", sources=[desk.news("SECRET NEWS")])
    (fallen,) = found = held.wait(0)
    assert found == desk.fallen("h", state=State.SUPERSEDED)
    assert "SECRET" not in repr(fallen)
    assert "h2" not in repr(fallen)
    assert held.wait(0) == ()


def test_an_item_falls_with_its_premise() -> None:
    desk = Desk()
    held = desk.subscribed()
    desk.team.revoke("t", by="bob")
    assert {(one.item, one.state) for one in held.wait(0)} == {("t", State.REVOKED), ("h", State.PREMISE_CHANGED)}


def test_an_item_falls_when_its_time_is_over_without_any_event() -> None:
    desk = Desk()
    desk.team.close_validity("h", end=desk.now + HOUR, by="bob")
    held = desk.subscribed()
    assert held.wait(0) == ()
    desk.wait(HOUR)
    assert held.wait(0) == desk.fallen("h", state=State.EXPIRED)


def test_a_late_subscriber_gets_what_already_fell() -> None:
    desk = Desk()
    desk.team.revoke("h", by="bob")
    for _ in range(2):
        assert desk.subscribed().wait(0) == desk.fallen("h", state=State.REVOKED)


def test_an_item_that_stood_again_can_fall_again() -> None:
    desk = Desk()
    held = desk.subscribed()
    desk.team.revoke("h", by="bob")
    assert len(held.wait(0)) == 1
    desk.team.admin.overrule("h", by="boss", reason="a mistake", expires=timedelta(hours=1))
    assert held.wait(0) == ()
    desk.wait(HOUR)
    assert held.wait(0) == desk.fallen("h", state=State.REVOKED)


def test_an_agent_without_a_view_learns_nothing_until_it_has_one() -> None:
    desk = Desk()
    held = desk.subscribed()
    desk.depart()
    desk.team.revoke("h", by="bob")
    assert held.wait(0) == ()
    bob = desk.team.agent("bob", role="planner", task="trip")
    assert bob.subscribe().wait(0) == ()
    desk.fact("h3", supports=["d"])
    again = desk.come_back()
    again.expose()
    assert held.wait(0) == ()
    desk.team.revoke("h3", by="bob")
    assert held.wait(0) == (FallenItem(again.id, "h3", State.REVOKED),)


def test_what_a_batch_has_not_committed_has_not_happened() -> None:
    desk = Desk()
    held = desk.subscribed()
    held.wait(0)
    with desk.team.batch():
        desk.team.revoke("h", by="bob")
        assert held.wait(0) == ()
    assert len(held.wait(0)) == 1


def test_a_subscription_writes_nothing() -> None:
    desk = Desk()
    desk.team.revoke("h", by="bob")
    before = desk.team.epoch, desk.team._desk.log.audit.last
    desk.subscribed().wait(0)
    assert (desk.team.epoch, desk.team._desk.log.audit.last) == before


def test_a_callback_is_called_on_a_thread_of_its_own_until_it_is_closed() -> None:
    desk = Desk()
    heard: list[tuple[FallenItem, str]] = []
    told = threading.Event()

    def report(one: FallenItem) -> None:
        heard.append((one, threading.current_thread().name))
        told.set()

    with desk.subscribed(report=report, every=0.01):
        desk.team.revoke("h", by="bob")
        assert told.wait(LONG)
    assert [(one.item, thread) for one, thread in heard] == [("h", "readmit-subscription")]
    desk.team.revoke("t", by="bob")
    assert len(heard) == 1


def test_a_callback_that_fails_is_not_silent() -> None:
    desk = Desk()
    desk.team.revoke("h", by="bob")
    failed = threading.Event()

    def report(_: FallenItem) -> None:
        failed.set()
        raise ZeroDivisionError

    held = desk.subscribed(report=report)
    assert failed.wait(LONG)
    with pytest.raises(ZeroDivisionError):
        held.close()


def test_closing_ends_an_iteration_that_waits() -> None:
    desk = Desk()
    held = desk.subscribed(every=3_600)
    threading.Timer(0.2, held.close).start()
    assert list(held) == []


@pytest.mark.parametrize("every", [0, -1, True, "1", float("nan"), 10_000])
def test_an_interval_is_a_number_of_seconds(every: Any) -> None:
    with pytest.raises(RecordError, match=r"^every: "):
        Desk().subscribed(every=every)


def prepared(place: Path | str) -> str:
    with Workspace.open(place) as team:
        source = team.observe("The hotel confirms.", by="bob")
        team.oblige("Plan", id="o", required=["hotel"], by="bob")
        team.record("Sunrise is booked", id="h", slot="hotel", sources=[source], by="bob")
        ann = team.agent("ann", role="planner", task="trip")
        ann.depart()
        view = ann.come_back()
        view.expose()
        return view.id


REVOKE = "import sys; from readmit import Workspace; Workspace.open(sys.argv[1]).revoke('h', by='bob')"


def test_what_another_process_writes_is_heard_within_a_second(place: Path | str) -> None:
    view = prepared(place)
    with Workspace.open(place) as team, team.agent("ann", role="planner", task="trip").subscribe() as held:
        held.wait(0)
        with ThreadPoolExecutor(1) as pool:
            hearing = pool.submit(held.wait, LONG)
            subprocess.run([sys.executable, "-c", REVOKE, str(place)], cwd=ROOT, check=True, timeout=LONG)
            assert hearing.result() == (FallenItem(view, "h", State.REVOKED),)


def test_an_event_loop_iterates_over_what_fell(place: Path | str) -> None:
    view = prepared(place)

    async def story() -> list[FallenItem]:
        heard: list[FallenItem] = []
        async with AsyncWorkspace.open(place) as team:
            held = team.agent("ann", role="planner", task="trip").subscribe(every=0.02)

            async def listen() -> None:
                async for one in held:
                    heard.append(one)
                    held.close()

            listening = asyncio.create_task(listen())
            await team.revoke("h", by="bob")
            await asyncio.wait_for(listening, LONG)
        return heard

    assert asyncio.run(story()) == [FallenItem(view, "h", State.REVOKED)]


def test_another_role_learns_nothing_of_the_view() -> None:
    desk = Desk()
    desk.team.revoke("h", by="bob")
    assert desk.ann("guest").subscribe().wait(0) == ()

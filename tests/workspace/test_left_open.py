"""A workspace without references is closed at once, not at the next garbage collection."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def observed(team: Workspace) -> None:
    team.observe_many(["one", "two"], by="bob")
    with team.batch():
        team.observe("three", by="bob")
        team.observe("four", by="bob")


def returned(team: Workspace) -> None:
    team.record("The hotel is booked", id="h", supports=["d"], sources=[team.observe("It is.", by="bob")], by="bob")
    team.oblige("Travel", id="o", by="bob", required=["d"])
    team.progress("Half way", obligation="o", by="bob", sources=[team.observe("Half.", by="bob")])
    ann = team.agent("ann", role="planner", task="trip")
    ann.depart()
    ann.come_back().expose()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("use", [lambda _: None, observed, returned], ids=["opened", "observed", "returned"])
def test_its_connection_ends_with_it(place: Path | str, use: Callable[[Workspace], None]) -> None:
    team = Workspace.open(place)
    use(team)
    connection = weakref.ref(team._desk.log.connection)
    assert connection() is not None
    del team
    assert connection() is None
